import { randomUUID } from 'node:crypto';
import { issueInvoice } from '../../../src/commands/issue-invoice.ts';
import { recordJobProgress } from '../../../src/commands/record-job-progress.ts';
import type { JobCommand } from '../../../src/domain/download-job.ts';
import type { Fault } from '../../../src/domain/download-job-events.ts';
import type { FailureReason } from '../../../src/domain/failure-reasons.ts';
import type { Terms } from '../../../src/domain/plans.ts';
import { isRefused } from '../../../src/domain/refusals.ts';
import { newId, newUuid } from '../../../src/system/clock-and-chance.ts';
import { endAndClose } from '../../commands/close-books.ts';
import { ask, downloadOf, openUsage, type UsageAccount, writersOf } from '../../commands/usage-account.ts';
import { queue } from '../../support/downloads.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import type { Staff } from './staff-of.ts';

export interface ChargedAccount extends UsageAccount {
  /** Of its downloads, in the order of their charges: the first one is charged at revision 1, the next at 3. */
  tokens: string[];
}

/** In the form by which streams of jobs are known. */
const newToken = () => `A${randomUUID().replaceAll('-', '').slice(1)}`;

/** An account that the read models know, with so many downloads at 25 cents each. */
export async function chargedAccount(
  { commands: { store }, sql }: Staff,
  downloads: number,
  terms: Partial<Terms> = {},
): Promise<ChargedAccount> {
  const account = await openUsage(store, { downloads_limit: 0, overage_cents: 25, fee_cents: 0, ...terms });
  const writers = writersOf(store);
  const tokens = Array.from({ length: downloads }, newToken);
  for (const token of tokens) await ask(writers, account, downloadOf(token));
  await waitFor(
    async () => (await sql('select from jobs where account_id = $1', [account.accountId])).length === downloads,
    { what: 'the downloads in the read model' },
  );
  return { ...account, tokens };
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
  { accountId, stream, tokens }: ChargedAccount,
  {
    reason = 'private_video',
    fault = 'video',
    which = tokens,
  }: { reason?: FailureReason; fault?: Fault; which?: readonly string[] } = {},
): Promise<void> {
  const workerId = newId('wrk');
  const cause = { correlationId: newUuid(), causationId: newUuid(), actor: { type: 'system', id: workerId } } as const;
  for (const token of which) {
    const usageRevision = 2 + 2 * tokens.indexOf(token);
    const step = async (command: JobCommand) => {
      const step = await recordJobProgress({ store, now, newUuid }, command, { ...cause, timeoutMs: patienceMs });
      if (isRefused(step)) throw new Error(`refused: ${step.refusal}`);
      return step.revision;
    };
    const revision = await step({ kind: 'claim', token, workerId, accountId, usageStream: stream, usageRevision });
    const claim = { workerId, revision };
    await step({ kind: 'start', token, claim });
    await step({ kind: 'give_up', token, claim, reason, fault });
  }
  const failed = async () =>
    (await sql("select from jobs where token = any($1) and status = 'failed'", [[...which]])).length;
  await waitFor(async () => (await failed()) === which.length, {
    what: 'the failures in the read model',
  });
}
