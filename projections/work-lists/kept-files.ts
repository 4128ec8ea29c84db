import type { Pool } from 'pg';

/** Read-model queries for expiring and removing files: rows of `jobs` that have ended. */

/** Jobs with a file that was finished at `completedUntil` (UTC ISO-8601) or before and has not expired, oldest first. */
export async function listFilesToExpire(
  pool: Pool,
  { completedUntil, limit }: { completedUntil: string; limit: number },
): Promise<string[]> {
  const { rows } = await pool.query<{ token: string }>(
    `select token from jobs where status = 'done' and file_expired_at is null and finished_at <= $1
     order by finished_at limit $2`,
    [completedUntil, limit],
  );
  return rows.map(({ token }) => token);
}

/** Seconds by which the most overdue file has missed its expiry; 0 if none has. @param completedUntil UTC ISO-8601 */
export async function oldestOverdueSeconds(pool: Pool, completedUntil: string): Promise<number> {
  // Reads the first entry of the index of files with links, however many rows there are.
  const { rows } = await pool.query<{ seconds: number }>(
    `select greatest(extract(epoch from $1::timestamptz - finished_at), 0)::float8 as seconds
     from jobs where status = 'done' and file_expired_at is null order by finished_at limit 1`,
    [completedUntil],
  );
  return rows[0]?.seconds ?? 0;
}

/** A job that has ended. Instants are UTC ISO-8601. */
export interface EndedJob {
  token: string;
  status: 'done' | 'failed';
  finished_at: string;
  file_expired_at: string | null;
}

/** The given jobs that have ended; without those that the read model does not know. */
export async function readEndedJobs(pool: Pool, tokens: readonly string[]): Promise<EndedJob[]> {
  const { rows } = await pool.query<EndedJob>(
    `select token, status, finished_at, file_expired_at from jobs
     where token = any($1) and status in ('done', 'failed')`,
    [tokens],
  );
  return rows;
}
