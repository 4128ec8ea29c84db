import { execFile } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { withPersonalData } from '../../src/adapters/event-store/personal-data.ts';
import { createErasures } from '../../src/adapters/postgres/erasures.ts';
import { createPersonalKeys } from '../../src/adapters/postgres/personal-keys.ts';
import { recordSignIn } from '../../src/commands/accounts.ts';
import { openerOf } from '../../src/domain/people.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { booksOfFile } from '../cli/books.ts';
import { expectRefusal } from '../cli/command-line.ts';
import { testSecrets } from '../projections/read-models-under-test.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const { log, models, cli, run, laterBy, environment } = booksOfFile({ feeCents: 1900 });
const month = 31 * 24;
/** Words that stand nowhere else. */
const word = () => newUuid().replaceAll('-', '').slice(0, 20);
const secretWords = { email: word(), person: word(), name: word(), street: word(), taxId: word(), label: word() };
const { email, person, name, street, taxId, label } = secretWords;

let account: string;
let before: Record<string, unknown>;

/** Its three invoices, a credit note, people, a key, details and a sign-in; then it is closed, and its last period invoiced. */
beforeAll(async () => {
  const opened = ['accounts', 'open', '--email', `${email}@example.com`, '--plan', 'test'];
  ({ account_id: account } = await cli<{ account_id: string }>(...opened));
  await cli('keys', 'issue', account, '--label', label);
  await cli('people', 'invite', account, `${person}@example.com`);
  await cli(
    ...['accounts', 'billing', account, '--name', name, '--address-line', street, '--country', 'DE', '--tax-id', taxId],
  );
  await recordSignIn(
    { store: openLog(), now: () => new Date().toISOString(), newUuid },
    { accountId: account, personId: openerOf(account), browser: 'Firefox', ...byPerson() },
  );
});

const openLog = () => withPersonalData(log.store, createPersonalKeys(models.pool, testSecrets));
const byPerson = () => ({
  correlationId: newUuid(),
  actor: { type: 'owner', id: openerOf(account) } as const,
  timeoutMs: 5_000,
});
const erase = (at = 5 * month) =>
  laterBy(at)('accounts', 'erase', account, '--reason', 'asked for by its owner', '--json');
const json = ({ code, stdout, stderr }: Awaited<ReturnType<typeof run>>): Record<string, unknown> => {
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
};

