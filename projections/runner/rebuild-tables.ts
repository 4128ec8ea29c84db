import type { PoolClient } from 'pg';
import type { Queryable } from './rows.ts';

/**
 * The tables of a rebuild: creating the shadow tables, comparing them with the live ones, and swapping the two. For this client a
 * table's bare name is the live one; only the replay has the shadow in its search path.
 */

/** A table with content that is not in the log. It is never swapped; wrong rows are corrected in place. */
export interface CorrectedTable {
  name: string;
  /** Its rows are locked in the order of this column. */
  key: string;
  /** Further columns that come from the log; all other columns stay unchanged. */
  columns: readonly string[];
}

export interface TableDifference {
  name: string;
  /** Rows that follow from the log. */
  rows: number;
  /** Rows that the live table did not have in this form. */
  missing: number;
  /** Rows that only the live table had in this form. */
  surplus: number;
}

/** Creates the shadow schema, with empty tables of the same shape. Indexes cost less once the rows are there. */
export async function createShadowTables(tables: readonly string[], schema: string, client: Queryable): Promise<void> {
  const create = tables.map(
    (table) => `create table ${schema}.${table} (like ${table} including all excluding indexes)`,
  );
  await runAll([`drop schema if exists ${schema} cascade`, `create schema ${schema}`, ...create], client);
  await runGenerated(
    `select format('alter table %s.%s set (%s)', $2::text, name, array_to_string(reloptions, ', '))
     from unnest($1::text[]) name join pg_class on oid = name::regclass where reloptions is not null`,
    [tables, schema],
    client,
  );
}

/** Adds keys and other constraints, under the names that they have on the live tables. */
export async function constrainShadowTables(
  tables: readonly string[],
  schema: string,
  client: Queryable,
): Promise<void> {
  await runGenerated(
    `select format('alter table %s.%s add constraint %I %s', $2::text, name, conname, pg_get_constraintdef(c.oid))
     from unnest($1::text[]) name join pg_constraint c on conrelid = name::regclass
     where contype in ('p', 'u', 'x', 'f') order by contype desc, conname`,
    [tables, schema],
    client,
  );
}

/** Adds the indexes that belong to no constraint, under the same names too, and the planner's statistics. */
export async function indexShadowTables(tables: readonly string[], schema: string, client: Queryable): Promise<void> {
  await runGenerated(
    `select replace(pg_get_indexdef(i.indexrelid), format(' ON %I.%I USING ', n.nspname, c.relname),
                    format(' ON %s.%s USING ', $2::text, name))
     from unnest($1::text[]) name join pg_class c on c.oid = name::regclass
     join pg_index i on i.indrelid = c.oid join pg_namespace n on n.oid = c.relnamespace
     where not exists (select from pg_constraint where conindid = i.indexrelid)`,
    [tables, schema],
    client,
  );
  await client.query(`analyze ${tables.map((table) => `${schema}.${table}`).join(', ')}`);
}

/** Runs statements that a query makes from the catalogue. */
async function runGenerated(text: string, values: unknown[], client: Queryable): Promise<void> {
  const { rows } = await client.query<[string]>({ text, values, rowMode: 'array' });
  await runAll(
    rows.map(([statement]) => statement),
    client,
  );
}

/** Runs statements together, in one transaction and one round trip. */
async function runAll(statements: readonly string[], client: Queryable): Promise<void> {
  if (statements.length > 0) await client.query(statements.join(';\n'));
}

/**
 * Compares row by row, by the primary key.
 *
 * @param columns to compare; default: all
 * @param except a column to leave out
 */
export async function compareTable(
  { name, columns, except }: { name: string; columns?: readonly string[]; except: readonly (string | undefined)[] },
  schema: string,
  client: PoolClient,
): Promise<TableDifference> {
  const all = await columnsOf(name, client);
  const key = all.filter(({ isKey }) => isKey).map(({ column }) => column);
  const [first = ''] = key;
  const compared = all.filter(({ column }) => (columns?.includes(column) ?? true) && !except.includes(column));
  const row = (alias: string) => `row(${compared.map(({ value }) => `${alias}.${value}`).join(', ')})`;
  const { rows } = await client.query<TableDifference>(
    `select (select count(*)::float8 from ${schema}.${name}) as rows,
            count(s.${first})::float8 as missing, count(l.${first})::float8 as surplus
     from ${schema}.${name} s full join ${name} l using (${key.join(', ')})
     where ${row('s')} is distinct from ${row('l')}`,
  );
  return { rows: 0, missing: 0, surplus: 0, ...rows[0], name };
}

interface Column {
  column: string;
  /** For a comparison: JSON has no equality, but its text has. */
  value: string;
  /** True for a column of the primary key. */
  isKey: boolean;
}

async function columnsOf(name: string, client: PoolClient): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select quote_ident(attname) as column,
            quote_ident(attname) || case atttypid when 'json'::regtype then '::text' else '' end as value,
            attnum = any(indkey) as "isKey"
     from pg_attribute join pg_index on indrelid = attrelid and indisprimary
     where attrelid = $1::text::regclass and attnum > 0 and not attisdropped order by attnum`,
    [name],
  );
  return rows;
}

export async function swapTables(tables: readonly string[], schema: string, client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ home: string }>('select quote_ident(current_schema()) as home');
  const home = rows[0]?.home ?? '';
  await runAll(
    tables.flatMap((table) => [`drop table ${table}`, `alter table ${schema}.${table} set schema ${home}`]),
    client,
  );
}

/** Deletes, changes and adds the rows that differ from the shadow's. Correct rows are neither changed nor locked. */
export async function correctTable(
  { name, key, columns }: CorrectedTable,
  schema: string,
  client: PoolClient,
): Promise<void> {
  const of = (alias: string) => columns.map((column) => `${alias}.${column}`).join(', ');
  const all = [key, ...columns].join(', ');
  await client.query(
    `with wrong as materialized (
       select l.${key}, s.${key} is null as unknown
       from ${name} l left join ${schema}.${name} s on s.${key} = l.${key}
       where s.${key} is null or row(${of('l')}) is distinct from row(${of('s')})
       order by l.${key} for update of l
     ), deleted as (
       delete from ${name} l using wrong w where w.unknown and l.${key} = w.${key}
     )
     update ${name} l set (${columns.join(', ')}) = row(${of('s')})
     from wrong w join ${schema}.${name} s using (${key}) where l.${key} = w.${key}`,
  );
  await client.query(
    `insert into ${name} (${all})
     select ${all} from ${schema}.${name} s where not exists (select from ${name} l where l.${key} = s.${key})
     order by ${key}`,
  );
}
