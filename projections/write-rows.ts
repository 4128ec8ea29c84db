import { finished } from 'node:stream/promises';
import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

/** From so many rows on, COPY takes less time than a statement, which is planned once but reads them as JSON. */
export const manyRows = 100;

/** Adds rows to a table. Columns that a row does not name are null. */
export async function insertRows(client: PoolClient, table: string, rows: readonly object[]): Promise<void> {
  if (rows.length === 0) return;
  if (rows.length >= manyRows) {
    await copyRows(client, table, rows);
    return;
  }
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

/** As `insertRows`. Objects are values of JSON columns. */
async function copyRows(client: PoolClient, table: string, rows: readonly object[]): Promise<void> {
  const columns = new Set<string>();
  for (const row of rows) for (const column in row) columns.add(column);
  const names = [...columns];
  const copy = client.query(copyFrom(`copy ${table} (${names.join(', ')}) from stdin`));
  let text = '';
  for (const row of rows) text += lineOf(row as Readonly<Record<string, unknown>>, names);
  copy.end(text);
  await finished(copy);
}

/** A row in the text format of COPY. */
function lineOf(row: Readonly<Record<string, unknown>>, columns: readonly string[]): string {
  let line = '';
  let separator = '';
  for (const column of columns) {
    line += separator + copyText(row[column]);
    separator = '\t';
  }
  return `${line}\n`;
}

function copyText(value: unknown): string {
  if (value === null || value === undefined) return '\\N';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return special.test(text) ? text.replaceAll(/[\\\t\n\r]/g, (character) => escapes[character] ?? character) : text;
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
const special = /[\\\t\n\r]/;
