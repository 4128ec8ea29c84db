import { columns, type Table, tables } from '../../src/audit/compare/columns.ts';
import { kept } from '../../src/audit/compare/rows.ts';
import type { Rule } from '../../src/audit/rules/rules.ts';

/** Changes to the tables of Postgres. Each is one statement, or several; the transaction around them is taken back. */
export interface RowTamper {
  kind: string;
  rules: readonly Rule[];
  table: Table;
  sql: string;
}

const rows = ['row_differs', 'row_missing', 'row_surplus'] as const;

/** Keeps what a column has that holds few values among them. */
const closed: Partial<Record<string, string>> = {
  'credits.phase': `case when phase = 'open' then 'ended' else 'open' end`,
  'jobs.status': `case when status = 'done' then 'failed' else 'done' end`,
  'overage_ledger.type': `case when type = 'OverageCharged' then 'DownloadCreditDebited' else 'OverageCharged' end`,
  // The next number is that of another row.
  'proof_leaves.leaf_index': 't.leaf_index + 1000000',
  'proof_nodes.node_index': 't.node_index + 1000000',
  'period_money.phase': `case when phase = 'open' then 'ended' else 'open' end`,
  'staff.role': `case when role = 'admin' then 'finance' else 'admin' end`,
  'corrections.status': `case when status = 'asked' then 'made' else 'asked' end`,
  'corrections.kind': `case when kind = 'credit_line' then 'charges' else 'credit_line' end`,
  'invoices.type': `case when type = 'InvoiceIssued' then 'CreditNoteIssued' else 'InvoiceIssued' end`,
};

/** Another value of the column's type, whatever it was; the same one each time. */
function another(table: Table, column: string): string {
  return (
    closed[`${table}.${column}`] ??
    `(select (jsonb_populate_record(null::${table}, jsonb_build_object('${column}', case
       when jsonb_typeof(to_jsonb(t.${column})) = 'boolean' then to_jsonb(not (to_jsonb(t.${column}))::text::boolean)
       when jsonb_typeof(to_jsonb(t.${column})) = 'number' then to_jsonb((to_jsonb(t.${column}))::text::numeric + 1)
       else ${ofType(table, column)} end))).${column})`
  );
}

const ofType = (table: Table, column: string) =>
  `case (select format_type(atttypid, null) from pg_attribute where attrelid = '${table}'::regclass and attname = '${column}')
     when 'timestamp with time zone' then to_jsonb(coalesce(t.${column}::text::timestamptz, '2026-01-01') + interval '1 ms')
     when 'date' then to_jsonb(coalesce(t.${column}::text::date, '2026-01-01') - 10000)
     when 'uuid' then to_jsonb('11111111-2222-4333-8444-555555555555'::text)
     when 'jsonb' then '{"forged": true}'::jsonb when 'json' then '{"forged": true}'::jsonb
     when 'text' then to_jsonb(coalesce(t.${column}::text, '') || 'x') else to_jsonb(7) end`;

/** The same row in every run: one of an account that has more than one period. */
const one = (table: Table) => `(select ctid from ${table} order by md5(to_jsonb(${table})::text) limit 1)`;

const columnsOf = (table: Table) => Object.keys(columns[table]);

/** As table.column. */
export const comparedColumns = tables.flatMap((table) => columnsOf(table).map((column) => `${table}.${column}`));

function ofColumns(table: Table): RowTamper[] {
  return columnsOf(table).map((column) => ({
    kind: `${table}.${column} changed`,
    rules: rows,
    table,
    sql: `update ${table} t set ${column} = ${another(table, column)} where ctid = ${one(table)}`,
  }));
}

