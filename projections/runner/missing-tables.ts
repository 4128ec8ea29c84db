import { readFile, readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { PoolClient } from 'pg';

/** Of these tables, those that are not there. */
export async function findMissingTables(
  client: Pick<PoolClient, 'query'>,
  tables: readonly string[],
): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select name from unnest($1::text[]) name where to_regclass(name) is null',
    [tables],
  );
  return rows.map(({ name }) => name);
}

const migrationsDirectory = fileURLToPath(new URL('../migrations', import.meta.url));
const workshop = 'missing_tables';

/**
 * Makes tables that are not there, empty, as the migrations have them: all migrations run in a schema of their own, and what
 * is missing is moved from there, with its keys and indexes.
 */
export async function createMissingTables(tables: readonly string[], client: PoolClient): Promise<void> {
  const missing = await findMissingTables(client, tables);
  if (missing.length === 0) return;
  const { rows } = await client.query<{ home: string }>('select quote_ident(current_schema()) as home');
  const home = rows[0]?.home ?? '';
  const files = (await readdir(migrationsDirectory)).filter((name) => name.endsWith('.sql')).sort();
  await client.query('begin');
  try {
    await client.query(`drop schema if exists ${workshop} cascade; create schema ${workshop}`);
    await client.query(`set local search_path = ${workshop}`);
    for (const name of files) await client.query(await readFile(`${migrationsDirectory}/${name}`, 'utf8'));
    for (const name of missing) await client.query(`alter table ${workshop}.${name} set schema ${home}`);
    await client.query(`drop schema ${workshop} cascade`);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
