import { hash } from 'node:crypto';
import type { Facts } from '../rules/divergence.ts';
import { columns, type Table } from './columns.ts';
import type { Entry } from './expected-rows.ts';

/** Queries Postgres. */
export type Query = (sql: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

interface Kept {
  /** Name of the table's checkpoint. */
  checkpoint: string;
  key: readonly string[];
  /** The stream and revision that a row comes from, as far as the row has them. */
  stream: string;
  revision: string;
  /** Ends with the day on which its billing period starts; undefined if its rows belong to no period. */
  period?: string;
  /** The key as `row-keys.ts` writes it, unless that is the columns of `key`. */
  name?: string;
  /** Its rows are of no one account, and are compared with the whole log alone. */
  isOfAll?: boolean;
}

const usageStream = { stream: 'stream', revision: 'revision', period: 'stream' };
const ofAll = { stream: `'$all'`, revision: '-1', isOfAll: true };
const staffStream = { stream: `'staff-' || staff_id`, revision: '-1', isOfAll: true };
const accountStream = { stream: `'account-' || account_id`, revision: '-1' };

export const kept: Readonly<Record<Table, Kept>> = {
  overage_ledger: { checkpoint: 'overage_ledger', key: ['event_id'], ...usageStream },
  credits: { checkpoint: 'usage_and_jobs', key: ['stream'], ...usageStream },
  jobs: {
    checkpoint: 'usage_and_jobs',
    key: ['token'],
    stream: 'usage_stream',
    revision: 'usage_revision',
    period: 'usage_stream',
  },
  job_timeline: { checkpoint: 'job_timeline', key: ['token', 'position'], stream: 'stream', revision: 'revision' },
  // Not by period: a key of one period may be taken over in another.
  idempotency_keys: {
    checkpoint: 'usage_and_jobs',
    key: ['account_id', 'key_hash'],
    stream: 'stream',
    revision: 'revision',
  },
  usage_warnings: { checkpoint: 'usage_and_jobs', key: ['event_id'], ...usageStream },
  usage_changes: { checkpoint: 'usage_and_jobs', key: ['event_id'], ...usageStream },
  account_heads: { checkpoint: 'api_keys', key: ['account_id'], ...accountStream },
  api_keys: { checkpoint: 'api_keys', key: ['key_id'], ...accountStream },
  api_key_window: { checkpoint: 'api_keys', key: ['key_id'], ...accountStream },
  hourly_limits: { checkpoint: 'api_keys', key: ['account_id'], ...accountStream },
  customers: { checkpoint: 'people', key: ['account_id'], ...accountStream },
  people: { checkpoint: 'people', key: ['account_id', 'person_id'], ...accountStream },
  usage_days: { checkpoint: 'usage_days', key: ['stream', 'day'], stream: 'stream', revision: '-1', period: 'stream' },
  period_money: {
    checkpoint: 'period_money',
    key: ['account_id', 'period_start'],
    name: `account_id || ' ' || (extract(epoch from period_start) * 1000)::int8`,
    stream: 'stream',
    revision: '-1',
    period: 'stream',
  },
  month_money: { checkpoint: 'period_money', key: ['month', 'phase'], ...ofAll },
  job_days: { checkpoint: 'usage_and_jobs', key: ['day', 'platform', 'outcome'], ...ofAll },
  staff: { checkpoint: 'staff', key: ['staff_id'], ...staffStream },
  staff_addresses: { checkpoint: 'staff', key: ['staff_id'], ...staffStream },
  staff_tokens: { checkpoint: 'staff', key: ['token_id'], ...staffStream },
  staff_looks: { checkpoint: 'staff', key: ['event_id'], ...staffStream },
  corrections: {
    checkpoint: 'corrections',
    key: ['correction_id'],
    stream: `'corrections-' || account_id`,
    revision: 'revision',
  },
  document_mails: {
    checkpoint: 'document_mails',
    key: ['event_id'],
    stream: `'invoices-' || account_id`,
    revision: 'revision',
  },
  proof_leaves: { checkpoint: 'proofs', key: ['leaf_index'], stream: 'stream', revision: 'revision', isOfAll: true },
  proof_nodes: { checkpoint: 'proofs', key: ['level', 'node_index'], ...ofAll },
  proof_heads: { checkpoint: 'proofs', key: ['size'], stream: `'tree-heads'`, revision: 'revision', isOfAll: true },
  invoices: {
    checkpoint: 'invoices',
    key: ['event_id'],
    stream: `'invoices-' || account_id`,
    revision: 'revision',
    period: `to_char(period_start at time zone 'utc', 'YYYYMMDD')`,
  },
};

/** True if the rows of a table never change. */
export const isFixed = (table: Table): boolean => fixedTables.includes(table);
const fixedTables: readonly Table[] = [
  ...(['overage_ledger', 'invoices', 'job_timeline', 'staff_looks', 'usage_changes'] as const),
  ...(['proof_leaves', 'proof_nodes', 'proof_heads'] as const),
];
/** Large tables, of which a whole batch is first compared at once, with the types of their keys. */
const areMany: Partial<Record<Table, readonly string[]>> = {
  overage_ledger: ['uuid'],
  job_timeline: ['text', 'numeric'],
};

/** The compared columns of a table, each with what it must equal. */
function comparedOf(table: Table): readonly { column: string; valueOf: (subject: object) => unknown }[] {
  const compared = Object.entries<(subject: never) => unknown>(columns[table]);
  return compared.map(([column, valueOf]) => ({ column, valueOf: valueOf as (subject: object) => unknown }));
}

export interface Difference {
  entry: Entry;
  expected: Record<string, unknown>;
  /** Null if there is no such row. */
  found: Record<string, unknown> | null;
}

/** Columns that are null in rows of older versions, until a rebuild fills them in. Nothing is decided by them. */
const notInOlderRows: Partial<Record<Table, readonly string[]>> = {
  jobs: ['key_id', 'cents', 'running_cents', 'ended_position'],
};

/** Columns that nobody expects anything of when a job is restored from its own stream: they were compared before it was forgotten. */
const unknownOfRestored: Partial<Record<Table, readonly string[]>> = { jobs: ['running_cents'] };

const isJson = (column: string) => column === 'actor' || column === 'data';
const isTime = (column: string) => column === 'time' || column === 'period_start';

/**
 * Compares rows column by column, by Postgres's own equality.
 *
 * @param captured earlier contents of the table, to compare instead of the current ones
 * @returns the rows that are missing or differ; a row that the table cannot hold counts as missing
 */
export async function compare(
  query: Query,
  table: Table,
  entries: readonly Entry[],
  captured?: readonly unknown[],
): Promise<Difference[]> {
  if (entries.length === 0) return [];
  try {
    const keyTypes = captured ? undefined : areMany[table];
    if (keyTypes && (await areSame(query, { table, keyTypes }, entries))) return [];
    return await compareEach(query, table, entries, captured);
  } catch (error) {
    if (!isOfData(error)) throw error;
    const [only] = entries;
    if (only && entries.length === 1) return [{ entry: only, expected: {}, found: null }];
    const half = Math.ceil(entries.length / 2);
    return [
      ...(await compare(query, table, entries.slice(0, half), captured)),
      ...(await compare(query, table, entries.slice(half), captured)),
    ];
  }
}

/** True if Postgres has refused a value, such as a number out of range. */
const isOfData = (error: unknown): boolean => String((Object(error) as { code?: unknown }).code).startsWith('22');

async function compareEach(
  query: Query,
  table: Table,
  entries: readonly Entry[],
  captured?: readonly unknown[],
): Promise<Difference[]> {
  const compared = comparedOf(table);
  const rows = entries.map(({ subject }) =>
    Object.fromEntries(compared.map(({ column, valueOf }) => [column, asJson(valueOf(subject))])),
  );
  const written = (alias: string, column: string) => `${alias}.${column}${isJson(column) ? '::jsonb' : ''}`;
  const isLenient = (column: string) => notInOlderRows[table]?.includes(column) === true;
  const isUnknown = (column: string) => unknownOfRestored[table]?.includes(column) === true;
  const expected = compared
    .map(({ column }) => (isUnknown(column) ? `coalesce(e.${column}, f.${column})` : written('e', column)))
    .join();
  const found = compared
    .map(({ column }) => (isLenient(column) ? `coalesce(f.${column}, e.${column})` : written('f', column)))
    .join();
  const keys = (alias: string) => kept[table].key.map((name) => `${alias}.${name}`).join();
  const differing = await query(
    `select n::int - 1 as entry, to_jsonb(e) as expected, to_jsonb(f) as found
     from jsonb_array_elements($1::jsonb) with ordinality j (one, n), jsonb_populate_record(null::${table}, one) e
     left join ${captured ? `jsonb_populate_recordset(null::${table}, $2::jsonb)` : table} f on (${keys('f')}) = (${keys('e')})
     where (${expected}) is distinct from (${found})`,
    [JSON.stringify(rows), ...(captured ? [JSON.stringify(captured)] : [])],
  );
  return differing.flatMap(({ entry, ...rest }) => {
    const of = entries[entry as number];
    return of ? { entry: of, ...(rest as Omit<Difference, 'entry'>) } : [];
  });
}

/**
 * Compares one SHA-256 over all values of each side, at a fraction of the cost of comparing values. Equal values may be written
 * differently (JSON with its members in another order); then they are compared one by one.
 */
async function areSame(
  query: Query,
  { table, keyTypes }: { table: Table; keyTypes: readonly string[] },
  entries: readonly Entry[],
): Promise<boolean> {
  const compared = comparedOf(table);
  const { key } = kept[table];
  let text = '';
  for (const { subject } of entries)
    for (const { column, valueOf } of compared) text += measured(column, valueOf(subject));
  const written = compared.map(({ column }) => {
    const value = isTime(column) ? `(extract(epoch from f.${column}) * 1000)::int8::text` : `f.${column}::text`;
    return `coalesce(octet_length(${value}) || ':' || ${value}, '-')`;
  });
  const keys = key.map((name) => {
    const named = compared.find(({ column }) => column === name);
    return entries.map(({ subject }) => String(named?.valueOf(subject)));
  });
  const lists = keyTypes.map((type, index) => `$${String(index + 1)}::${type}[]`).join();
  const [row] = await query(
    `select encode(sha256(convert_to(string_agg(${written.join(' || ')}, '' order by n), 'utf8')), 'hex') as digest
     from unnest(${lists}) with ordinality e (${key.join()}, n) join ${table} f using (${key.join()})`,
    keys,
  );
  return row?.['digest'] === hash('sha256', text);
}

/** Writes a value with its length in front, so that different lists of values never make the same text. */
function measured(column: string, value: unknown): string {
  if (value === undefined || value === null) return '-';
  const text = isJson(column)
    ? JSON.stringify(value)
    : String(isTime(column) ? Date.parse(value as string) : (value as string | number | bigint));
  return `${String(Buffer.byteLength(text))}:${text}`;
}

export const missingRow = (table: Table, where: Pick<Facts, 'account_id' | 'stream' | 'revision'>): Facts => ({
  rule: 'row_missing',
  ...where,
  field: table,
  expected: 'a row',
  found: 'none',
});

/** The facts of a missing or different row. They name all differing columns, so that a further one makes a new divergence. */
export function differenceFacts({ entry, expected, found }: Difference): Facts {
  const { table, accountId: account_id, at } = entry;
  const { stream, revision } = at;
  const where = { account_id, stream, revision };
  if (!found) return missingRow(table, where);
  const differing = comparedOf(table)
    .map(({ column }) => column)
    .filter((column) => found[column] !== null || notInOlderRows[table]?.includes(column) !== true)
    .filter((column) => expected[column] !== null || unknownOfRestored[table]?.includes(column) !== true)
    .filter((column) => JSON.stringify(expected[column]) !== JSON.stringify(found[column]));
  const [only = '', ...others] = differing;
  if (others.length === 0)
    return { rule: 'row_differs', ...where, field: `${table}.${only}`, expected: expected[only], found: found[only] };
  const of = (row: Record<string, unknown>) => Object.fromEntries(differing.map((column) => [column, row[column]]));
  const field = `${table}.(${differing.join(', ')})`;
  return { rule: 'row_differs', ...where, field, expected: of(expected), found: of(found) };
}

/** One account, one billing period (the day on which it starts, YYYYMMDD), or both. */
export interface Scope {
  accountId?: string | undefined;
  period?: string | undefined;
}

/** The scope of a table. The timeline has no account column, and is restricted by the account's tokens. */
export interface TableScope extends Scope {
  tokens?: readonly string[];
  /** Only rows of events up to this position; for a table that has a row for each event. */
  upTo?: bigint;
}

function inScope(table: Table, { accountId, period, tokens, upTo }: TableScope): { sql: string; values: unknown[] } {
  const conditions: string[] = [];
  const values: unknown[] = [];
  const add = (sql: string, value: unknown) => conditions.push(`${sql} $${String(values.push(value))}`);
  if (table === 'job_timeline') {
    if (accountId !== undefined) conditions.push(`token = any($${String(values.push(tokens ?? []))})`);
  } else if (accountId !== undefined) add('account_id =', accountId);
  if (upTo !== undefined) add('position <=', String(upTo));
  const { period: day } = kept[table];
  if (period !== undefined && day !== undefined) add(`right(${day}, 8) =`, period);
  return { sql: conditions.length > 0 ? `where ${conditions.join(' and ')}` : '', values };
}

/** Positions exceed JSON's numbers. */
const asJson = (value: unknown) => (typeof value === 'bigint' ? String(value) : value);

export async function countRows(query: Query, table: Table, scope: TableScope): Promise<number> {
  const { sql, values } = inScope(table, scope);
  const [row] = await query(`select count(*)::float8 as count from ${table} ${sql}`, values);
  return row?.['count'] as number;
}

/** A row, and the event that it claims to come from. */
export interface Origin {
  key: string;
  account_id: string | null;
  stream: string;
  revision: number;
}

export async function listOrigins(query: Query, table: Table, scope: TableScope): Promise<Origin[]> {
  const { stream, revision, key, name, isOfAll = false } = kept[table];
  const { sql, values } = inScope(table, scope);
  const keys = name ?? `concat_ws(' ', ${key.map((column) => `${column}::text`).join()})`;
  const account = table === 'job_timeline' || isOfAll ? 'null' : 'account_id';
  const rows = await query(
    `select ${keys} as key, ${account} as account_id, ${stream} as stream, ${revision}::float8 as revision
     from ${table} ${sql} order by 3, 4, 1`,
    values,
  );
  return rows as unknown as Origin[];
}

/**
 * The progress of each read model, in commit positions of the log.
 *
 * @returns upTo: all events up to here are applied; standsFor: the newest event that its rows reflect, since later ones up to `upTo`
 *   did not concern it
 */
export async function readCheckpoints(query: Query) {
  const rows = await query(
    `select name, (position - case when prepare_position < position then 1 else 0 end)::text as up_to,
       case when prepare_position is null then position else coalesce(event_position, -1) end::text as stands_for
     from checkpoints where position is not null and (position <= 9223372036854775807 or applied_events > 0)`,
    [],
  );
  return new Map(
    rows.map(({ name, up_to, stands_for }) => {
      const reached = { upTo: BigInt(up_to as string), standsFor: BigInt(stands_for as string) };
      return [name as string, reached] as const;
    }),
  );
}

/** @returns the missing columns by table; all columns for a missing table */
export async function findMissingColumns(query: Query, tables: readonly Table[]): Promise<Map<Table, string[]>> {
  const rows = await query(
    `select attrelid::regclass::text as table, attname as column from pg_attribute
     where attrelid = any(select to_regclass(name) from unnest($1::text[]) name) and attnum > 0 and not attisdropped`,
    [tables],
  );
  const there = new Set(rows.map((row) => `${String(row['table'])} ${String(row['column'])}`));
  const missing = tables.map((table) => {
    const names = comparedOf(table).map(({ column }) => column);
    return [table, names.filter((column) => !there.has(`${table} ${column}`))] as const;
  });
  return new Map(missing.filter(([, names]) => names.length > 0));
}
