import type { Pool } from 'pg';

interface Table {
  name: string;
  options: string[] | null;
  columns: string[];
  constraints: string[];
  indexes: string[];
  storages: string[];
}

/** What a table is made of, each part as Postgres itself writes it. Compression and storage that are the default are left out. */
const tablesQuery = `
  select c.relname as name, c.reloptions as options,
    (select array_agg(concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
                                case when a.attnotnull then 'not null' end,
                                case when d.adbin is not null then 'default ' || pg_get_expr(d.adbin, d.adrelid) end)
                      order by a.attnum)
     from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
    array(select 'constraint ' || quote_ident(conname) || ' ' || pg_get_constraintdef(oid)
          from pg_constraint where conrelid = c.oid and contype <> 'n' order by contype desc, conname) as constraints,
    array(select pg_get_indexdef(i.indexrelid) from pg_index i join pg_class x on x.oid = i.indexrelid
          where i.indrelid = c.oid and not exists (select from pg_constraint where conindid = i.indexrelid)
          order by x.relname) as indexes,
    array(select format('alter table %I alter column %I set storage %s', c.relname, a.attname,
                        case a.attstorage when 'm' then 'main' when 'p' then 'plain' when 'e' then 'external' else 'extended' end)
          from pg_attribute a join pg_type t on t.oid = a.atttypid
          where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attstorage <> t.typstorage) as storages
  from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
  order by c.relname`;

/** Whatever else a schema may hold: none is used, so none is written. */
const othersQuery = `
  select c.relkind::text || ' ' || c.relname as name from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind not in ('r', 'i')
  union all select 'function ' || proname from pg_proc where pronamespace = current_schema()::regnamespace
  union all select 'trigger ' || tgname from pg_trigger where not tgisinternal
  union all select 'type ' || typname from pg_type
    where typnamespace = current_schema()::regnamespace and typtype in ('d', 'e', 'r')`;

/** The schema as statements that make it again, tables in the order of their names. @throws for a kind of thing it cannot write */
export async function dumpSchema(pool: Pool): Promise<string> {
  const others = await pool.query<{ name: string }>(othersQuery);
  if (others.rows.length > 0)
    throw new Error(`the dump cannot write ${others.rows.map(({ name }) => name).join(', ')}`);
  const { rows } = await pool.query<Table>(tablesQuery);
  return rows.map(describeTable).join('\n');
}

function describeTable({ name, options, columns, constraints, indexes, storages }: Table): string {
  const head = `create table ${name} (\n  ${[...columns, ...constraints].join(',\n  ')}\n)`;
  const table = options ? `${head} with (${options.join(', ')})` : head;
  const inHere = indexes.map((index) => index.replace(/ ON \w+\./, ' ON '));
  return [table, ...storages, ...inHere].map((statement) => `${statement};\n`).join('');
}
