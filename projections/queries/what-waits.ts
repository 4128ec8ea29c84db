import type { FailureReason } from '../../src/domain/failure-reasons.ts';
import { correctionFromJson, type CorrectionJson, correctionJsonSql, type CorrectionRow } from '../corrections.ts';
import { onlyRow, type Queryable, withInstants } from '../runner/rows.ts';
import { unclosedPeriodsSql } from '../work-lists/unclosed-periods.ts';

/** What waits for staff, and the newest failures: in one statement, and the first of each. */
export interface WhatWaits {
  /** For a second person, the oldest first. */
  corrections: CorrectionRow[];
  /** Periods whose books should be closed, those that have waited longest first. */
  periods: { account_id: string; stream: string; period_start: string; ended_at: string }[];
  /** The newest first. */
  failures: {
    token: string;
    account_id: string;
    platform: string;
    failure_reason: FailureReason;
    finished_at: string;
  }[];
}

/** @param endedBefore UTC ISO-8601: periods that ended before are closed where nothing holds that up */
export async function readWhatWaits(
  client: Queryable,
  { endedBefore, limit }: { endedBefore: string; limit: number },
): Promise<WhatWaits> {
  const { rows } = await client.query<Omit<WhatWaits, 'corrections'> & { corrections: CorrectionJson[] }>(
    `select
       (select coalesce(json_agg(${correctionJsonSql('c')} order by c.position), '[]') from (
          select * from corrections where status = 'asked' order by position limit $2) c) as corrections,
       (select coalesce(json_agg(p order by ended_at, account_id), '[]') from (
          select account_id, stream, period_start, ended_at
          from (${unclosedPeriodsSql({ endedBefore: '$1::timestamptz', limit: '$2' })}) u) p) as periods,
       (select coalesce(json_agg(f order by finished_at desc, token desc), '[]') from (
          select token, account_id, platform, failure_reason, finished_at from jobs
          where status = 'failed' order by finished_at desc, token desc limit $2) f) as failures`,
    [endedBefore, limit],
  );
  const { corrections, periods, failures } = onlyRow(rows);
  return {
    corrections: corrections.map(correctionFromJson),
    periods: periods.map((each) => withInstants(each, 'period_start', 'ended_at')),
    failures: failures.map((each) => withInstants(each, 'finished_at')),
  };
}
