import type { PoolClient } from 'pg';
import type { JobEvent } from '../src/domain/download-job-events.ts';
import type { FailureReason } from '../src/domain/failure-reasons.ts';
import type { ParsedEvent } from '../src/domain/parse-event.ts';
import type { Queryable } from './runner/rows.ts';

/** How many downloads ended on each UTC day, by platform and reason: table `job_days`. */
export interface JobDay {
  /** UTC, YYYY-MM-DD. */
  day: string;
  platform: string;
  outcome: 'done' | FailureReason;
  downloads: number;
}

/** @param jobs the rows of the jobs, for their platforms */
export async function applyToJobDays(
  events: readonly ParsedEvent<JobEvent>[],
  jobs: ReadonlyMap<string, { platform: string }>,
  client: PoolClient,
): Promise<void> {
  const days = new Map<string, JobDay>();
  for (const { event, metadata } of events) {
    if (event.type !== 'JobCompleted' && event.type !== 'JobFailed') continue;
    const job = jobs.get(event.data.token);
    if (!job) continue;
    const outcome = event.type === 'JobFailed' ? event.data.reason : 'done';
    const day = metadata.time.slice(0, 10);
    const key = `${day} ${job.platform} ${outcome}`;
    const row = days.get(key) ?? { day, platform: job.platform, outcome, downloads: 0 };
    days.set(key, { ...row, downloads: row.downloads + 1 });
  }
  if (days.size === 0) return;
  await client.query({
    name: 'add-to-job-days',
    text: `insert into job_days as d select * from json_populate_recordset(null::job_days, $1::json)
     on conflict (day, platform, outcome) do update set downloads = d.downloads + excluded.downloads`,
    values: [JSON.stringify([...days.values()])],
  });
}

/** The days of a span, both included, in their order: a day has few platforms and reasons. @param from UTC, YYYY-MM-DD */
export async function listJobDays(client: Queryable, { from, to }: { from: string; to: string }): Promise<JobDay[]> {
  const { rows } = await client.query<JobDay>(
    `select day::text, platform, outcome, downloads from job_days d
     where d.day between $1::date and $2::date order by d.day, platform, outcome`,
    [from, to],
  );
  return rows;
}
