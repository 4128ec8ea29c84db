import type { Pool } from 'pg';
import type { UsagePeriod } from '../../src/domain/usage-state.ts';
import { overageColumns } from '../overage-columns.ts';
import { moneyColumns, type MoneyCounts } from '../period-money.ts';
import { type Bind, bindings, equalities, type Queryable } from '../runner/rows.ts';
import { readByCursor } from './read-by-cursor.ts';

/** Queries over everybody's periods: rows of `period_money` and of `month_money`. */

export interface PeriodMoney extends MoneyCounts {
  account_id: string;
  /** UTC ISO-8601. */
  period_start: string;
  /** YYYY-MM of the start. */
  month: string;
  /** Usage stream. */
  stream: string;
  plan: string;
  phase: UsagePeriod['phase'];
}

type OverageSort = 'account' | (typeof overageColumns)[number]['sort'];

export const overageSorts: readonly OverageSort[] = ['account', ...overageColumns.map(({ sort }) => sort)];

/** Undefined for accounts: the key of each row. */
const columnOf = (sort: OverageSort) => overageColumns.find((each) => each.sort === sort)?.name;

export interface OverageOrder {
  sort: OverageSort;
  descending: boolean;
}

export interface OverageFilter {
  /** YYYY-MM; default: all. */
  month?: string | undefined;
  accountId?: string | undefined;
  plan?: string | undefined;
  phase?: UsagePeriod['phase'] | undefined;
  /** Only periods with charges beyond the allowance. */
  withOverage?: boolean | undefined;
  /** Only periods with overage that no invoice carries. */
  withDifference?: boolean | undefined;
}

/** A place between two rows: the value by which they are sorted (0 for accounts), and the row's key. */
export interface OverageCursor {
  value: number;
  account_id: string;
  /** UTC ISO-8601. */
  period_start: string;
}

interface Wanted {
  filter: OverageFilter;
  order: OverageOrder;
}

/**
 * The work for a page is bounded: rows that a filter leaves out are looked at, but no more than so many, and without a month as
 * many of each month.
 */
const maxLookedDefault = { month: 5_000, all: 500 };

/** A page of the table, in one statement. */
export async function listPeriodMoney(
  client: Queryable,
  {
    filter,
    order,
    after,
    limit,
    maxLooked: most,
  }: Wanted & { after?: OverageCursor | undefined; limit: number; maxLooked?: number },
) {
  const { values, bind: of } = bindings();
  const matches = matchSql(filter, of);
  const isOfOne = filter.month !== undefined || filter.accountId !== undefined;
  const maxLooked = matches === 'true' ? limit + 1 : (most ?? maxLookedDefault[isOfOne ? 'month' : 'all']);
  const by = orderSql({ filter, order });
  const { rows } = await client.query<PeriodMoney & { matches: boolean; is_last: boolean }>(
    `select ${columns('l')}, l.matches, l.is_last
     from (
       select p.*, ${matches} as matches, row_number() over (order by ${by}) = ${String(maxLooked)} as is_last
       from (
         select p.* from ${sourceSql({ filter, order, after }, { of, maxLooked })} order by ${by} limit ${String(maxLooked)}
       ) p
     ) l
     where l.matches or l.is_last order by ${by.replaceAll('p.', 'l.')} limit ${of(limit + 1)}`,
    values,
  );
  const matching = rows.filter((row) => row.matches);
  const isFull = matching.length > limit;
  const last = isFull ? matching[limit - 1] : rows.find((row) => row.is_last);
  return {
    rows: matching.slice(0, limit).map(({ matches: _matches, is_last: _last, ...row }) => row),
    /** The place from which another page goes on; undefined at the end. */
    next: last && cursorOf(last, order.sort),
    /** Rows were looked through up to `next`, and there may be more matches behind it: matches are rare. */
    is_partial: !isFull && last !== undefined,
  };
}

function cursorOf(row: PeriodMoney, sort: OverageSort): OverageCursor {
  const { account_id, period_start } = row;
  const column = columnOf(sort);
  return { value: column ? row[column] : 0, account_id, period_start };
}

const exportedAtOnce = 2_000;

