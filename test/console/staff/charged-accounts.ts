import { issueInvoice } from '../../../src/commands/issue-invoice.ts';
import { newUuid } from '../../../src/system/clock-and-chance.ts';
import { endAndClose } from '../../commands/close-books.ts';
import { ask, downloadOf, freshToken, openUsage, writersOf } from '../../commands/usage-account.ts';
import type { UsageAccount } from '../../commands/usage-account.ts';
import type { Terms } from '../../../src/domain/plans.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { StaffOfFile } from './staff-of-file.ts';

export interface ChargedAccount extends UsageAccount {
  /** Of its downloads, in the order of their charges: the first one is charged at revision 1, the next at 3. */
  tokens: string[];
}

/** An account that the read models know, with so many downloads at 25 cents each. */
export async function chargedAccount(
  { commands: { store }, sql }: StaffOfFile,
  downloads: number,
  terms: Partial<Terms> = {},
): Promise<ChargedAccount> {
  const account = await openUsage(store, { downloads_limit: 0, overage_cents: 25, fee_cents: 0, ...terms });
  const writers = writersOf(store);
  const tokens = Array.from({ length: downloads }, freshToken);
  for (const token of tokens) await ask(writers, account, downloadOf(token));
  await waitFor(
    async () => (await sql('select from jobs where account_id = $1', [account.accountId])).length === downloads,
    { what: 'the downloads in the read model' },
  );
  return { ...account, tokens };
}

const december = '2026-12-01T00:00:00.000Z';

/** Closes the books of its first period, and invoices it: invoice 1. */
export async function closeAndInvoice(
  { commands: { store }, sql }: StaffOfFile,
  { accountId, stream, origin }: UsageAccount,
): Promise<void> {
  await endAndClose(store, { accountId, stream, origin }, december);
  const invoice = { stream, covers: 'period', actor: { type: 'system', id: 'test' }, timeoutMs: 10_000 } as const;
  await issueInvoice({ store, now: () => december, newUuid }, invoice);
  await waitFor(async () => (await sql('select from invoices where account_id = $1', [accountId])).length === 1, {
    what: 'the invoice in the read model',
  });
}
