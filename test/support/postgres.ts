import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { rowTypes } from '../../projections/runner/rows.ts';
import { migrate } from '../../src/adapters/postgres/migrations.ts';
import { stateSettings } from '../../src/adapters/postgres/session.ts';
import { migrationsDirectory } from '../../src/main/schema.ts';

export interface TestDatabase extends AsyncDisposable {
  url: string;
  /** Removes the database; whoever is still connected is cut off. */
  drop(): Promise<void>;
}

/**
 * A new database in the run's Postgres. Dropping it is polite, not necessary: the server goes when the run ends.
 *
 * @param template the database that it is a copy of, which nobody may use meanwhile; without one it is empty
 */
export async function createDatabase(template = 'template0'): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name} template ${template} strategy file_copy`);
  const url = new URL(urlOfRun());
  url.pathname = `/${name}`;
  const drop = async (): Promise<void> => {
    await administer(`drop database if exists ${name} with (force)`);
  };
  return { url: url.href, drop, [Symbol.asyncDispose]: drop };
}

/** A new database with the current schema: a copy of one that was migrated once for the run, which takes half the time. */
export const createMigratedDatabase = (): Promise<TestDatabase> => createDatabase(migratedTemplate);

const migratedTemplate = 'migrated_template';

/** For `createMigratedDatabase`; once for the run. */
export async function prepareMigratedDatabase(): Promise<void> {
  await administer(`drop database if exists ${migratedTemplate} with (force)`);
  await administer(`create database ${migratedTemplate}`);
  const url = new URL(urlOfRun());
  url.pathname = `/${migratedTemplate}`;
  await migrateDatabase(url.href);
  // A pooler keeps the connection, and nobody may use what is copied.
  await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${migratedTemplate}'`);
}

export async function migrateDatabase(url: string): Promise<void> {
  const pool = openTestPool(url);
  await migrate(pool, migrationsDirectory);
  await pool.end();
}

/** Set by global-setup.ts: the administrator's database in the run's Postgres. */
function urlOfRun(): string {
  const { TEST_POSTGRES } = process.env;
  if (TEST_POSTGRES === undefined)
    throw new Error('The Postgres of the run is started by test/support/global-setup.ts.');
  return TEST_POSTGRES;
}

/** One connection for all files of a process: to begin one costs as much as to copy a database. It is let go when it is idle. */
let administrator: pg.Pool | undefined;

async function administer(statement: string): Promise<void> {
  administrator ??= tolerant(new pg.Pool({ connectionString: urlOfRun(), max: 1, allowExitOnIdle: true }));
  await administrator.query(statement);
}

/** A connection with the settings that the service's own have; of a standby too. */
export async function connectClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, types: rowTypes });
  await client.connect();
  await stateSettings(client);
  return client;
}

export const openTestPool = (url: string): pg.Pool =>
  tolerant(
    new pg.Pool({
      connectionString: url,
      types: rowTypes,
      // eslint-disable-next-line @typescript-eslint/no-misused-promises -- the pool waits for it; only its types do not say so
      onConnect: (client) => {
        client.on('error', () => undefined);
        return stateSettings(client);
      },
    }),
  );

/**
 * A connection that the server ends while it is idle would end this process. The end of a pool does not wait for that of its
 * connections, so whoever drops the database next ends them.
 */
const tolerant = (pool: pg.Pool): pg.Pool => pool.on('error', () => undefined);

/** Opens a connection of its own for some work, and closes it. */
export async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = await connectClient(url);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** @param from a table, and a condition where one is wanted: `jobs where …` */
export async function countRows(client: pg.Pool | pg.ClientBase, from: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from ${from}`);
  return rows[0]?.count ?? 0;
}
