import type { Pool } from 'pg';

/** What the sweeper looks at: jobs that wait too long, and claims whose worker has gone quiet. Rows of `jobs`. */

export interface WaitingJob {
  token: string;
  usage_stream: string;
  usage_revision: number;
  revision: number;
  waiting_seconds: number;
}

/** Jobs that became queued at least so long ago and that nobody has claimed. @param now business time, UTC ISO-8601 */
export async function listWaitingJobs(
  pool: Pool,
  { now, waitedSeconds, limit }: { now: string; waitedSeconds: number; limit: number },
): Promise<WaitingJob[]> {
  const { rows } = await pool.query<WaitingJob>(
    `select token, usage_stream, usage_revision::int, revision::int,
            extract(epoch from $1::timestamptz - waiting_since)::float8 as waiting_seconds
     from jobs
     where status = 'queued' and waiting_since <= $1::timestamptz - $2 * interval '1 second'
     order by waiting_since limit $3`,
    [now, waitedSeconds, limit],
  );
  return rows;
}

/** How long the job that waits longest has waited for a claim; 0 if none waits. @param now business time, UTC ISO-8601 */
export async function oldestWaitingSeconds(pool: Pool, now: string): Promise<number> {
  // The first entry of the index of unfinished jobs, however many rows there are.
  const { rows } = await pool.query<{ seconds: number }>(
    `select greatest(extract(epoch from $1::timestamptz - waiting_since), 0)::float8 as seconds
     from jobs where status = 'queued' order by waiting_since limit 1`,
    [now],
  );
  return rows[0]?.seconds ?? 0;
}

export interface ClaimedJob {
  token: string;
  worker_id: string;
  claim_revision: number;
  /** By Postgres's clock; null for a worker without a row. */
  quiet_seconds: number | null;
  claimed_seconds: number;
}

/** Jobs that somebody holds, with how long the holder has been quiet. @param now business time, UTC ISO-8601 */
export async function listClaimedJobs(pool: Pool, now: string): Promise<ClaimedJob[]> {
  const { rows } = await pool.query<ClaimedJob>(
    `select j.token, j.worker_id, j.claim_revision::int,
            extract(epoch from clock_timestamp() - h.beaten_at)::float8 as quiet_seconds,
            extract(epoch from $1::timestamptz - j.claimed_at)::float8 as claimed_seconds
     from jobs j left join worker_heartbeats h using (worker_id)
     where j.status in ('claimed', 'running')`,
    [now],
  );
  return rows;
}

/** Rows of workers that are long gone. */
export async function forgetOldWorkers(pool: Pool): Promise<void> {
  await pool.query("delete from worker_heartbeats where beaten_at < clock_timestamp() - interval '1 day'");
}
