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
  const drop = (): Promise<void> => administer(`drop database if exists ${name} with (force)`);
  return { url: url.href, drop, [Symbol.asyncDispose]: drop };
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
