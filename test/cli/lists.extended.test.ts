import { beforeAll, describe, expect, it } from 'vitest';
import { noDownloads, ownService } from '../http/shared-service.ts';
import { type AccountWithDownloads, accountWithDownloads } from '../support/downloads.ts';
import { against, expectRefusal, expectText } from './command-line.ts';

/** What support looks for: accounts and downloads, a page at a time. */
const service = ownService(noDownloads);
const run = against(service);

interface Accounts {
  accounts: { account_id: string; email: string; plan: string; active_keys: number }[];
  next: string | null;
}
interface Jobs {
  jobs: { token: string; account_id: string; status: string; queued_at: string }[];
  next: string | null;
}

/** Of three accounts, the first has the downloads. */
let first: AccountWithDownloads;
const others: string[] = [];

beforeAll(async () => {
  first = await accountWithDownloads(service, Array<string>(5).fill('clip'), 'dev_100');
  for (let count = 0; count < 2; count += 1) others.push((await service.openAccount('dev_100')).accountId);
  // Until the last is in the read model.
  await service.cli('jobs', 'timeline', first.tokens.at(-1) ?? '');
  await service.cli('ledger', 'show', first.accountId);
});

const ids = ({ accounts }: Accounts) => accounts.map(({ account_id: id }) => id);

async function pagesOf<Page extends { next: string | null }>(...words: string[]): Promise<Page[]> {
  const pages: Page[] = [];
  for (let next: string | null = ''; next !== null;) {
    const page: Page = await service.cli<Page>(...words, ...(next === '' ? [] : ['--after', next]));
    pages.push(page);
    next = page.next;
  }
  return pages;
}

describe('accounts list', () => {
  it('has each account once, whatever the size of a page', async () => {
    const whole = await service.cli<Accounts>('accounts', 'list');
    expect(whole.next).toBeNull();
    expect(ids(whole)).toEqual(ids(whole).toSorted());
    expect(ids(whole)).toEqual(expect.arrayContaining([first.accountId, ...others]) as string[]);
    const pages = await pagesOf<Accounts>('accounts', 'list', '--limit', '2');
    expect(pages.flatMap(ids)).toEqual(ids(whole));
    expect(whole.accounts.find(({ account_id: id }) => id === first.accountId)).toMatchObject({
      plan: 'dev_100',
      active_keys: 1,
      email: expect.stringContaining('@') as string,
    });
  });

  it('says beside the rows how to get the next page', async () => {
    const { stdout, stderr } = await run('accounts', 'list', '--limit', '1');
    expect(stdout).toMatch(/^account_id +plan +keys +email\nacc_\w+ +\w+ +\d +\S+@\S+\n$/);
    expect(stderr).toBe(`there are more: add --after ${/acc_\w+/.exec(stdout)?.[0] ?? ''}\n`);
  });
});

describe('a page after an account that is none', () => {
  it.each([
    ['list', '--after', 'xx'],
    ['list', '--after', 'acc_aaaaaaaaaaaaaaaa'],
    ['find', '@example', '--after', 'xx'],
  ])('is refused: accounts %s %s %s', async (...words) => {
    expectRefusal(await run('accounts', ...words), /^reeltally: there is no account (xx|acc_a+)\n$/);
  });
});

describe('accounts find', () => {
  it('knows an account by its id, its e-mail address and the start of a key', async () => {
    const { cli } = service;
    const { account_id: own } = await cli<{ account_id: string }>(
      ...['accounts', 'open', '--email', 'Ada.Lovelace@Example.org', '--plan', 'sandbox'],
    );
    const { key, key_prefix: prefix } = await cli<{ key: string; key_prefix: string }>('keys', 'issue', own);
    for (const text of [own, 'ada.lovelace@example.org', 'lovelace@', prefix, key]) {
      expect(ids(await cli<Accounts>('accounts', 'find', text))).toEqual([own]);
    }
    await cli('people', 'invite', own, 'Charles.Babbage@Example.org');
    expect(ids(await cli<Accounts>('accounts', 'find', 'charles.babbage@example.org'))).toEqual([own]);
    const ofFirst = first.key.slice(0, prefix.length);
    expect(ids(await cli<Accounts>('accounts', 'find', ofFirst))).toEqual([first.accountId]);
    expectText(await run('accounts', 'find', own), /^acc_\w+ +sandbox +1 +Ada\.Lovelace@Example\.org$/m);
  });

  it.each(['nobody@example.org', 'rtk_nothing', 'acc_0000000000000000'])(
    'refuses what is nobody’s: %s',
    async (text) => {
      const ran = await run('accounts', 'find', text);
      // Beside the progress of the search.
      const said = ran.stderr.split('\n').filter((line) => line.startsWith('reeltally'));
      expectRefusal({ ...ran, stderr: said.join('\n') }, /there is no account/);
    },
  );
});

describe('jobs list', () => {
  const listed = ({ jobs }: Jobs) => jobs.map(({ token }) => token);

  it('has the newest first, by account, status and time, a page at a time', async () => {
    const { cli } = service;
    const { accountId } = first;
    const all = first.tokens.toReversed();
    const of = (...words: string[]) => cli<Jobs>('jobs', 'list', '--account', accountId, ...words);
    expect(listed(await of())).toEqual(all);
    expect(listed(await of('--status', 'queued'))).toEqual(all);
    expect(listed(await of('--status', 'done'))).toEqual([]);
    expect(listed(await cli<Jobs>('jobs', 'list', '--account', others[0] ?? ''))).toEqual([]);
    const { jobs } = await of();
    expect(listed(await of('--since', jobs[1]?.queued_at ?? ''))).toEqual(all.slice(0, 2));
    expect(listed(await of('--since', '2999-01-01'))).toEqual([]);
    const pages = await pagesOf<Jobs>('jobs', 'list', '--account', accountId, '--limit', '2');
    expect(pages.map((page) => page.jobs.length)).toEqual([2, 2, 1]);
    expect(pages.flatMap(listed)).toEqual(all);
    expectText(await run('jobs', 'list'), /^token +queued_at +status +platform +account +failure_reason\n/);
  });

  it('refuses what it cannot read', async () => {
    expectRefusal(await run('jobs', 'list', '--after', 'x'), /there is no job x/);
    for (const words of [
      ['--since', 'yesterday'],
      ['--limit', '0'],
      ['--status', 'lost'],
      ['--account', 'x'],
    ]) {
      const { code, stdout } = await run('jobs', 'list', ...words);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    }
  });
});