/** Every row of the table in the same order, as of one instant. @param gone aborted once nobody reads them any more */
export async function* exportPeriodMoney(
  pool: Pool,
  { filter, order }: Wanted,
  gone: AbortSignal,
): AsyncGenerator<PeriodMoney[]> {
  const { values, bind: of } = bindings();
  const conditions = [...rangeConditions(filter, of), matchSql(filter, of)].join(' and ');
  const text = `select ${columns('p')} from period_money p where ${conditions} order by ${orderSql({ filter, order })}`;
  yield* readByCursor<PeriodMoney>(pool, { text, values, rowsAtOnce: exportedAtOnce }, gone);
}

const columns = (alias: string) =>
  ['account_id', 'period_start', 'month', 'stream', 'plan', 'phase'].map((column) => `${alias}.${column}, `).join('') +
  moneyColumns(alias);

/** What each row is asked. */
function matchSql({ plan, phase, withOverage = false, withDifference = false }: OverageFilter, of: Bind): string {
  const conditions = [
    ...equalities({ 'p.plan': plan, 'p.phase': phase }, of),
    ...(withOverage ? ['p.charges > 0'] : []),
    ...(withDifference ? ['p.difference_cents <> 0'] : []),
  ];
  return conditions.join(' and ') || 'true';
}

/** What an index knows. */
const rangeConditions = ({ month, accountId }: OverageFilter, of: Bind): string[] =>
  equalities({ 'p.month': month, 'p.account_id': accountId }, of);

/** The account at the end, and without a month the start of the period, so that no two rows are the same place. */
const keysOf = (sort: OverageSort, { month }: OverageFilter): string[] => {
  const column = columnOf(sort);
  return [...(column ? [`p.${column}`] : []), 'p.account_id', ...(month === undefined ? ['p.period_start'] : [])];
};

const orderSql = ({ filter, order: { sort, descending } }: Wanted): string =>
  keysOf(sort, filter)
    .map((key) => (descending ? `${key} desc` : key))
    .join(', ');

interface Source extends Wanted {
  after: OverageCursor | undefined;
}

/** The rows behind a place. Without a month, the first of each month: the indexes by amount are by month. */
function sourceSql({ filter, order, after }: Source, { of, maxLooked }: { of: Bind; maxLooked: number }): string {
  const comparison = order.descending ? '<' : '>';
  const keys = keysOf(order.sort, filter);
  const places = (given: OverageCursor) => [
    ...(columnOf(order.sort) ? [`${of(given.value)}::bigint`] : []),
    of(given.account_id),
    ...(filter.month === undefined ? [`${of(given.period_start)}::timestamptz`] : []),
  ];
  const behind = after ? [`(${keys.join(', ')}) ${comparison} (${places(after).join(', ')})`] : [];
  const isOfOne = filter.month !== undefined || filter.accountId !== undefined || order.sort === 'account';
  const conditions = [...rangeConditions(filter, of), ...behind];
  const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';
  if (isOfOne) return `period_money p ${where}`;
  // Of each month as many as are looked at in all.
  const first = `select p.* from period_money p
    where p.month = m.month ${behind.map((sql) => `and ${sql}`).join('')} order by ${orderSql({ filter: { month: 'm.month' }, order })} limit ${String(maxLooked)}`;
  return `(select distinct month from month_money) m cross join lateral (${first}) p`;
}

/** The sums of a month, by the phase of its periods now; a month without periods has none. */
export interface MonthMoney extends MoneyCounts {
  month: string;
  phase: UsagePeriod['phase'];
  periods: number;
}

/** The newest months first, at most three rows each. @param month only this one; from: YYYY-MM, only this and later ones */
export async function listMonthMoney(
  client: Queryable,
  { month, from, months = 36 }: { month?: string; from?: string; months?: number } = {},
): Promise<MonthMoney[]> {
  const { rows } = await client.query<MonthMoney>(
    `select month, phase, periods, ${moneyColumns('m')}
     from month_money m
     where ($1::text is null or month = $1) and month >= coalesce($2, '') order by month desc, phase limit $3`,
    [month ?? null, from ?? null, months * 3],
  );
  return rows;
}
