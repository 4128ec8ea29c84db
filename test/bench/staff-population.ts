import type { Pool } from 'pg';

/** Rows of the staff's read models, as if the jobs that were copied had been charged beyond the allowance, spread over months. */

const months = 24;

/** So many charges each account has in each month. */
const perMonth = 4;

/** Each job is charged in one of the months before this one, 25 cents; every hundredth charge is waived. */
export async function fillStaffModels(pool: Pool): Promise<void> {
  await pool.query(
    `create table charged as
     select j.token, j.account_id, j.video_id, j.platform, n, gen_random_uuid() as event_id,
            date_trunc('month', now() at time zone 'utc') at time zone 'utc' - make_interval(months => n / ${perMonth} % ${months} + 1)
              as period_start
     from (select *, (row_number() over (partition by account_id order by usage_revision))::int - 1 as n from jobs) j`,
  );
  await withoutIndexes(pool, 'overage_ledger', () =>
    pool.query(
      `insert into overage_ledger (event_id, account_id, period_start, type, token, ordinal, stream, revision, position, time,
         cents, rate_cents, rate_version, request_id, actor)
       select event_id, account_id, period_start, 'OverageCharged', token, n + 1,
              'usage-' || account_id || to_char(period_start at time zone 'utc', '-YYYYMMDD'), n,
              1000000000 + row_number() over (order by period_start, token), period_start + interval '3 days', 25, 25, 'v1',
              'req_' || token, '{"type":"api_key","id":"key_bench"}'
       from charged`,
    ),
  );
  await withoutIndexes(pool, 'job_timeline', () =>
    pool.query(
      `insert into job_timeline (token, position, time, type, stream, revision, event_id, actor, cents, data)
       select token, 1000000000 + 2 * row_number() over () + at, period_start + interval '3 days', type,
              'usage-' || account_id || to_char(period_start at time zone 'utc', '-YYYYMMDD'), 2 * n + at,
              case at when 0 then event_id else gen_random_uuid() end, '{"type":"api_key","id":"key_bench"}',
              case at when 0 then 25 end,
              json_build_object('token', token, 'cents', 25, 'ordinal', n + 1, 'platform', platform, 'video_id', video_id,
                                'format', 'video', 'quality', '720')
       from charged, (values (0, 'OverageCharged'), (1, 'DownloadQueued')) e(at, type)`,
    ),
  );
  await pool.query(
    `insert into overage_ledger (event_id, account_id, period_start, type, token, stream, revision, position, time, cents,
       request_id, actor, corrects, reference)
     select gen_random_uuid(), account_id, period_start, 'ChargeWaived', token, stream, 1000000 + revision, 2000000000 + revision +
              row_number() over (), time, -25, 'req_bench',
            '{"type":"staff","id":"bench","role":"operator","reason":"bench"}', event_id, 'case-' || token
     from overage_ledger where ordinal % 100 = 0`,
  );
  await pool.query('drop table charged');
  await pool.query('analyze overage_ledger, job_timeline, jobs');
  await addMonths(pool, { from: 1, to: months });
}

/** Money of each account in each of these months, counted back from this one; a row in ten has a difference. */
export async function addMonths(pool: Pool, { from, to }: { from: number; to: number }): Promise<void> {
  await withoutIndexes(pool, 'period_money', () =>
    pool.query(
      `insert into period_money (account_id, period_start, month, stream, plan, phase, charges, charged_cents, voided_cents,
         waived_cents, fee_cents, fee_difference_cents, invoiced_overage_cents, invoiced_fee_cents,
         invoiced_fee_difference_cents, credited_overage_cents, credited_fee_cents, difference_cents)
       select id, start, to_char(start at time zone 'utc', 'YYYY-MM'), 'usage-' || id || to_char(start at time zone 'utc', '-YYYYMMDD'),
              'dev_100', 'closed', charges, charges * 25, 0, 0, 1900, 0, charges * 25 - open, 1900, 0, 0, 0, open
       from (select distinct account_id as id from credits) a,
            lateral (select date_trunc('month', now() at time zone 'utc') at time zone 'utc' - make_interval(months => m) as start
                     from generate_series($1::int, $2::int) m) s,
            lateral (select hashtext(id || start) & 63 as charges) c,
            lateral (select case when hashtext(id || start || 'open') % 10 = 0 then charges * 25 else 0 end as open) o`,
      [from, to],
    ),
  );
  const sums = ['charges', 'charged_cents', 'voided_cents', 'waived_cents', 'fee_cents', 'fee_difference_cents']
    .concat(['invoiced_overage_cents', 'invoiced_fee_cents', 'invoiced_fee_difference_cents'])
    .concat(['credited_overage_cents', 'credited_fee_cents', 'difference_cents']);
  await pool.query(
    `insert into month_money (month, phase, periods, ${sums.join()})
     select month, phase, count(*), ${sums.map((name) => `sum(${name})`).join()} from period_money group by month, phase
     on conflict do nothing`,
  );
  await pool.query('vacuum analyze period_money, month_money');
}

/** All but those that a constraint keeps. */
async function withoutIndexes(pool: Pool, table: string, work: () => Promise<unknown>): Promise<void> {
  const { rows } = await pool.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes i
     where tablename = $1 and not exists (select from pg_constraint where conname = i.indexname)`,
    [table],
  );
  for (const { name } of rows) await pool.query(`drop index ${name}`);
  await work();
  for (const { definition } of rows) await pool.query(definition);
}
