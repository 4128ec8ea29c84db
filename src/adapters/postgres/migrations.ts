import { readFile, readdir } from 'node:fs/promises';
import type { Pool } from 'pg';

/** Keeps two processes from migrating at once. Any number will do that other programs do not use. */
const migrationLock = 7_325_001;

const undefinedTable = '42P01';

const migrationsIn = async (directory: string): Promise<string[]> =>
  (await readdir(directory)).filter((name) => /^\d{4}-[\w-]+\.sql$/.test(name)).sort();

/** The migrations that the database lacks, in order. */
export async function missingMigrations(pool: Pool, directory: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>('select name from schema_migrations').catch((error: unknown) => {
    if ((error as { code?: string }).code !== undefinedTable) throw error;
    return { rows: [] };
  });
  const applied = new Set(rows.map(({ name }) => name));
  return (await migrationsIn(directory)).filter((name) => !applied.has(name));
}

/** Applies the numbered migrations, each once, in order, and in a transaction of its own. @returns the newly applied ones */
export async function migrate(pool: Pool, directory: string): Promise<string[]> {
  const files = await migrationsIn(directory);
  const client = await pool.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [migrationLock]);
    await client.query(
      'create table if not exists schema_migrations (name text primary key, applied_at timestamptz not null default now())',
    );
    const { rows } = await client.query<{ name: string }>('select name from schema_migrations');
    const applied = new Set(rows.map(({ name }) => name));
    for (const { name } of rows) {
      if (!files.includes(name))
        throw new Error(`the database has migration ${name}, which this version does not know: it is newer`);
    }
    const fresh = files.filter((name) => !applied.has(name));
    for (const name of fresh) {
      await client.query('begin');
      await client.query(await readFile(`${directory}/${name}`, 'utf8'));
      await client.query('insert into schema_migrations (name) values ($1)', [name]);
      await client.query('commit');
    }
    return fresh;
  } finally {
    // Ends the session, and with it the lock and an open transaction of a failed migration.
    client.release(true);
  }
}
