import type { Pool } from 'pg';
import type { Turn, TurnWanted } from '../../src/ports/job-turns.ts';

/** The read-model query of a worker with a free slot. Rows of `jobs`. */

/** Accounts that one statement looks at; of more than these, the next statement looks at the next ones. */
const accountsLookedAt = 32;
/** Jobs of one account that one statement looks at: those beyond wait while its oldest may not be taken. */
const oldestLookedAt = 32;

/** Downloads of an account in progress, over all workers. */
const inProgress = (account: string) =>
  `((select count(*) from jobs where status = 'claimed' and account_id = ${account} and worker_id <> $2)
    + (select count(*) from jobs where status = 'running' and account_id = ${account} and worker_id <> $2)
    + coalesce(($5::jsonb ->> ${account})::int, 0))::int`;

const firstAfter = (account: string) =>
  `coalesce((select min(account_id) from jobs where status = 'queued' and account_id > ${account}),
            (select min(account_id) from jobs where status = 'queued'))`;

/** Walks the index of unfinished jobs, from account to account: its cost does not grow with the number of jobs or accounts. */
const statement = `
  with recursive walk (account_id, place, first) as (
    select ${firstAfter('$1::text')}, 1, ${firstAfter('$1::text')}
    union all
    select next, place + 1, first
    from walk cross join lateral (select ${firstAfter('walk.account_id')} as next offset 0) following
    where place < ${String(accountsLookedAt)} and next <> first
  ),
  account as materialized (
    select account_id, place, ${inProgress('walk.account_id')} as in_progress from walk where account_id is not null
  ),
  next_job as (
    select job.*, account.account_id, account.in_progress
    from account cross join lateral (
      select token, usage_stream, usage_revision, platform, revision
      from (select * from jobs where status = 'queued' and account_id = account.account_id
            order by waiting_since limit ${String(oldestLookedAt)}) oldest
      where (not_before is null or not_before <= $3::timestamptz)
        and platform <> all($6::text[]) and token || ':' || revision <> all($7::text[])
      order by waiting_since limit 1
    ) job
    where account.in_progress < $4
    order by account.in_progress, account.place limit 1
  )
  select (select to_jsonb(next_job) from next_job) as next,
         (select coalesce(jsonb_agg(to_jsonb(account) - 'place' order by place), '[]') from account) as accounts,
         case when $8::text is not null then jsonb_build_object(
           'in_progress', ${inProgress('$9::text')},
           'row', (select jsonb_build_object('status', status, 'revision', revision, 'not_before', not_before)
                   from jobs where token = $8)) end as named`;

/**
 * The job that comes next: of the account with the fewest downloads in progress, among several the one whose turn it is, and of
 * that account the oldest. Nothing is locked: only the claim decides who gets a job.
 */
export async function readTurn(
  pool: Pool,
  { workerId, after, now, maxJobsPerAccount, own, fullPlatforms, settled, named }: TurnWanted,
): Promise<Turn> {
  const { rows } = await pool.query<Turn>({
    name: 'jobs-in-turn',
    text: statement,
    values: [
      ...[after, workerId, now, maxJobsPerAccount, JSON.stringify(own), fullPlatforms, settled],
      ...[named?.token ?? null, named?.accountId ?? null],
    ],
  });
  const [turn] = rows;
  if (!turn) throw new Error('the statement of jobs in turn has no row');
  return turn;
}
