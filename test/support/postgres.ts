import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestDatabase extends AsyncDisposable {
  url: string;
  /** Removes the database; whoever is still connected is cut off. */
  drop(): Promise<void>;
}

/** A new, empty database in the run's Postgres. Dropping it is polite, not necessary: the server goes when the run ends. */
export async function createDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name}`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  const drop = async (): Promise<void> => {
    await administer(`drop database if exists ${name} with (force)`);
  };
  return { url: url.href, drop, [Symbol.asyncDispose]: drop };
}

const administer = (statement: string) => withClient(inject('postgresUrl'), (client) => client.query(statement));

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
