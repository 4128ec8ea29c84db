import type { Pool } from 'pg';
import type { Verified } from '../../src/documents/verdict.ts';
import { coveredEventFromText, coveredEventSql } from '../runner/checkpoints.ts';
import { type Queryable, withInstants } from '../runner/rows.ts';

/**
 * What the continuous verification says: the one row of `audit_state`, which the dispatcher writes, for everybody who shows it.
 * The exit status of `ledger verify` is decided by the log alone.
 */
export interface AuditState extends Verified {
  /** The first `maxShownDivergences` of them. */
  divergences: readonly ShownDivergence[];
  /** The newest `maxShownDivergences` approvals that finance should look at (`src/audit/rules/notices.ts`). */
  notices: readonly object[];
}

/** A divergence as facts (`src/audit/rules/divergence.ts`), with its name and whether somebody has acknowledged it. */
export interface ShownDivergence {
  name: string;
  acknowledged: boolean;
  facts: object;
}

const maxShownDivergences = 200;

/** The findings of one look at the log. */
type Found = Pick<AuditState, 'events' | 'position' | 'unknown' | 'known' | 'divergences' | 'notices'>;

/** The report of a look at the log. */
export interface AuditReport extends Found {
  /** The look has come to the end of the log. Before, what an earlier one has found stands, unless it was less. */
  isWhole: boolean;
  /** When it has; null while the time is not known. */
  caughtUpAt: string | null;
}

export async function writeAuditState(pool: Pool, report: AuditReport): Promise<void> {
  const { events, position, unknown, known, divergences, notices, isWhole, caughtUpAt } = report;
  const ifItCounts = (column: string) =>
    `${column} = case when $7::boolean or excluded.unknown > s.unknown then excluded.${column} else s.${column} end`;
  await pool.query(
    `insert into audit_state as s (events, position, unknown, known, divergences, notices, caught_up_at, caught_up_position)
     values ($1, $2, $3, $4, $5, $8, $6::timestamptz, case when $6::timestamptz is not null then $2::numeric end)
     on conflict (only_row) do update
     set events = excluded.events, position = excluded.position,
         ${['unknown', 'known', 'divergences'].map(ifItCounts).join(', ')},
         notices = case when $7::boolean then excluded.notices else s.notices end,
         caught_up_at = coalesce(excluded.caught_up_at, s.caught_up_at),
         caught_up_position = coalesce(excluded.caught_up_position, s.caught_up_position), written_at = clock_timestamp()`,
    [
      ...[events, position, unknown, known, JSON.stringify(divergences.slice(0, maxShownDivergences))],
      ...[isWhole ? caughtUpAt : null, isWhole, JSON.stringify(notices.slice(-maxShownDivergences))],
    ],
  );
}

export const auditStateSql = `
  select events::float8, position::text, unknown, known, divergences, notices, caught_up_at, caught_up_position::text, written_at,
         extract(epoch from clock_timestamp() - written_at)::float8 as silent_seconds
  from audit_state`;

/** @returns undefined if nothing has ever been verified here */
export const auditStateFromJson = (json: AuditState | null | undefined): AuditState | undefined =>
  json ? withInstants(json, 'caught_up_at', 'written_at') : undefined;

/**
 * The state, and the position of the newest event that a read model has for certain: amounts that it shows may follow from events
 * that are not verified yet. Both are as of one instant.
 *
 * @returns without a state if nothing has ever been verified here
 */
export async function readAuditState(
  client: Queryable,
  readModel: string,
): Promise<{ state: AuditState | undefined; reached: bigint | undefined }> {
  const { rows } = await client.query<{ audit: AuditState | null; reached: string | null }>(
    `select (select to_json(a) from (${auditStateSql}) a) as audit, ${coveredEventSql(readModel)}::text as reached`,
  );
  const [row] = rows;
  return { state: auditStateFromJson(row?.audit), reached: coveredEventFromText(row?.reached) };
}
