import { expect, it, onTestFinished } from 'vitest';
import { withPersonalData } from '../../src/adapters/event-store/personal-data.ts';
import { createErasures } from '../../src/adapters/postgres/erasures.ts';
import { createPersonalKeys, personalKeysAsSql } from '../../src/adapters/postgres/personal-keys.ts';
import { readAccount } from '../../src/commands/accounts.ts';
import { startErasing } from '../../src/dispatcher/erase-personal-data.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { booksOfFile } from '../cli/books.ts';
import { createReadModels, rememberingLogger, testSecrets } from '../projections/read-models-under-test.ts';
import { waitFor } from '../support/wait-for.ts';

const { log, models, cli, laterBy } = booksOfFile();
const weeks = 7 * 24;

const openLog = () => withPersonalData(log.store, createPersonalKeys(models.pool, testSecrets));

async function closedAccount(): Promise<string> {
  const open = ['accounts', 'open', '--email', 'erna@example.com', '--plan', 'test'];
  const { account_id: account } = await cli<{ account_id: string }>(...open);
  await cli('accounts', 'close', account, '--reason', 'asked for');
  await laterBy(weeks)('invoices', 'issue-due');
  await models.caughtUp();
  return account;
}

/** The loop of the dispatcher, for the running test. */
function erasing(note: { text?: string }) {
  const { logger } = rememberingLogger();
  const loop = startErasing({
    store: openLog(),
    now: () => new Date().toISOString(),
    newUuid,
    logger,
    everyMs: 20,
    erasures: createErasures(models.pool),
    documentRetentionYears: 10,
    files: {
      readNote: () => Promise.resolve(note.text),
      keepNote: (_name, text) => Promise.resolve(void (note.text = text)),
    },
  });
  onTestFinished(() => loop.stop());
}

const kindsOf = async (account: string) =>
  (await models.pool.query<{ kind: string }>('select kind from personal_keys where subject = $1', [account])).rows;

it('deletes keys that an older Postgres has brought back, and notes who was erased', async () => {
  const account = await closedAccount();
  const before = await personalKeysAsSql(models.pool);
  await laterBy(weeks)('accounts', 'erase', account, '--reason', 'asked for');
  await models.caughtUp();
  await models.pool.query(before);
  expect(await kindsOf(account)).toEqual([{ kind: 'personal' }]);
  const note: { text?: string } = {};
  erasing(note);
  await waitFor(async () => (await kindsOf(account)).length === 0, { what: 'the key to go again' });
  await waitFor(() => Promise.resolve(note.text?.includes(account) === true), { what: 'the account to be noted' });
});

it('erases an account again that was erased before the log was restored', async () => {
  const account = await closedAccount();
  const note = { text: `${account}\nacc_aaaaaaaaaaaaaaaaaaaa\n` };
  erasing(note);
  await waitFor(async () => (await readAccount(openLog(), account)).erased, { what: 'the account to be erased' });
  await waitFor(async () => (await kindsOf(account)).length === 0, { what: 'its key to go' });
});

it('gives the keys of an export to a database without tables, and with them', async () => {
  const account = await closedAccount();
  const sql = await personalKeysAsSql(models.pool);
  await using others = await createReadModels();
  for (const prepare of ['drop table personal_keys', 'select', 'select']) {
    await others.pool.query(prepare);
    await others.pool.query(sql);
  }
  const moved = withPersonalData(log.store, createPersonalKeys(others.pool, testSecrets));
  const { opened } = await readAccount(moved, account);
  expect(opened?.personal).toEqual({ email: 'erna@example.com' });
});