describe('accounts erase', () => {
  it('refuses an account that is not closed, and one whose last period is not invoiced', async () => {
    expectRefusal(await run('accounts', 'erase', account, '--reason', 'r'), /is not closed/);
    for (const at of [month, month + 2, 2 * month, 2 * month + 2]) {
      await laterBy(at)('invoices', 'issue-due');
      await models.caughtUp();
    }
    await cli(
      'invoices',
      'credit',
      account,
      '1',
      '--line',
      '1',
      '--cents',
      '100',
      '--reference',
      'case-1',
      '--reason',
      'r',
      '--by',
      'R. Example',
    );
    await laterBy(3 * month)('accounts', 'close', account, '--reason', 'asked for');
    expectRefusal(await erase(3 * month), /is not invoiced yet/);
    await laterBy(3 * month + 2)('invoices', 'issue-due');
    await laterBy(3 * month + 4)('invoices', 'issue-due');
    await models.caughtUp();
  });

  it('erases once, keeps billing details for documents, and says so', async () => {
    before = json(await run('log', 'export', join(temporaryDirectory(), 'before.ndjson'), '--json'));
    const answer = json(await erase());
    expect(answer).toMatchObject({ account_id: account, erased: true, changed: true, events_in_clear: 0 });
    expect(answer['documents_until']).toMatch(/^20\d\d-01-01T00:00:00.000Z$/);
    expect(json(await erase())).toMatchObject({ changed: false, documents_until: answer['documents_until'] });
    const { rows } = await models.pool.query('select kind from personal_keys where subject = $1', [account]);
    expect(rows).toEqual([{ kind: 'documents' }]);
  });

  it('leaves invoices with what is kept, and nothing else of the account', async () => {
    const { billed_to: billedTo } = await cli<{ billed_to: object }>('invoices', 'show', account, '2');
    expect(billedTo).toMatchObject({ name, tax_id: taxId, email: null });
    expect(await cli('accounts', 'show', account)).toMatchObject({ email: null, erased: true });
    expect(await cli('people', 'list', account)).toMatchObject({ people: [] });
    expect(await cli('keys', 'list', account)).toMatchObject({ keys: [{ label: '' }] });
    expectRefusal(await run('accounts', 'find', `${email}@example.com`), /there is no account/);
  });

  it('refuses every change after it', async () => {
    expectRefusal(await run('people', 'invite', account, 'a@example.com'), /is erased/);
    expectRefusal(await run('accounts', 'billing', account, '--name', 'A'), /erased/);
  });

  it('leaves the audit and a rebuild as they were', async () => {
    const verified = json(await run('ledger', 'verify', '--json'));
    expect(verified['divergences']).toEqual([]);
    const rebuilt = await run('projections', 'rebuild', 'all', '--json');
    expect(rebuilt.code).toBe(0);
    expect(rebuilt.stdout).not.toMatch(/"(?:missing|surplus|different)": [1-9]/);
    expect(json(await run('ledger', 'verify', '--json'))['divergences']).toEqual([]);
  });

  it('takes the keys again from a Postgres of before, by the log', async () => {
    const erasures = createErasures(models.pool);
    await createPersonalKeys(models.pool, testSecrets).make({ subject: account, kind: 'personal' });
    expect(await erasures.deleteErased(new Date().toISOString())).toBe(1);
    expect(await erasures.deleteErased(new Date().toISOString())).toBe(0);
  });

  it('erases what documents show once its time is over', async () => {
    expect(await createErasures(models.pool).deleteErased('2100-01-01T00:00:00.000Z')).toBe(1);
    const { billed_to: billedTo } = await cli<{ billed_to: object }>('invoices', 'show', account, '2');
    expect(billedTo).toMatchObject({ name: null, tax_id: null, email: null });
    expect(json(await run('ledger', 'verify', '--json'))['divergences']).toEqual([]);
  });

  it('leaves no byte of it in the event store, in Postgres, and in exports of before and after', async () => {
    await models.pool.query('checkpoint');
    const { rows } = await models.pool.query<{ pid: number }>('select pg_backend_pid() as pid');
    // Each of its processes works in the data folder.
    const directory = readlinkSync(`/proc/${String(rows[0]?.pid)}/cwd`);
    const file = join(temporaryDirectory(), 'after.ndjson');
    const after = json(await run('log', 'export', file, '--json'));
    expect(after['head']).not.toBe(before['head']);
    const places = [directory, file, environment()['REELTALLY_DATA'] ?? ''];
    // What is searched for would be found: the account's id is in all of them.
    const withId = await filesWith([account], places.slice(0, 2));
    expect(withId).toEqual(expect.arrayContaining([file, expect.stringContaining(directory)]));
    expect(await filesWith(Object.values(secretWords), places)).toEqual([]);
    const stored = (await log.store.readAll(-1n, 10_000)).map(({ data, metadata }) => JSON.stringify([data, metadata]));
    for (const each of Object.values(secretWords)) expect(stored.filter((text) => text.includes(each))).toEqual([]);
  });

  it('leaves it to the audit to name a key that was lost, and not erased', async () => {
    const open = ['accounts', 'open', '--email', 'lost@example.com', '--plan', 'test'];
    const { account_id: lost } = await cli<{ account_id: string }>(...open);
    await models.caughtUp();
    await models.pool.query('delete from personal_keys where subject = $1', [lost]);
    const { code, stdout } = await run('ledger', 'verify', '--json');
    expect(code).not.toBe(0);
    const { divergences } = JSON.parse(stdout) as { divergences: object[] };
    expect(divergences).toMatchObject([{ account_id: lost }]);
    expect(stdout).toContain('personal_key');
  });
});

/** Each word as it is, in base64 at each of the three places in a group, and in hexadecimal. */
const formsOf = (text: string): string[] => [
  text,
  Buffer.from(text).toString('hex'),
  ...[0, 1, 2].map((shift) =>
    Buffer.from('x'.repeat(shift) + text)
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  ),
];

async function filesWith(words: readonly string[], places: readonly string[]): Promise<string[]> {
  const patterns = words.flatMap(formsOf).flatMap((form) => ['-e', form]);
  const { stdout } = await promisify(execFile)('grep', ['-rlaF', ...patterns, ...places]).catch((error: unknown) => {
    const { code, stdout = '' } = error as { code?: unknown; stdout?: string };
    // 1: nothing was found; 2: a file of Postgres went while it was read.
    if (code === 1 || code === 2) return { stdout };
    throw error;
  });
  return stdout.split('\n').filter((line) => line !== '');
}
