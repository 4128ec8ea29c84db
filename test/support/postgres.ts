import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase extends AsyncDisposable {
  url: string;
  /** Removes the database; whoever is still connected is cut off. */
  drop(): Promise<void>;
}

/** A new, empty database in the run's Postgres. Dropping it is polite, not necessary: the server goes when the run ends. */
export async function createDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name}`);
  const url = new URL(urlOfRun());
  url.pathname = `/${name}`;
  const drop = async (): Promise<void> => {
    await administer(`drop database if exists ${name} with (force)`);
  };
  return { url: url.href, drop, [Symbol.asyncDispose]: drop };
}

/** Set by global-setup.ts: the administrator's database in the run's Postgres. */
function urlOfRun(): string {
  const { TEST_POSTGRES } = process.env;
  if (TEST_POSTGRES === undefined)
    throw new Error('The Postgres of the run is started by test/support/global-setup.ts.');
  return TEST_POSTGRES;
}

const administer = (statement: string) => withClient(urlOfRun(), (client) => client.query(statement));

/** Opens a connection of its own for some work, and closes it. */
export async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
