import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { PoolClient } from 'pg';
import type { Queryable } from './rows.ts';
import { inTransaction } from './transaction.ts';

/** @returns those of the tables that do not exist */
export async function findMissingTables(client: Queryable, tables: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select name from unnest($1::text[]) name where to_regclass(name) is null',
    [tables],
  );
  return rows.map(({ name }) => name);
}

const migrationsDirectory = fileURLToPath(new URL('../migrations', import.meta.url));
const scratchSchema = 'missing_tables';

/**
 * Creates missing tables, empty, as the migrations define them: all migrations run in a scratch schema, from which the missing
 * tables are moved with their keys and indexes.
 */
export async function createMissingTables(tables: readonly string[], client: PoolClient): Promise<void> {
  const missing = await findMissingTables(client, tables);
  if (missing.length === 0) return;
  const { rows } = await client.query<{ home: string }>('select quote_ident(current_schema()) as home');
  const home = rows[0]?.home ?? '';
  const files = (await readdir(migrationsDirectory)).filter((name) => name.endsWith('.sql')).sort();
  await inTransaction(client, async () => {
    await client.query(`drop schema if exists ${scratchSchema} cascade; create schema ${scratchSchema}`);
    await client.query(`set local search_path = ${scratchSchema}`);
    for (const name of files) await client.query(await readFile(`${migrationsDirectory}/${name}`, 'utf8'));
    for (const name of missing) await client.query(`alter table ${scratchSchema}.${name} set schema ${home}`);
    await client.query(`drop schema ${scratchSchema} cascade`);
  });
}
