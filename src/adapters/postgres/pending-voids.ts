import type { Pool } from 'pg';
import { isNotClosingSql, lockGate } from '../../../projections/work-lists/pending-void-gate.ts';
import type { ChargeToVoid, PendingVoidCharge, PendingVoids, UnknownAppend } from '../../ports/billing.ts';
import type { EventToAppend } from '../../ports/event-store.ts';
import type { RowMacs } from '../../ports/row-macs.ts';
import type { StoreOnStandby } from './store-on-standby.ts';

interface Row {
  append_id: string;
  account_id: string;
  stream: string;
  expected_revision: string;
  events: string;
  voids: StoredCharge[];
}

/** A charge in the column `voids`. One without a MAC is older than MACs, or was not written by this service. */
type StoredCharge = ChargeToVoid & { promised?: PendingVoidCharge['promised']; mac?: string };

/** The fields that a MAC covers: the append, byte for byte, one of its charges, and who promised to take it back, and when. */
function textOf(
  { account_id, stream, expected_revision, events }: Omit<Row, 'append_id' | 'voids'>,
  charge: StoredCharge,
): string {
  const { promised } = charge;
  const charged = charge.kind === 'download' ? charge.token : charge.lookup_id;
  const append = [account_id, stream, expected_revision, events];
  return JSON.stringify([...append, charge.kind, charged, promised?.process, promised?.at]);
}

export interface PendingVoidDependencies {
  storeOnStandby: StoreOnStandby;
  macs: RowMacs;
  now: () => string;
  /** The name of this process, for the record of its pending voids. */
  process: string;
}

/**
 * Table `pending_voids`. What is resolved moves to `resolved_voids`, because its void may be behind the end of a log that is being
 * copied.
 *
 * `add` adds none once the closing of the period has begun (`pending-void-gate.ts`).
 *
 * A pending void without a MAC of this installation is neither executed nor removed: an operator has to examine it.
 */
export function createPendingVoids(pool: Pool, dependencies: PendingVoidDependencies): PendingVoids {
  const { storeOnStandby, macs, now, process } = dependencies;
  /** Rows that did not verify; they are not checked again while they stay the same. */
  const ignored = new Set<string>();
  const isGenuine = ({ append_id: id, ...row }: Row, charge: StoredCharge): boolean => {
    const text = textOf(row, charge);
    const bytes = `${text} ${charge.mac ?? ''}`;
    if (ignored.has(bytes)) return false;
    const isOurs = macs.verifies({ table: 'pending_voids', name: id, text, mac: charge.mac ?? null });
    if (!isOurs && ignored.size < maxIgnored) ignored.add(bytes);
    return isOurs;
  };
  return {
    add: async (append, charge) => {
      const row = rowOf(append);
      const promised = { ...charge, promised: { process, at: now() } };
      const signed = { ...promised, mac: macs.sign('pending_voids', textOf(row, promised)) };
      return storeOnStandby(async (client) => {
        await lockGate(client, row.stream);
        const { rowCount } = await client.query(
          `insert into pending_voids (append_id, account_id, stream, expected_revision, events, voids)
           select $1, $2, $3, $4, $5, $6 where ${isNotClosingSql('$3')}
           on conflict (append_id) do update set voids = pending_voids.voids || excluded.voids`,
          [
            append.events[0]?.id,
            row.account_id,
            row.stream,
            row.expected_revision,
            row.events,
            JSON.stringify([signed]),
          ],
        );
        return rowCount === 1;
      });
    },
    list: async (limit) => {
      const { rows } = await pool.query<Row>(
        `select append_id, account_id, stream, expected_revision, events, voids
         from pending_voids order by created_at, append_id limit $1`,
        [limit],
      );
      return rows.flatMap((row) => {
        const voids = row.voids.filter((charge) => isGenuine(row, charge)) as PendingVoidCharge[];
        return voids.length > 0 ? [{ append: appendOf(row), voids }] : [];
      });
    },
    remove: async ({ append, voids }) => {
      await pool.query(
        `with locked as (
           select p.*, (
             select jsonb_agg(charge) from jsonb_array_elements(voids) charge where not $2::jsonb @> jsonb_build_array(charge)
           ) as kept
           from pending_voids p where append_id = $1 for update
         ), resolved as (
           insert into resolved_voids (append_id, account_id, stream, expected_revision, events, voids, created_at)
           select append_id, account_id, stream, expected_revision, events, $2, created_at from locked
           on conflict (append_id) do update
             set voids = resolved_voids.voids || excluded.voids, resolved_at = clock_timestamp()
         ), done as (
           delete from pending_voids p using locked where p.append_id = locked.append_id and kept is null
         )
         update pending_voids p set voids = kept from locked where p.append_id = locked.append_id and kept is not null`,
        [append.events[0]?.id, JSON.stringify(voids)],
      );
      await pool.query(`delete from resolved_voids where resolved_at < now() - interval '${keptFor}'`);
    },
  };
}

