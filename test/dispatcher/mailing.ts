import { beforeEach, onTestFinished } from 'vitest';
import { documentMails } from '../../projections/document-mails.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { createSmtpMailer } from '../../src/adapters/mailer.ts';
import { openAccount } from '../../src/commands/accounts.ts';
import { usageOrigin } from '../../src/commands/usage/usage-cache.ts';
import { startMailingDocuments } from '../../src/dispatcher/send-document-mails.ts';
import type { MailDependencies } from '../../src/dispatcher/send-mails.ts';
import { startMailingWarnings } from '../../src/dispatcher/send-warning-mails.ts';
import { usageStream } from '../../src/domain/billing-period.ts';
import type { PlanTerms } from '../../src/domain/plans.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { Mailer } from '../../src/ports/billing.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import {
  freshCause,
  midNovember,
  queueAll,
  readUsage,
  upFrom,
  type UsageAccount,
  writersOf,
} from '../commands/usage-account.ts';
import { plan } from '../domain/usage-examples.ts';
import { readModelsOfTest, silent, type TestReadModels } from '../projections/read-models-under-test.ts';
import { type ReceivedMail, startMailServer, type TestMailServer } from '../support/mail-server.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';

/** Read models with their projection running, and a mail server; fresh for each test, and gone with it. */
export interface Mailing {
  models: TestReadModels;
  server: TestMailServer;
  /** A dispatcher's part, as a process of its own would run it. */
  start: (changed?: Partial<MailDependencies>) => { stop: () => Promise<void> };
  /** The same, for invoices and credit notes. */
  startDocuments: (
    changed?: Partial<MailDependencies & Pick<Parameters<typeof startMailingDocuments>[0], 'readNote'>>,
  ) => { stop: () => Promise<void> };
  /** Stops the read models. */
  stopProjecting: () => Promise<void>;
}

const sender = 'billing@reeltally.test';

export function mailingUnderTest(log: { readonly store: EventStore }): Mailing {
  const parts: Partial<Mailing> = {};
  beforeEach(async () => {
    const models = await readModelsOfTest(log.store);
    const projecting = models.run(log.store, usageAndJobs, documentMails);
    const stopProjecting = async () => {
      await Promise.all(projecting.map((each) => each.close()));
    };
    const server = await startMailServer();
    onTestFinished(() => server.close());
    const given = (changed: Partial<MailDependencies>) => ({
      store: log.store,
      pool: models.pool,
      logger: silent,
      newUuid,
      now: () => midNovember,
      mailerId: newUuid(),
      taken: new Set<string>(),
      mailer: mailerTo(server),
      everyMs: 20,
      retryMs: 50,
      ...changed,
    });
    const stopped = (mailing: { stop: () => Promise<void> }) => {
      onTestFinished(() => mailing.stop());
      return mailing;
    };
    const publicUrl = () => 'https://reeltally.test';
    const start: Mailing['start'] = (changed = {}) =>
      stopped(startMailingWarnings({ ...given(changed), publicUrl, planNames: new Map() }));
    const startDocuments: Mailing['startDocuments'] = (changed = {}) =>
      stopped(startMailingDocuments({ ...given(changed), issuer: 'Tally & Co', publicUrl }));
    Object.assign(parts, { models, server, start, startDocuments, stopProjecting });
  });
  return parts as Mailing;
}

export const mailerTo = ({ url }: { url: string }): Mailer =>
  createSmtpMailer({ url, from: sender, timeoutMs: patienceMs });

const ownersOf = new WeakMap<UsageAccount, string>();
export const ownerOf = (account: UsageAccount): string => ownersOf.get(account) ?? '';

/** An account with an owner, on a plan of five downloads. */
export async function openOwned(store: EventStore, terms: Partial<PlanTerms> = {}): Promise<UsageAccount> {
  const email = `${newUuid()}@example.com`;
  const asked = { correlationId: newUuid(), actor: freshCause().actor, timeoutMs: patienceMs };
  const bought = { ...plan, downloads_limit: 5, metadata_limit: 5, warning_percents: [80, 100], ...terms };
  const dependencies = { store, now: () => midNovember, newUuid, newId, randomBits };
  const opened = await openAccount(dependencies, { email, terms: bought, ...asked });
  if (isRefused(opened)) throw new Error(opened.refusal);
  const { accountId } = opened;
  const stream = usageStream(accountId, { start: '2026-11-14T00:00:00.000Z' });
  const account = { accountId, stream, origin: usageOrigin(stream) };
  ownersOf.set(account, email);
  return account;
}

/** An account that has used so many of five downloads: four reach 80 %, five 100 %. */
export async function useDownloads(store: EventStore, count: number): Promise<UsageAccount> {
  const account = await openOwned(store);
  await queueAll(writersOf(store), account, upFrom(1, count));
  return account;
}

/** The Message-IDs that the log has for an account's warnings, in its order. */
export async function recordedIds(store: EventStore, { stream }: UsageAccount): Promise<string[]> {
  const stored = await readUsage(store, stream);
  return stored.flatMap(({ event }) => (event.type === 'UsageWarningMailed' ? [event.data.message_id] : []));
}

/** Waits until the log says of so many of an account's warnings that they are mailed. */
export function mailed(store: EventStore, account: UsageAccount, count: number): Promise<string[]> {
  return waitFor(
    async () => {
      const ids = await recordedIds(store, account);
      return ids.length >= count && ids;
    },
    { what: `${count} warnings of ${account.accountId} to be mailed` },
  );
}

/** Mails to the owner of an account. */
export const mailsTo = (mails: readonly ReceivedMail[], account: UsageAccount) =>
  mails.filter(({ to }) => to === ownerOf(account));
