import type { Pool, PoolClient } from 'pg';
import { type LogReplaced, ReaderRefused } from '../../src/ports/event-store.ts';
import { type Checkpoint, positionValues } from './checkpoints.ts';

/** Table `refused_readers`: readers that do not go on, because the log was replaced. The rows may then be those of another log. */

/** @param checkpoint that the log does not have; once a rebuild has replaced it, nothing is recorded */
export async function refuseReader(
  pool: Pool,
  { name, checkpoint }: { name: string; checkpoint: Checkpoint | undefined },
  { message, head }: LogReplaced,
): Promise<void> {
  await pool.query(
    `insert into refused_readers (name, reason, log_position)
     select c.name, $2, $3 from checkpoints c
     where c.name = $1 and (c.position, c.prepare_position, c.seen_id) is not distinct from ($4::numeric, $5::numeric, $6::uuid)
       and not exists (select from refused_readers r where r.name = c.name)
     for share of c
     on conflict (name) do nothing`,
    [
      ...[name, message, head === undefined ? null : String(head)],
      ...[...positionValues(checkpoint), checkpoint?.seen?.id ?? null],
    ],
  );
}

/** A reader that goes on is refused no more. */
export async function admitReader(client: Pool | PoolClient, name: string): Promise<void> {
  await client.query('delete from refused_readers where name = $1', [name]);
}

/** True while a reader of the installation is refused. */
export const anyRefusedSql = 'exists (select from refused_readers)';

const firstRefusal = (where = '') => `(select reason from refused_readers ${where} order by name limit 1) as refusal`;

/**
 * Why a reader of the installation is refused, if one is. A session or a token is read together with it: while there is one, they
 * show no rows, and nothing is decided by them. No request waits for Postgres once more for it.
 */
export const refusalSql = firstRefusal();

export interface RefusalColumn {
  refusal: string | null;
}

/** @throws {ReaderRefused} */
export function requireNoRefusal({ refusal }: RefusalColumn): void {
  if (refusal !== null) throw new ReaderRefused(refusal);
}

/** @param name of a reader; without it, any of the installation @returns why it is refused; undefined if it is not */
export async function readRefusal(pool: Pool, name?: string): Promise<string | undefined> {
  const { rows } = await pool.query<RefusalColumn>(`select ${firstRefusal('where name = coalesce($1, name)')}`, [name]);
  return rows[0]?.refusal ?? undefined;
}

/** The newest event of the log when a reader was refused; undefined if it is not, or the log was empty. */
export async function readRefusedAt(pool: Pool, name: string): Promise<bigint | undefined> {
  const { rows } = await pool.query<{ position: string | null }>(
    'select log_position::text as position from refused_readers where name = $1',
    [name],
  );
  const position = rows[0]?.position ?? null;
  return position === null ? undefined : BigInt(position);
}
