import { randomUUID } from 'node:crypto';
import { issueInvoice } from '../../../src/commands/issue-invoice.ts';
import type { Fault } from '../../../src/domain/download-job-events.ts';
import type { FailureReason } from '../../../src/domain/failure-reasons.ts';
import type { Terms } from '../../../src/domain/plans.ts';
import { newUuid } from '../../../src/system/clock-and-chance.ts';
import { type ChargedAccount, chargeDownloads, failDownload } from '../../commands/charged-account.ts';
import { endAndClose } from '../../commands/close-books.ts';
import { openUsage, type UsageAccount, writersOf } from '../../commands/usage-account.ts';
import { queue } from '../../support/downloads.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import type { Staff } from './staff-of.ts';

/** An account that the read models know, with so many downloads at 25 cents each. */
export async function chargedAccount(
  { commands: { store }, sql }: Staff,
  downloads: number,
  terms: Partial<Terms> = {},
): Promise<ChargedAccount> {
  const opened = await openUsage(store, { downloads_limit: 0, overage_cents: 25, fee_cents: 0, ...terms });
  const account = await chargeDownloads(writersOf(store), opened, { downloads });
  await waitFor(
    async () => (await sql('select from jobs where account_id = $1', [account.accountId])).length === downloads,
    { what: 'the downloads in the read model' },
  );
  return account;
}

export interface QueuedAccount {
  accountId: string;
  /** Of its downloads, in the order of their charges. */
  tokens: string[];
}

/** The same by the command line and the API: an account of plan dev_100 in its first period, $0.25 for each download more. */
export async function queuedAccount(
  { installation: { cli, sampleUrl }, api, openAccount, sql }: Staff,
  { downloads, inPlan = 0 }: { downloads: number; inPlan?: number },
): Promise<QueuedAccount> {
  const accountId = await openAccount(`charged-${randomUUID()}@example.com`, 'dev_100');
  await cli(['accounts', 'terms', accountId, '--downloads', String(inPlan), '--hourly', '500']);
  const { key } = await cli<{ key: string }>(['keys', 'issue', accountId]);
  const tokens: string[] = [];
  for (let at = 0; at < downloads; at += 1)
    tokens.push((await queue(api.url, key, { url: sampleUrl('bars') })).request_token);
  const jobs = async () => (await sql('select from jobs where account_id = $1', [accountId])).length;
  await waitFor(async () => (await jobs()) === downloads, { what: 'the downloads in the read model' });
  return { accountId, tokens };
}

const december = '2026-12-01T00:00:00.000Z';

/** Closes the books of its first period, and invoices it: invoice 1. */
export async function closeAndInvoice(
  { commands: { store }, sql }: Staff,
  { accountId, stream, origin }: UsageAccount,
): Promise<void> {
  await endAndClose(store, { accountId, stream, origin }, december);
  const invoice = { stream, covers: 'period', actor: { type: 'system', id: 'test' }, timeoutMs: patienceMs } as const;
  await issueInvoice({ store, now: () => december, newUuid }, invoice);
  await waitFor(async () => (await sql('select from invoices where account_id = $1', [accountId])).length === 1, {
    what: 'the invoice in the read model',
  });
}

/** A worker gives up these downloads of an account, for a reason that is not tried again. */
export async function failDownloads(
  { commands: { store, now }, sql }: Staff,
  account: ChargedAccount,
  {
    reason = 'private_video',
    fault = 'video',
    which = account.tokens,
  }: { reason?: FailureReason; fault?: Fault; which?: readonly string[] } = {},
): Promise<void> {
  for (const token of which) await failDownload({ store, now }, account, { token, reason, fault });
  const failed = async () =>
    (await sql("select from jobs where token = any($1) and status = 'failed'", [[...which]])).length;
  await waitFor(async () => (await failed()) === which.length, {
    what: 'the failures in the read model',
  });
}
