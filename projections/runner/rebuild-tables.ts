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

/** Creates an empty table of the same shape in the shadow schema. Indexes cost less once the rows are there. */
export async function createShadowTable(table: string, schema: string, client: PoolClient): Promise<void> {
  await client.query(`create table ${schema}.${table} (like ${table} including all excluding indexes)`);
  await runEach(
    `select format('alter table %s.%s set (%s)', $2::text, $1::text, array_to_string(reloptions, ', '))
     from pg_class where oid = $1::text::regclass and reloptions is not null`,
    [table, schema],
    client,
  );
}

/** Adds keys and other constraints, under the names that they have on the live table. */
export async function constrainShadowTable(table: string, schema: string, client: Queryable): Promise<void> {
  await runEach(
    `select format('alter table %s.%s add constraint %I %s', $2::text, $1::text, conname, pg_get_constraintdef(oid))
     from pg_constraint where conrelid = $1::text::regclass and contype in ('p', 'u', 'x', 'f') order by contype desc, conname`,
    [table, schema],
    client,
  );
}

/** Adds the indexes that belong to no constraint, under the same names too, and the planner's statistics. */
export async function indexShadowTable(table: string, schema: string, client: Queryable): Promise<void> {
  await runEach(
    `select replace(pg_get_indexdef(i.indexrelid), format(' ON %I.%I USING ', n.nspname, c.relname),
                    format(' ON %s.%s USING ', $2::text, $1::text))
     from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
     where c.oid = $1::text::regclass and not exists (select from pg_constraint where conindid = i.indexrelid)`,
    [table, schema],
    client,
  );
  await client.query(`analyze ${schema}.${table}`);
}

/** Runs statements that are generated from the catalogue. */
async function runEach(query: string, values: readonly string[], client: Queryable): Promise<void> {
  const { rows } = await client.query<[string]>({ text: query, values: [...values], rowMode: 'array' });
  for (const [statement] of rows) await client.query(statement);
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
  const keyed = await client.query<{ column: string }>(
    `select quote_ident(a.attname) as column
     from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
     where i.indrelid = $1::text::regclass and i.indisprimary`,
    [name],
  );
  const key = keyed.rows.map(({ column }) => column);
  const [first = ''] = key;
  const compared = (await columnsOf(name, client)).filter(
    ({ column }) => (columns?.includes(column) ?? true) && !except.includes(column),
  );
  const row = (alias: string) => `row(${compared.map(({ value }) => `${alias}.${value}`).join(', ')})`;
  const { rows } = await client.query<TableDifference>(
    `select (select count(*)::float8 from ${schema}.${name}) as rows,
            count(s.${first})::float8 as missing, count(l.${first})::float8 as surplus
     from ${schema}.${name} s full join ${name} l using (${key.join(', ')})
     where ${row('s')} is distinct from ${row('l')}`,
  );
  return { rows: 0, missing: 0, surplus: 0, ...rows[0], name };
}

/** The columns of a table, each with its value for a comparison: JSON has no equality, but its text has. */
async function columnsOf(name: string, client: PoolClient): Promise<{ column: string; value: string }[]> {
  const { rows } = await client.query<{ column: string; value: string }>(
    `select quote_ident(attname) as column,
            quote_ident(attname) || case atttypid when 'json'::regtype then '::text' else '' end as value
     from pg_attribute where attrelid = $1::text::regclass and attnum > 0 and not attisdropped order by attnum`,
    [name],
  );
  return rows;
}

export async function swapTable(table: string, schema: string, client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ home: string }>('select quote_ident(current_schema()) as home');
  await client.query(`drop table ${table}; alter table ${schema}.${table} set schema ${rows[0]?.home ?? ''}`);
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
