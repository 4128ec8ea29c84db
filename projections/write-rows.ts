import type { PoolClient } from 'pg';

/** Adds rows to a table. Columns that a row does not name are null. */
export async function insertRows(client: PoolClient, table: string, rows: readonly object[]): Promise<void> {
  if (rows.length === 0) return;
  await client.query({
    name: `insert-${table}`,
    text: `insert into ${table} select * from json_populate_recordset(null::${table}, $1::json)`,
    values: [JSON.stringify(rows)],
  });
}

/** Adds rows, or puts them in the place of those with the same key. Columns that not all of them name keep their values. */
export async function upsertRows(
  client: PoolClient,
  table: string,
  { key, rows }: { key: readonly string[]; rows: readonly object[] },
): Promise<void> {
  const [first] = rows;
  if (!first) return;
  // Rows that were read may have a column of a newer version, which new ones lack.
  const columns = Object.keys(first)
    .filter((column) => rows.every((row) => column in row))
    .sort();
  const changes = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
  await client.query({
    // A session prepares it once: the order of the columns is always the same.
    name: `upsert-${table}-${String(columns.length)}`,
    text: `insert into ${table} (${columns.join(', ')})
     select ${columns.join(', ')} from json_populate_recordset(null::${table}, $1::json)
     on conflict (${key.join(', ')}) do update set ${changes.join(', ')}`,
    values: [JSON.stringify(rows)],
  });
}