function ofTable(table: Table): RowTamper[] {
  const names = columnsOf(table);
  const hasAccount = names.includes('account_id');
  const last = names.at(-1) ?? '';
  const of = (kind: string, rules: readonly Rule[], sql: string) => ({ kind: `${table}: ${kind}`, rules, table, sql });
  return [
    of('a row deleted', ['row_missing'], `delete from ${table} where ctid = ${one(table)}`),
    of('all rows deleted', ['row_missing'], `delete from ${table}`),
    of('truncated', ['row_missing'], `truncate ${table}`),
    of('dropped', ['table_missing'], `drop table ${table}`),
    of('a column dropped', ['table_missing'], `alter table ${table} drop column ${last} cascade`),
    of(
      'a row more',
      ['row_surplus'],
      `insert into ${table} select (jsonb_populate_record(t, jsonb_build_object('${keyOf(table)}', ${another(table, keyOf(table))}))).*
       from ${table} t where ctid = ${one(table)}`,
    ),
    ...(hasAccount && !isByAccount(table)
      ? [
          of(
            'a row moved to another account',
            rows,
            `update ${table} t set account_id = (select account_id from account_heads h where h.account_id <> t.account_id order by 1 limit 1)
             where ctid = ${one(table)}`,
          ),
        ]
      : []),
    of(
      'a row replaced by a forged one',
      ['row_missing', 'row_surplus', 'row_differs'],
      `update ${table} t set ${keyOf(table)} = ${another(table, keyOf(table))} where ctid = ${one(table)}`,
    ),
  ];
}

const isByAccount = (table: Table) => table === 'account_heads' || table === 'hourly_limits';

/** The last column of its key, but not a position: the next one may belong to another event of the same download. */
const keyOf = (table: Table) => kept[table].key.findLast((column) => column !== 'position') ?? '';

const differing = (table: Table, kind: string, sql: string): RowTamper => ({
  kind,
  rules: ['row_differs'],
  table,
  sql,
});

const others: readonly RowTamper[] = [
  differing('api_key_window', 'a revoked key set back', `update api_key_window set revoked = false where revoked`),
  differing(
    'api_key_window',
    'two keys exchanged',
    `update api_key_window w set account_id = (select max(account_id) from account_heads) where account_id = (select min(account_id) from account_heads)`,
  ),
  differing('hourly_limits', 'a higher hourly limit for all', `update hourly_limits set hourly_limit = 1000000`),
  differing(
    'credits',
    'an older row of credits put back',
    `update credits set revision = revision - 1, downloads = greatest(downloads - 1, 0) where ctid = ${one('credits')}`,
  ),
  differing('credits', 'downloads given away', `update credits set download_credits = 0 where download_credits > 0`),
  differing(
    'credits',
    'an invoice that is due forgotten, or one more asked for',
    `update credits set period_invoice_due = not period_invoice_due where ctid = ${one('credits')}`,
  ),
  differing(
    'overage_ledger',
    'two rows of the ledger exchange their amounts',
    `update overage_ledger l set cents = 25 - cents where ctid = ${one('overage_ledger')}`,
  ),
  differing(
    'overage_ledger',
    'every charge a cent less',
    `update overage_ledger set cents = cents - 1 where type = 'OverageCharged'`,
  ),
  differing(
    'people',
    'a removed person brought back',
    'update people set removed_at = null where removed_at is not null',
  ),
  differing(
    'usage_days',
    'what was given back hidden',
    'update usage_days set returned_cents = 0 where returned_cents > 0',
  ),
  differing(
    'jobs',
    'the downloads of a key put down to another',
    `update jobs set key_id = (select min(key_id) from api_keys) where key_id is not null`,
  ),
];

/** Constraints go first: whoever may change a table may drop them. */
export const withoutConstraints = (table: Table): string =>
  `do $$ declare c record; begin
     for c in select conname from pg_constraint where conrelid = '${table}'::regclass and contype in ('c', 'u', 'p') loop
       execute format('alter table ${table} drop constraint %I cascade', c.conname);
     end loop;
     for c in select attname from pg_attribute where attrelid = '${table}'::regclass and attnotnull and attnum > 0 and not attisdropped loop
       execute format('alter table ${table} alter column %I drop not null', c.attname);
     end loop;
   end $$`;

export const ofRows: readonly RowTamper[] = [
  ...tables.flatMap((table) => [...ofColumns(table), ...ofTable(table)]),
  ...others,
];
