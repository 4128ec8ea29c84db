import { reachedOf, type ReachedRow, reachedSql } from '../runner/checkpoints.ts';
import { onlyRow, type Queryable, withInstants } from '../runner/rows.ts';
import { unclosedPeriodsSql } from '../work-lists/unclosed-periods.ts';
import { type AuditState, auditStateFromJson, auditStateSql } from './audit-state.ts';

interface UnclosedPeriod {
  account_id: string;
  /** Its usage stream. */
  stream: string;
  phase: 'open' | 'ended';
  /** UTC ISO-8601; for an account's last period, when it was closed. */
  ended_at: string;
}

/**
 * The state of the books, as Postgres has it, in one statement.
 *
 * @param endedBefore UTC ISO-8601: only periods that ended before; limit: of periods
 */
export async function readBooks(client: Queryable, { endedBefore, limit }: { endedBefore: string; limit: number }) {
  const { rows } = await client.query<{
    audit: AuditState | null;
    reached: ReachedRow[];
    unclosed: UnclosedPeriod[];
  }>(
    `select (select to_json(a) from (${auditStateSql}) a) as audit,
            (select coalesce(json_agg(r), '[]') from (${reachedSql}) r) as reached,
            (select coalesce(json_agg(p order by ended_at, account_id), '[]') from (
               select account_id, stream, phase, ended_at
               from (${unclosedPeriodsSql({ endedBefore: '$1::timestamptz', limit: '$2' })}) u) p) as unclosed`,
    [endedBefore, limit],
  );
  const { audit, reached, unclosed } = onlyRow(rows);
  return {
    /** Undefined if nothing has ever been verified here. */
    audit: auditStateFromJson(audit),
    /** Commit position up to which each reader of the log has taken all of its events, by its name. */
    reached: reachedOf(reached),
    /** Periods that are over and not closed, the longest overdue first. */
    unclosed: unclosed.map((each) => withInstants(each, 'ended_at')),
  };
}
