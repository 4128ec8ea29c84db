import { LRUCache } from 'lru-cache';
import {
  type Account,
  type AccountCommand,
  type AccountRefusal,
  type ApiKey,
  type ChangeBillingDetails,
  decideAccount,
} from '../domain/account.ts';
import type { BillingDetails } from '../domain/billing-details.ts';
import { usageStream } from '../domain/billing-period.ts';
import { evolveUsage } from '../domain/evolve-usage.ts';
import { type Actor, parseUsageEvent } from '../domain/parse-event.ts';
import { type ActivePerson, findPerson, type Person } from '../domain/people.ts';
import type { PlanTerms } from '../domain/plans.ts';
import { isRefused, refuse, type Refused } from '../domain/refusals.ts';
import type { UsageEvent } from '../domain/usage-events.ts';
import { initialUsage, type Usage } from '../domain/usage-state.ts';
import type { EventStore } from '../ports/event-store.ts';
import { accountAggregate } from './handler/account-aggregate.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { ownCause } from './handler/event-metadata.ts';
import { type Aggregate, handle, load, type Loaded } from './handler/handle-command.ts';
import { newApiKey } from './ids/api-key.ts';
import { accountIdOf, keyIdOf } from './ids/reference-ids.ts';
import { issueInvoice } from './issue-invoice.ts';

export interface AccountDependencies extends CommandDependencies {
  newId: (prefix: 'acc' | 'key' | 'per') => string;
  randomBits: (bytes: number) => Buffer;
}

/** The caller of a command, and how long it waits. */
export interface AccountRequest {
  correlationId: string;
  actor: Actor;
  timeoutMs: number;
}

/**
 * Opens an account and its first billing period, and invoices the first fee. A reference stands for one account: repeated with
 * the same reference, the command completes an opening that a crash has interrupted, and changes nothing else.
 *
 * @returns the data that the account was opened with; they may differ from the request's if the reference has an account already
 */
export async function openAccount(
  dependencies: AccountDependencies,
  { email, terms, reference, ...request }: AccountRequest & Opening,
): Promise<{ accountId: string; email: string | null; plan: string } | Refused> {
  const accountId = reference === undefined ? dependencies.newId('acc') : accountIdOf(reference);
  const account = await command(dependencies, { kind: 'open_account', accountId, email, terms }, request);
  if (isRefused(account)) return account;
  const refused = await openFirstPeriod(dependencies, accountId, request);
  if (refused) return refused;
  if (!account.opened) throw new Error(`account ${accountId} was opened and is not there`);
  return { accountId, email: account.opened.personal?.email ?? null, plan: account.opened.terms.plan };
}

interface Opening extends OpeningInvoice {
  email: string;
  terms: PlanTerms;
  reference?: string | undefined;
}

interface OpeningInvoice {
  /** As in `InvoiceRequest`. */
  mails?: boolean;
}

/**
 * Completes an opening that a crash may have interrupted, with the first period and the invoice of the first fee. Does nothing if
 * both exist.
 */
export async function openFirstPeriod(
  dependencies: AccountDependencies,
  accountId: string,
  request: AccountRequest & OpeningInvoice,
): Promise<Refused | undefined> {
  const { opened } = await readAccount(dependencies.store, accountId);
  if (!opened) return refuse('account_not_found');
  const first: UsageEvent = {
    type: 'UsagePeriodOpened',
    data: {
      account_id: accountId,
      anchor_day: opened.anchor_day,
      period_start: opened.period_start,
      period_end: opened.period_end,
      previous_period_start: null,
      terms: { ...opened.terms, overage_cap_cents: null },
    },
  };
  const period: Aggregate<Usage, UsageEvent> = {
    stream: usageStream(accountId, { start: opened.period_start }),
    initial: () => initialUsage,
    parse: parseUsageEvent,
    evolve: evolveUsage,
  };
  const handled = await handle(dependencies.store, period, {
    decide: (state) => (state.phase === 'absent' ? [first] : []),
    cause: ownCause(dependencies.newUuid(), request.actor, request.correlationId),
    now: dependencies.now,
    timeoutMs: request.timeoutMs,
  });
  if (isRefused(handled)) return handled;
  await issueInvoice(dependencies, { stream: period.stream, covers: 'opening', ...request });
  return undefined;
}

export type IssuedKey = ApiKey & { key: string };

interface KeyRequest extends AccountRequest {
  accountId: string;
  label: string;
  /** Limit of the account's current terms. */
  maxKeys: number;
}

/** @throws {OutcomeUnknown} when the event may be stored, of a key that nobody will ever see */
export async function issueApiKey(
  dependencies: AccountDependencies,
  asked: KeyRequest,
): Promise<IssuedKey | Refused<AccountRefusal<'issue_key'>>> {
  const issued = await issueKey(dependencies, { ...asked, keyId: dependencies.newId('key') });
  if (isRefused(issued)) return issued;
  if (issued.key === null) throw new Error(`key ${issued.keyId} was drawn twice`);
  return { ...issued, key: issued.key };
}

/**
 * A reference stands for one key of an account. Only the command that issues the key shows it.
 *
 * @returns the key's data, without the key itself if an earlier command has issued it
 * @throws {OutcomeUnknown} as `issueApiKey` does
 */
