import { withClient } from '../support/postgres.ts';

/**
 * Puts a function of our own before Postgres's `clock_timestamp` for the next connections to a database, so that its clock can be set
 * while processes run.
 *
 * @returns sets it ahead by as many seconds
 */
export async function settablePostgresClock(databaseUrl: string): Promise<(aheadSeconds: number) => Promise<void>> {
  await withClient(databaseUrl, (client) =>
    client.query(`
      create schema set_clock;
      create table set_clock.ahead (seconds float8 not null);
      insert into set_clock.ahead values (0);
      create function set_clock.clock_timestamp() returns timestamptz volatile language sql as
        'select pg_catalog.clock_timestamp() + (select seconds from set_clock.ahead) * interval ''1 second''';
      do $$ begin execute format('alter database %I set search_path = public, set_clock, pg_catalog', current_database()); end $$;
    `),
  );
  return async (aheadSeconds) => {
    await withClient(databaseUrl, (client) => client.query('update set_clock.ahead set seconds = $1', [aheadSeconds]));
  };
}
