import { afterAll, beforeAll, expect, it } from 'vitest';
import { installationOfFile } from '../support/installation.ts';
import { createDatabase, type TestDatabase, withClient } from '../support/postgres.ts';
import { readLog } from '../support/read-log.ts';
import { expectRefusal, within } from './command-line.ts';

/** Commands of a version that no process of the service has started yet. */
const installation = installationOfFile();
let empty: TestDatabase;

beforeAll(async () => {
  empty = await createDatabase();
});
afterAll(() => empty.drop());

const commands = [
  ['projections', 'status'],
  ['accounts', 'open', '--email', 'owner@example.com', '--plan', 'dev_100'],
  ['ledger', 'verify', '--json'],
];

it('say which migration the database lacks and what to do, and change nothing', async () => {
  const { DATABASE_URL, EVENTSTORE_URL } = installation.environment;
  await withClient(DATABASE_URL, async (client) => {
    await client.query('drop table refused_readers');
    await client.query("delete from schema_migrations where name = '0020-replaced-log.sql'");
  });
  const before = await readLog(EVENTSTORE_URL);
  for (const words of commands) {
    expectRefusal(
      await within(installation.environment)(...words),
      /^reeltally: The database lacks 0020-replaced-log\.sql.* start a process of it first.* Nothing was changed\.\n$/,
    );
    expectRefusal(
      await within({ ...installation.environment, DATABASE_URL: empty.url })(...words),
      /^reeltally: The database lacks 0001-/,
    );
  }
  expect(await readLog(EVENTSTORE_URL)).toEqual(before);
});