export async function issueReferencedKey(
  dependencies: AccountDependencies,
  { reference, ...asked }: KeyRequest & { reference: string | undefined },
): Promise<(ApiKey & { key: string | null }) | Refused<AccountRefusal<'issue_key'>>> {
  const keyId = reference === undefined ? dependencies.newId('key') : keyIdOf(asked.accountId, reference);
  return await issueKey(dependencies, { ...asked, keyId });
}

async function issueKey(
  dependencies: AccountDependencies,
  { accountId, label, maxKeys, keyId, ...request }: KeyRequest & { keyId: string },
): Promise<(ApiKey & { key: string | null }) | Refused<AccountRefusal<'issue_key'>>> {
  const { key, keyHash, keyPrefix } = newApiKey(dependencies.randomBits);
  const issued = await command(
    dependencies,
    { kind: 'issue_key', accountId, keyId, keyHash, keyPrefix, label, maxKeys },
    request,
  );
  if (isRefused(issued)) return issued;
  const record = issued.keys.get(keyId);
  if (!record) throw new Error(`key ${keyId} was issued and is not there`);
  return { ...record, key: record.keyHash === keyHash ? key : null };
}

export async function revokeApiKey(
  dependencies: AccountDependencies,
  { accountId, keyId, ...request }: AccountRequest & { accountId: string; keyId: string },
): Promise<ApiKey | Refused<AccountRefusal<'revoke_key'>>> {
  const revoked = await command(dependencies, { kind: 'revoke_key', accountId, keyId }, request);
  if (isRefused(revoked)) return revoked;
  return revoked.keys.get(keyId) ?? refuse('key_not_found');
}

/** @returns the person with this address, who may have been invited before */
export async function invitePerson(
  dependencies: AccountDependencies,
  { accountId, email, ...request }: AccountRequest & { accountId: string; email: string },
): Promise<ActivePerson | Refused<AccountRefusal<'invite_person'>>> {
  const personId = dependencies.newId('per');
  const invited = await command(dependencies, { kind: 'invite_person', accountId, personId, email }, request);
  if (isRefused(invited)) return invited;
  const person = findPerson(invited.people, email);
  if (!person) throw new Error(`${personId} was invited and is not there`);
  return person;
}

export async function removePerson(
  dependencies: AccountDependencies,
  { accountId, personId, ...request }: AccountRequest & { accountId: string; personId: string },
): Promise<Person | Refused<AccountRefusal<'remove_person'>>> {
  const removed = await command(dependencies, { kind: 'remove_person', accountId, personId }, request);
  if (isRefused(removed)) return removed;
  return removed.people.get(personId) ?? refuse('person_not_found');
}

/** @param details those to change, in the form of `billingDetails`; the others stay @returns all of them, as they are now */
export async function changeBillingDetails(
  dependencies: AccountDependencies,
  { accountId, details, ...request }: AccountRequest & Omit<ChangeBillingDetails, 'kind'>,
): Promise<BillingDetails | Refused<AccountRefusal<'change_billing_details'>>> {
  const changed = await command(dependencies, { kind: 'change_billing_details', accountId, details }, request);
  return isRefused(changed) ? changed : changed.billing;
}

/** By somebody of the account; staff then close it (`close-account.ts`). */
export const requestClosing = (
  dependencies: AccountDependencies,
  { accountId, ...request }: AccountRequest & { accountId: string },
): Promise<Account | Refused<AccountRefusal<'request_closing'>>> =>
  command(dependencies, { kind: 'request_closing', accountId }, request);

/** Notes that somebody has signed in to the console. */
export const recordSignIn = (
  dependencies: CommandDependencies,
  {
    accountId,
    personId,
    browser,
    ...request
  }: AccountRequest & { accountId: string; personId: string; browser: string },
): Promise<Account | Refused> => command(dependencies, { kind: 'sign_in', accountId, personId, browser }, request);

/** The second step of closing an account: revokes its keys and signs its people out. */
export const recordClosing = (
  dependencies: CommandDependencies,
  { accountId, ...request }: AccountRequest & { accountId: string },
): Promise<Account | Refused> => command(dependencies, { kind: 'close_account', accountId }, request);

/** Accounts as they were read last. */
export type AccountCache = LRUCache<string, Loaded<Account>>;

export const newAccountCache = (): AccountCache => new LRUCache({ max: 2_000 });

/**
 * The account as it is now: keys, people, billing details.
 *
 * @param cache for somebody who asks again and again: only what is new is read
 */
export async function readAccount(store: EventStore, accountId: string, cache?: AccountCache): Promise<Account> {
  const known = cache?.get(accountId);
  const loaded = await load(store, { ...accountAggregate(accountId), ...(known && { known }) });
  if (loaded.revision > (known?.revision ?? -1)) cache?.set(accountId, loaded);
  return loaded.state;
}

async function command<Kind extends AccountCommand['kind']>(
  dependencies: CommandDependencies,
  asked: Extract<AccountCommand, { kind: Kind }>,
  request: AccountRequest,
): Promise<Account | Refused<AccountRefusal<Kind>>> {
  const handled = await handle(dependencies.store, accountAggregate(asked.accountId), {
    decide: (state, now) => decideAccount(state, asked, now),
    cause: ownCause(dependencies.newUuid(), request.actor, request.correlationId),
    now: dependencies.now,
    timeoutMs: request.timeoutMs,
  });
  // The types of the decisions say which command is refused for what; `handle` does not know it.
  return isRefused(handled) ? (handled as Refused<AccountRefusal<Kind>>) : handled.state;
}
