import { columns } from './columns.ts';
import { Divergence, valueAt } from './divergence.ts';
import type { Entry, Table } from './expected-rows.ts';

/** Asks Postgres. */
export type Query = (sql: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

interface Kept {
  /** Name of the checkpoint up to which a table stands for the log. */
  checkpoint: string;
  key: readonly string[];
  /** Where in the log a row comes from. */
  stream: string;
  revision: string;
  /** Ends with the day on which its billing period starts. */
  period: string;
}

const usageStream = { stream: 'stream', revision: 'revision', period: 'stream' };

export const kept: Readonly<Record<Table, Kept>> = {
  overage_ledger: { checkpoint: 'overage_ledger', key: ['event_id'], ...usageStream },
  credits: { checkpoint: 'usage_and_jobs', key: ['stream'], ...usageStream },
  jobs: {
    ...{ checkpoint: 'usage_and_jobs', key: ['token'] },
    ...{ stream: 'usage_stream', revision: 'usage_revision', period: 'usage_stream' },
  },
  idempotency_keys: { checkpoint: 'usage_and_jobs', key: ['account_id', 'key_hash'], ...usageStream },
  usage_warnings: { checkpoint: 'usage_and_jobs', key: ['event_id'], ...usageStream },
  account_heads: {
    ...{ checkpoint: 'api_keys', key: ['account_id'] },
    ...{ stream: `'account-' || account_id`, revision: 'revision', period: '$2' },
  },
  invoices: {
    ...{ checkpoint: 'invoices', key: ['event_id'], stream: `'invoices-' || account_id`, revision: 'revision' },
    period: `to_char(period_start at time zone 'utc', 'YYYYMMDD')`,
  },
};

/** What is compared: each column of a table, and the path of the field that it must equal. */
function comparedOf(table: Table): { column: string; path: string }[] {
  const words = columns[table].split(/\s+/).map((word) => word.split('='));
  return words.map(([column = '', path = column]) => ({ column, path }));
}

export interface Difference {
  entry: Entry;
  expected: Record<string, unknown>;
  /** Null: there is no such row. */
  found: Record<string, unknown> | null;
}

/**
 * Compares rows column by column, by Postgres's own equality.
 *
 * @param captured rows as they were at another time, instead of the table's of now
 * @returns the rows that are missing or other ones
 */
export async function compare(
  query: Query,
  table: Table,
  entries: readonly Entry[],
  captured?: readonly unknown[],
): Promise<Difference[]> {
  if (entries.length === 0) return [];
  const compared = comparedOf(table);
  const rows = entries.map(({ subject }) =>
    Object.fromEntries(compared.map(({ column, path }) => [column, asJson(valueAt(subject, path))])),
  );
  const list = (alias: string) =>
    compared.map(({ column: name }) => `${alias}.${name}${['actor', 'data'].includes(name) ? '::jsonb' : ''}`).join();
  const keys = (alias: string) => kept[table].key.map((name) => `${alias}.${name}`).join();
  const differing = await query(
    `select n::int - 1 as entry, to_jsonb(e) as expected, to_jsonb(f) as found
     from jsonb_array_elements($1::jsonb) with ordinality j (one, n), jsonb_populate_record(null::${table}, one) e
     left join ${captured ? `jsonb_populate_recordset(null::${table}, $2::jsonb)` : table} f on (${keys('f')}) = (${keys('e')})
     where (${list('e')}) is distinct from (${list('f')})`,
    [JSON.stringify(rows), ...(captured ? [JSON.stringify(captured)] : [])],
  );
  return differing.flatMap(({ entry, ...rest }) => {
    const of = entries[entry as number];
    return of ? { entry: of, ...(rest as Omit<Difference, 'entry'>) } : [];
  });
}

/** @throws {Divergence} naming the first column; an end of a stream that only one of the two has comes before all others */
export function refuse({ entry, expected, found }: Difference): never {
  if (!found) throw new Divergence(entry.at, entry.table, 'a row', 'none');
  const names = comparedOf(entry.table).map(({ column }) => column);
  const isOther = (name: string) => JSON.stringify(expected[name]) !== JSON.stringify(found[name]);
  const column = ['revision', 'last_hash', ...names].find((name) => names.includes(name) && isOther(name)) ?? '';
  throw new Divergence(entry.at, `${entry.table}.${column}`, expected[column], found[column]);
}

/** One account, one billing period (the day on which it starts, YYYYMMDD), or both. */
export interface Scope {
  accountId?: string | undefined;
  period?: string | undefined;
}

const inScope = (table: Table) =>
  `($1::text is null or account_id = $1) and ($2::text is null or right(${kept[table].period}, 8) = $2)`;

/** Positions are larger than JSON's numbers. */
const asJson = (value: unknown) => (typeof value === 'bigint' ? String(value) : value);

export async function countRows(query: Query, table: Table, { accountId, period }: Scope): Promise<number> {
  const sql = `select count(*)::float8 as count from ${table} where ${inScope(table)}`;
  const [row] = await query(sql, [accountId, period]);
  return row?.['count'] as number;
}

/** Where the rows of a table say that they come from. */
export async function listOrigins(
  query: Query,
  table: Table,
  { accountId, period }: Scope,
): Promise<{ stream: string; revision: number }[]> {
  const { stream, revision } = kept[table];
  const sql = `select ${stream} as stream, ${revision}::float8 as revision from ${table} where ${inScope(table)} order by 1, 2`;
  return (await query(sql, [accountId, period])) as { stream: string; revision: number }[];
}

/** How far a read model is, in commit positions of the log. */
export interface Reached {
  /** Everything up to here has been applied. */
  upTo: bigint;
  /** The newest event that its rows stand for: what lies between the two did not concern it. */
  standsFor: bigint;
}

export async function readCheckpoints(query: Query): Promise<Map<string, Reached>> {
  const rows = await query(
    `select name, (position - case when prepare_position < position then 1 else 0 end)::text as up_to,
       case when prepare_position is null then position else coalesce(event_position, -1) end::text as stands_for
     from checkpoints where position is not null and (position <= 9223372036854775807 or applied_events > 0)`,
    [],
  );
  return new Map(
    rows.map(({ name, up_to, stands_for }) => [
      name as string,
      { upTo: BigInt(up_to as string), standsFor: BigInt(stands_for as string) },
    ]),
  );
}
