/** SQL for the periods whose books are not closed yet, for queries that say what is overdue. */

/** An account's last period while its books are open: written so that the index of these periods serves it. */
export const isUnclosedLast = (alias: string): string =>
  `(${alias}.phase = 'ended' and (${alias}.next is null or ${alias}.next = 'null'))`;

/** When an account's last period ended: the time of its event, which may come long before the end by the calendar. */
export const lastEndSql = (alias: string): string => `coalesce((
    select u.time from usage_changes u
    where u.account_id = ${alias}.account_id and u.stream = ${alias}.stream and u.type = 'UsagePeriodEnded'
  ), ${alias}.period_end)`;

/**
 * Periods that are over and not closed, those that have waited longest first.
 *
 * @param wanted placeholders. endedBefore: of an instant; limit: of a number of rows
 */
export const unclosedPeriodsSql = ({ endedBefore, limit }: { endedBefore: string; limit: string }): string => `
  select * from (
    (select account_id, stream, phase, period_start, period_end as ended_at from credits c
     where phase <> 'closed' and period_end <= ${endedBefore} and not ${isUnclosedLast('c')}
     order by period_end, account_id limit ${limit})
    union all
    (select account_id, stream, phase, period_start, ended_at
     from credits c, lateral (select ${lastEndSql('c')} as ended_at) e
     where ${isUnclosedLast('c')} and ended_at <= ${endedBefore})
  ) p order by ended_at, account_id limit ${limit}`;
