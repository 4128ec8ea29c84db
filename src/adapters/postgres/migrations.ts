import { readdir, readFile } from 'node:fs/promises';
import type { Pool, PoolClient } from 'pg';
import type { Logger } from 'pino';
import { sleep } from '../../async/sleep.ts';
import { isLockFailure } from '../../ports/service-parts.ts';

/** Keeps two processes from migrating at once. Any number will do that other programs do not use. */
const migrationLock = 7_325_001;

const undefinedTable = '42P01';
/** While a migration waits for a table that others use, every request for that table waits behind it: so no attempt is long. */
const lockTimeoutMs = 1_000;
const pauseMs = 500;
/** The longest that a timer can be: a migration of a large database takes as long as it takes. */
const query_timeout = 2 ** 31 - 1;

type Run = (text: string, values?: unknown[]) => Promise<unknown>;

const migrationsIn = async (directory: string): Promise<string[]> =>
  (await readdir(directory)).filter((name) => /^\d{4}-[\w-]+\.sql$/.test(name)).sort();

/** Compares a database with the migrations of this version, both in order. */
async function compare(connection: Pick<Pool, 'query'>, directory: string) {
  const read = connection.query<{ name: string }>('select name from schema_migrations order by name');
  const { rows } = await read.catch(async (error: unknown) => {
    if ((error as { code?: string }).code !== undefinedTable) throw error;
    await refuseOtherSchema(connection);
    return { rows: [] };
  });
  const applied = rows.map(({ name }) => name);
  const known = await migrationsIn(directory);
  return {
    missing: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  };
}

/** Else another `search_path` of the role or the database would begin a second, empty set of tables beside the one in use. */
async function refuseOtherSchema(connection: Pick<Pool, 'query'>): Promise<void> {
  const { rows } = await connection.query<{ schema: string; path: string }>(
    `select relnamespace::regnamespace::text as schema, current_setting('search_path') as path
     from pg_class where relname = 'schema_migrations' and relkind = 'r'
       and relnamespace::regnamespace::name <> all(current_schemas(true))`,
  );
  const [found] = rows;
  if (found)
    throw new Error(`its tables are in the schema ${found.schema}, which is not in the search_path (${found.path})`);
}

/** The migrations that the database lacks, in order. */
export const missingMigrations = async (pool: Pool, directory: string): Promise<string[]> =>
  (await compare(pool, directory)).missing;

/** As `missingMigrations`. @throws for a database that a newer version has migrated */
async function missingHere(connection: Pick<Pool, 'query'>, directory: string): Promise<string[]> {
  const { missing, unknown } = await compare(connection, directory);
  if (unknown[0] === undefined) return missing;
  throw new Error(`the database has migration ${unknown[0]}, which this version does not know: it is newer`);
}

/**
 * Applies the numbered migrations, each once, in order, and in a transaction of its own.
 *
 * @returns the newly applied ones
 * @throws for a database that a newer version has migrated
 */
export async function migrate(pool: Pool, directory: string, logger?: Logger): Promise<string[]> {
  // A start that has nothing to migrate waits for no lock.
  if ((await missingHere(pool, directory)).length === 0) return [];
  const client = await pool.connect();
  try {
    return await migrateAlone(client, directory, logger);
  } finally {
    // Ends the session, and with it the lock and an open transaction of a failed migration.
    client.release(true);
  }
}

async function migrateAlone(client: PoolClient, directory: string, logger: Logger | undefined): Promise<string[]> {
  const run: Run = (text, values) => {
    // Known to the client, and not to its types.
    const query = { text, ...(values && { values }), query_timeout };
    return client.query(query);
  };
  await run('set statement_timeout = 0');
  await run('select pg_advisory_lock($1)', [migrationLock]);
  await run(
    'create table if not exists schema_migrations (name text primary key, applied_at timestamptz not null default now())',
  );
  const missing = await missingHere(client, directory);
  for (const name of missing) {
    logger?.info({ migration: name }, 'the database is being migrated');
    const statements = await readFile(`${directory}/${name}`, 'utf8');
    for (let waits = false; !(await hasApplied(name, statements, run)); waits = true) {
      if (!waits) logger?.warn({ migration: name }, 'a migration waits for tables that others use');
      await sleep(pauseMs);
    }
  }
  return missing;
}

/** @returns false where others held a lock for too long; then nothing has changed */
async function hasApplied(name: string, statements: string, run: Run): Promise<boolean> {
  try {
    await run('begin');
    await run(`set local lock_timeout = ${String(lockTimeoutMs)}`);
    await run(statements);
    await run('insert into schema_migrations (name) values ($1)', [name]);
    await run('commit');
    return true;
  } catch (error) {
    if (!isLockFailure(error)) throw error;
    await run('rollback');
    return false;
  }
}