const maxIgnored = 10_000;

/** Longer than a backup of the log takes. */
const keptFor = '7 days';

const rowOf = ({ accountId, stream, expected, events }: UnknownAppend) => ({
  account_id: accountId,
  stream,
  expected_revision: String(expected === 'no_stream' ? -1 : expected),
  events: JSON.stringify(events),
});

const appendOf = ({ account_id: accountId, stream, expected_revision: revision, events }: Row): UnknownAppend => ({
  accountId,
  stream,
  expected: Number(revision) < 0 ? 'no_stream' : Number(revision),
  events: JSON.parse(events) as EventToAppend[],
});

/** A row as it stands, with its MACs, for a backup. */
export interface PendingVoidRow extends Omit<Row, 'voids'> {
  voids: string;
  created_at: string;
}

/** To be asked before a log is copied. An hour early, because the clock of a promoted standby may be behind. */
export async function timeBeforeCopy(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ time: string }>(`select (clock_timestamp() - interval '1 hour')::text as time`);
  return rows[0]?.time ?? '-infinity';
}

/**
 * Reads the rows that belong beside a copy of the log, once the copy is made: those that are pending, and those that were resolved
 * since the copy began, whose voids may be behind its end. An append may have a row of each kind.
 *
 * @param copiedSince from `timeBeforeCopy`
 */
export async function readPendingVoidRows(pool: Pool, copiedSince: string): Promise<PendingVoidRow[]> {
  const columns = 'append_id, account_id, stream, expected_revision, events, voids::text, created_at::text';
  const { rows } = await pool.query<PendingVoidRow>(
    `select ${columns} from pending_voids union all select ${columns} from resolved_voids where resolved_at >= $1
     order by created_at, append_id`,
    [copiedSince],
  );
  return rows;
}

/** The dispatcher resolves them like any others. It appends nothing for one that is resolved already. */
export async function restorePendingVoidRows(pool: Pool, rows: readonly PendingVoidRow[]): Promise<void> {
  for (const { append_id, account_id, stream, expected_revision, events, voids, created_at } of rows)
    await pool.query(
      `insert into pending_voids (append_id, account_id, stream, expected_revision, events, voids, created_at)
       values ($1, $2, $3, $4, $5, $6, $7) on conflict (append_id) do update set voids = (
         select jsonb_agg(distinct charge) from jsonb_array_elements(pending_voids.voids || excluded.voids) charge
       )`,
      [append_id, account_id, stream, expected_revision, events, voids, created_at],
    );
}

/** Signs the pending voids of an older version, once, in the process that migrates the schema. */
export async function signOlderVoids(pool: Pool, macs: RowMacs): Promise<void> {
  const { rows } = await pool.query<Row & { created_at: string }>(
    'select append_id, account_id, stream, expected_revision, events, voids, created_at from pending_voids',
  );
  for (const { append_id: id, created_at: createdAt, voids, ...row } of rows) {
    const signed = voids.map((charge) => {
      const promised = { ...charge, promised: { process: 'unknown', at: createdAt } };
      return { ...promised, mac: macs.sign('pending_voids', textOf(row, promised)) };
    });
    await pool.query('update pending_voids set voids = $2 where append_id = $1', [id, JSON.stringify(signed)]);
  }
}

/** The number of pending voids, and the age of the oldest; 0 if there is none. */
export async function measurePendingVoids(pool: Pool): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await pool.query<{ count: number; oldest_seconds: number }>(
    `select count(*)::float8 as count,
            coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as oldest_seconds
     from pending_voids`,
  );
  const [row] = rows;
  return { count: row?.count ?? 0, oldestSeconds: Math.max(0, row?.oldest_seconds ?? 0) };
}
