import type { Command } from 'commander';
import { apiKeys, listAccountIds, listAccountsOfKey } from '../../../projections/api-keys.ts';
import { readNewestCredits } from '../../../projections/credits.ts';
import { notBelieved } from '../../../projections/credits-macs.ts';
import { listPeopleOfAddress, people } from '../../../projections/people.ts';
import { readAccount } from '../../commands/accounts.ts';
import { countActiveKeys } from '../../domain/account.ts';
import { accountIdPattern, accountStream } from '../../domain/account-events.ts';
import { readDocumentNumber } from '../../domain/document-number.ts';
import { parseAccountEvent } from '../../domain/parse-event.ts';
import { email } from '../../domain/plain-text.ts';
import { addPageOptions } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { type Columns, CommandFailed, rowsText } from '../output.ts';
import { type PageOptions, printPage, takePage } from '../pagination.ts';
import { createCountBar } from '../progress-bar.ts';
import { caughtUp } from '../wait-for-read-models.ts';
import { requireAccount } from './find-account-usage.ts';

export function addListAccounts(accounts: Command, run: RunCommand): void {
  addPageOptions(accounts.command('list').description('list all accounts, a page at a time'), 'account').action(
    (options: PageOptions) => run((cli) => listAccountsCommand(cli, options)),
  );
}

export function addFindAccounts(accounts: Command, run: RunCommand): void {
  addPageOptions(accounts.command('find').description('find accounts by id, e-mail address, key or invoice'), 'account')
    .argument(
      '<text>',
      'account id, e-mail address, its part up to the @ or from it on, start of a key, or number on an invoice',
    )
    .action((text: string, options: PageOptions) => run((cli) => findAccountsCommand(cli, text, options)));
}

/**
 * E-mail addresses stand in the log alone, under keys that can be deleted: the ids come from the read model, the rest from the
 * account's stream.
 */
async function listAccountsCommand(cli: CliDependencies, { limit, after }: PageOptions): Promise<void> {
  if (after !== undefined) await requireAccount(cli, after);
  const ids = await listAccountIds(cli.pool, { ...(after !== undefined && { after }), limit: limit + 1 });
  await printAccounts(cli, ids, limit);
}

/** By an account id or a document number that holds it, by a key or how it begins, or by the e-mail address of one of its people or by a part of its first one. */
async function findAccountsCommand(
  cli: CliDependencies,
  text: string,
  { limit, after = '' }: PageOptions,
): Promise<void> {
  if (after !== '') await requireAccount(cli, after);
  const behind = !(await caughtUp(cli, isWholeAddress(text) ? people : apiKeys));
  const ids = await findIds(cli, text, { limit: limit + 1, after });
  if (ids.length === 0 && after === '') {
    if (behind) throw new CommandFailed(`no account for ${text} is known yet: the projector is behind or away`, 2);
    throw new CommandFailed(
      `there is no account for ${text}: give an account id, an e-mail address, the start of a key or the number on an invoice`,
    );
  }
  await printAccounts(cli, ids, limit);
}

async function findIds(cli: CliDependencies, text: string, page: { limit: number; after: string }): Promise<string[]> {
  const id = readDocumentNumber(text)?.accountId ?? text;
  if (accountIdPattern.test(id)) {
    const { opened } = await readAccount(cli.store, id);
    return opened && id > page.after ? [id] : [];
  }
  if (isWholeAddress(text)) {
    const found = await listPeopleOfAddress(cli.pool, { email: text, macs: cli.macs, ...page });
    return found.map((person) => person.account_id);
  }
  if (text.includes('@')) return await findByPartOfEmail(cli, text.toLowerCase(), page);
  return await listAccountsOfKey(cli.pool, text, page);
}

const isWholeAddress = (text: string): boolean => email.safeParse(text).success;

/** How many accounts are searched at side by side. */
const atATime = 64;

/** By the address of whoever opened the account: one small read of the log for each account there is. */
async function findByPartOfEmail(
  { pool, store, output }: CliDependencies,
  part: string,
  { limit, after }: { limit: number; after: string },
): Promise<string[]> {
  const found: string[] = [];
  let last = after;
  let searched = 0;
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::float8 as count from account_heads where account_id > $1',
    [after],
  );
  const bar = createCountBar(output, 'accounts', rows[0]?.count ?? 0);
  for (;;) {
    const ids = await listAccountIds(pool, { after: last, limit: atATime });
    const emails = await Promise.all(
      ids.map(async (id) => {
        const [first] = await store.read(accountStream(id), 0, 1);
        const event = first && parseAccountEvent(first).event;
        return event?.type === 'AccountOpened' ? (event.data.personal?.email.toLowerCase() ?? '') : '';
      }),
    );
    found.push(...ids.filter((_id, index) => emails[index]?.includes(part)));
    searched += ids.length;
    bar.show(searched);
    const [next] = ids.slice(-1);
    if (next === undefined || ids.length < atATime || found.length >= limit) break;
    last = next;
  }
  bar.end();
  return found.slice(0, limit);
}

async function printAccounts(cli: CliDependencies, ids: readonly string[], limit: number): Promise<void> {
  const { rows, next } = takePage(ids, limit, (id) => id);
  const accounts = (await Promise.all(rows.map((id) => describeAccount(cli, id)))).flatMap((account) => account ?? []);
  printPage(cli.output, { accounts }, { next, text: rowsText(cli.output, accountColumns, accounts) });
}

type ListedAccount = NonNullable<Awaited<ReturnType<typeof describeAccount>>>;

const accountColumns: Columns<ListedAccount> = {
  account_id: 'account_id',
  plan: ({ plan }) => plan ?? '-',
  keys: 'active_keys',
  email: ({ email }) => email ?? 'erased',
};

async function describeAccount({ store, pool, macs }: CliDependencies, accountId: string) {
  const account = await readAccount(store, accountId);
  const { opened } = account;
  if (!opened) return undefined;
  const newest = await readNewestCredits(pool, accountId, macs);
  const usage = newest === undefined || newest === notBelieved ? undefined : newest.usage;
  return {
    account_id: accountId,
    email: opened.personal?.email ?? null,
    plan: usage !== undefined && usage.phase !== 'absent' ? usage.terms.plan : null,
    active_keys: countActiveKeys(account),
  };
}
