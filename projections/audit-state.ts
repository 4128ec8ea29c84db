import type { Pool, PoolClient } from 'pg';

/**
 * What the continuous verification says: the one row of `audit_state`, which the dispatcher writes, for everybody who shows it.
 * The exit status of `ledger verify` is decided by the log alone.
 */
export interface AuditState {
  /** Events that were verified since the verification began. */
  events: number;
  /** Commit position in the log up to which everything is verified, in digits; null before the first event. */
  position: string | null;
  /** Divergences that nobody has acknowledged, and those that somebody has. */
  unknown: number;
  known: number;
  /** The first `maxShownDivergences` of them. */
  divergences: readonly ShownDivergence[];
  /** The newest time at which all of the log was verified, whoever led then; UTC ISO-8601. Written as null, it stays what it was. */
  caughtUpAt: string | null;
  /** By Postgres's clock. */
  writtenAt: string;
}

/** A divergence as facts (`src/audit/rules/divergence.ts`), with its name and whether somebody has acknowledged it. */
export interface ShownDivergence {
  name: string;
  acknowledged: boolean;
  facts: object;
}

const maxShownDivergences = 200;

export async function writeAuditState(pool: Pool, state: Omit<AuditState, 'writtenAt'>): Promise<void> {
  const { events, position, unknown, known, divergences, caughtUpAt } = state;
  await pool.query(
    `insert into audit_state (events, position, unknown, known, divergences, caught_up_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (only_row) do update
     set events = excluded.events, position = excluded.position, unknown = excluded.unknown, known = excluded.known,
         divergences = excluded.divergences, caught_up_at = coalesce(excluded.caught_up_at, audit_state.caught_up_at), written_at = clock_timestamp()`,
    [events, position, unknown, known, JSON.stringify(divergences.slice(0, maxShownDivergences)), caughtUpAt],
  );
}

export const auditStateSql =
  'select events::float8, position::text, unknown, known, divergences, caught_up_at, written_at from audit_state';

/** As Postgres gives it, or writes it as JSON. */
export interface AuditStateRow extends Omit<AuditState, 'caughtUpAt' | 'writtenAt'> {
  caught_up_at: Date | string | null;
  written_at: Date | string;
}

export function auditStateOf({ caught_up_at: caughtUpAt, written_at: writtenAt, ...state }: AuditStateRow): AuditState {
  const instant = (at: Date | string) => new Date(at).toISOString();
  return { ...state, caughtUpAt: caughtUpAt === null ? null : instant(caughtUpAt), writtenAt: instant(writtenAt) };
}

/** @returns undefined if nothing has ever been verified here */
export async function readAuditState(client: Pick<PoolClient, 'query'>): Promise<AuditState | undefined> {
  const { rows } = await client.query<AuditStateRow>(auditStateSql);
  return rows[0] && auditStateOf(rows[0]);
}
