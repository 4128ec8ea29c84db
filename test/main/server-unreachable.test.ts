import { join } from 'node:path';
import { expect, it } from 'vitest';
import { expectRefusal, within } from '../cli/command-line.ts';
import { isWithoutPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { createMigratedDatabase, withClient } from '../support/postgres.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** A command and a start tell in the server's own words why it takes no connection. */
const listAccounts = (DATABASE_URL: string) =>
  within({
    REELTALLY_DATA: join(temporaryDirectory(), 'data'),
    REELTALLY_SECRET: 'a secret that is long enough for a test',
    EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    DATABASE_URL,
    NATS_URL: 'nats://127.0.0.1:1',
  })('accounts', 'list');

const says = (words: string) =>
  new RegExp(
    `^reeltally: Postgres at 127\\.0\\.0\\.1:\\d+ \\(DATABASE_URL\\) cannot be used: it answers "${words}"\n$`,
  );

it('a user, a password, a database or one connection too many that Postgres refuses', async () => {
  await using database = await createMigratedDatabase();
  const role = new URL(database.url).pathname.slice(1);
  await withClient(database.url, (client) =>
    client.query(`create role ${role} login password 'service' connection limit 0`),
  );
  const as = (changed: Partial<URL>) => Object.assign(new URL(database.url), changed).href;
  const full = as({ username: role, password: 'service' });
  try {
    expectRefusal(await listAccounts(full), says(`too many connections for role "${role}"`));
    expectRefusal(
      await listAccounts(as({ username: role, password: 'wrong' })),
      says(`password authentication failed for user "${role}"`),
    );
    expectRefusal(await listAccounts(as({ pathname: '/none' })), says('database "none" does not exist'));
  } finally {
    await withClient(database.url, (client) => client.query(`drop role ${role}`));
  }
});

it.skipIf(isWithoutPgbouncer)('a setting of the address that a pooler does not know', async () => {
  await using database = await createMigratedDatabase();
  await using pooler = await startPgbouncer(database.url, []);
  const { stderr } = await listAccounts(`${pooler.url}?statement_timeout=1000`);
  expect(stderr).toMatch(says('unsupported startup parameter: statement_timeout'));
});
