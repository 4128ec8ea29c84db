import type { Pool } from 'pg';

/** The sweeper's read-model queries: jobs that wait too long, and claims whose worker has gone quiet. Rows of `jobs`. */

export interface WaitingJob {
  token: string;
  usage_stream: string;
  usage_revision: number;
  revision: number;
  waiting_seconds: number;
}

export interface WaitingJobsWanted {
  /** Business time, UTC ISO-8601. */
  now: string;
  waitedSeconds: number;
  /** An account with this many claimed or running jobs is left out: its other jobs wait for their turn. */
  maxJobsPerAccount: number;
  limit: number;
}

/** Jobs that have been claimable for at least this long and are not claimed. */
export async function listWaitingJobs(
  pool: Pool,
  { now, waitedSeconds, maxJobsPerAccount, limit }: WaitingJobsWanted,
): Promise<WaitingJob[]> {
  const { rows } = await pool.query<WaitingJob>(
    `select token, usage_stream, usage_revision::int, revision::int,
            extract(epoch from $1::timestamptz - waiting_since)::float8 as waiting_seconds
     from jobs
     where status = 'queued' and waiting_since <= $1::timestamptz - $2 * interval '1 second'
       and account_id <> all(array(
         select account_id from jobs where status in ('claimed', 'running') group by 1 having count(*) >= $4))
     order by waiting_since limit $3`,
    [now, waitedSeconds, limit, maxJobsPerAccount],
  );
  return rows;
}

/** Seconds for which the oldest waiting job has waited for a claim; 0 if none waits. @param now business time, UTC ISO-8601 */
export async function oldestWaitingSeconds(pool: Pool, now: string): Promise<number> {
  // Reads the first entry of the index of unfinished jobs, however many rows there are.
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

/** Claimed and running jobs, with the silence of their workers. @param now business time, UTC ISO-8601 */
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

/** Removes the rows of workers that ended long ago. */
export async function forgetOldWorkers(pool: Pool): Promise<void> {
  await pool.query("delete from worker_heartbeats where beaten_at < clock_timestamp() - interval '1 day'");
}
