import pMap from 'p-map';
import {
  type AccountDependencies,
  invitePerson,
  issueReferencedKey,
  openAccount,
  readAccount,
  removePerson,
  revokeApiKey,
} from '../commands/accounts.ts';
import { changeTerms, type TermsChange } from '../commands/change-terms.ts';
import { closePeriod } from '../commands/close-period.ts';
import { giveBack } from '../commands/give-back.ts';
import { ownCause } from '../commands/handler/event-metadata.ts';
import { load } from '../commands/handler/handle-command.ts';
import { accountIdOf, keyIdOf } from '../commands/ids/reference-ids.ts';
import type { RequestTokens } from '../commands/ids/request-token.ts';
import { accountInvoices, issueInvoice } from '../commands/issue-invoice.ts';
import { queueDownload } from '../commands/queue-download.ts';
import { readWarning, recordWarningMail } from '../commands/record-warning-mail.ts';
import { returnServiceFailure } from '../commands/return-service-failure.ts';
import { newStaffCache } from '../commands/staff.ts';
import type { UsageAnswer, WriterCommand } from '../commands/usage/decide-batch.ts';
import { usageOrigin } from '../commands/usage/usage-cache.ts';
import { WriterRegistry } from '../commands/usage/writer-registry.ts';
import { type BillingPeriod, usageStream } from '../domain/billing-period.ts';
import type { WantedCorrection } from '../domain/correction-events.ts';
import type { Actor } from '../domain/parse-event.ts';
import { findPerson, openerOf } from '../domain/people.ts';
import { maxKeysOf, type PlanCatalogue, type PlanTerms } from '../domain/plans.ts';
import type { Refused } from '../domain/refusals.ts';
import type { UsagePeriod } from '../domain/usage-state.ts';
import type { PeriodClosings } from '../ports/billing.ts';
import { type LoggedDownload, usageReader } from './log-of-story.ts';
import { periodsOf, scriptOf, type Step, storyGraceSeconds } from './script.ts';
import { type Customer, isOurFault, type ScriptedDownload, videoOf } from './story.ts';
import { workJob } from './work-job.ts';

export interface Telling extends Omit<AccountDependencies, 'now'> {
  plans: PlanCatalogue;
  tokens: RequestTokens;
  closings: PeriodClosings;
  /** Start of the story's last day, and the present, in milliseconds. */
  lastDayMs: number;
  presentMs: number;
  /** The time of each account's newest event, as an earlier start has told it. */
  newestMs: ReadonlyMap<string, number>;
  /** Called before each step, and before the work on each job. */
  progress: () => void;
}

const timeoutMs = 10_000;
const jobsAtOnce = 24;
/** How long after its cause a mail is taken, and a failure of the service given back. */
const mailMs = 2_000;
const returnMs = 2_000;

const storyActor: Actor = { type: 'system', id: 'demo' };
const calendar: Actor = { type: 'system', id: 'billing-period' };

/**
 * Tells the story of one customer, step by step, each at its own time. The log's newest event says how far an interrupted start
 * has come: the steps before it are told. Its own step may be told in part, and is taken again: its commands do only what is left.
 */
export async function tellCustomer(customer: Customer, telling: Telling): Promise<void> {
  const teller = new CustomerTeller(customer, telling);
  await teller.recordMails();
  for (const step of scriptOf(customer, telling.lastDayMs)) {
    telling.progress();
    await teller.take(step);
  }
  await teller.workJobs();
}

class CustomerTeller {
  readonly #accountId: string;
  readonly #telling: Telling;
  readonly #customer: Customer;
  readonly #periods: readonly [BillingPeriod, BillingPeriod];
  readonly #accounts: AccountDependencies;
  readonly #writers: WriterRegistry;
  readonly #readUsage: ReturnType<typeof usageReader>;
  readonly #owner: Actor;
  /** The time at which commands are given. */
  #clockMs = 0;
  /** Of the newest event that an earlier start has told. */
  readonly #newestMs: number;
  /** Those of the steps so far, in the order of the log. */
  readonly #downloads: ScriptedDownload[] = [];
  /** The tokens whose jobs are worked to their end. */
  readonly #worked = new Set<string>();
  #notices = 0;

  constructor(customer: Customer, telling: Telling) {
    const { store, newUuid, newId, randomBits, lastDayMs, newestMs } = telling;
    const now = () => new Date(this.#clockMs).toISOString();
    this.#accountId = accountIdOf(customer.reference);
    this.#customer = customer;
    this.#telling = telling;
    this.#periods = periodsOf(customer, lastDayMs);
    this.#newestMs = newestMs.get(this.#accountId) ?? 0;
    this.#accounts = { store, now, newUuid, newId, randomBits };
    // Of its own: the accounts are told side by side, each at its own time.
    this.#writers = new WriterRegistry({ store, now, newId: newUuid });
    this.#readUsage = usageReader(store, this.#accountId, this.#periods);
    this.#owner = { type: 'owner', id: openerOf(this.#accountId) };
  }

  async take(step: Step): Promise<void> {
    if (step.what === 'requests') this.#downloads.push(...step.downloads);
    if (step.what === 'download') this.#downloads.push(step);
    if (step.atMs < this.#newestMs || (step.atMs === this.#newestMs && !takesSeveralAppends(step))) return;
    this.#clockMs = step.atMs;
    const accountId = this.#accountId;
    const request = { correlationId: this.#telling.newUuid(), timeoutMs };
    const byOwner = { accountId, actor: this.#owner, ...request };
    switch (step.what) {
      case 'account opened': {
        // It comes with its first period and the invoice of the first fee.
        const { reference, email, plan } = this.#customer;
        const opening = { reference, email, terms: this.#termsOf(plan), mails: false };
        return requireDone(openAccount(this.#accounts, { ...opening, ...request, actor: storyActor }));
      }
      case 'key issued': {
        // Nobody learns the key: it is there to be seen.
        const { label } = step;
        const maxKeys = maxKeysOf(this.#termsOf(this.#customer.plan));
        return requireDone(issueReferencedKey(this.#accounts, { ...byOwner, label, maxKeys, reference: label }));
      }
      case 'key revoked':
        return requireDone(revokeApiKey(this.#accounts, { ...byOwner, keyId: keyIdOf(accountId, step.label) }));
      case 'person invited':
        return requireDone(invitePerson(this.#accounts, { ...byOwner, email: step.email }));
      case 'person removed': {
        const person = findPerson((await readAccount(this.#telling.store, accountId)).people, step.email);
        return requireDone(removePerson(this.#accounts, { ...byOwner, personId: person?.personId ?? '' }));
      }
      case 'requests':
        return this.#request(step);
      case 'download':
        return this.#requestAndWork(step);
      case 'plan changed':
        return this.#change({ kind: 'change_plan', terms: this.#termsOf(step.plan), effective: step.effective });
      case 'terms agreed': {
        const { changes, effective } = step;
        return this.#change({ kind: 'change_terms', changes, effective, agreedAt: this.#accounts.now() });
      }
      case 'overage cap set':
        return this.#change({ kind: 'set_overage_cap', overageCapCents: step.cents, effective: step.effective });
      case 'charge waived':
        return this.#waive(step);
      case 'credit note issued':
        return this.#credit(step);
      case 'period over':
        await this.#ask({ kind: 'roll_over' }, calendar);
        return;
      case 'period closed':
        return this.#close(step.period);
    }
  }

  /** Requests of the same instant, which the account writer stores in one append. */
  async #request({ downloads, lookups, key }: Extract<Step, { what: 'requests' }>): Promise<void> {
    const debits = lookups.map((wish) => {
      const command = { kind: 'debit_metadata', lookupId: this.#telling.newUuid(), video: videoOf(wish) } as const;
      // The debit alone: there is no platform to ask.
      return this.#ask({ ...command, downloadRefusal: null }, this.#keyActor(key));
    });
    const answers = await Promise.all([...downloads.map((download) => this.#queue(download)), ...debits]);
    await this.#followNotices(answers.at(-1));
  }

  async #queue({ wish, key }: ScriptedDownload): Promise<UsagePeriod> {
    const { options, ...video } = videoOf(wish);
    const answer = await queueDownload(
      { ...this.#accounts, writers: this.#writers },
      {
        accountId: this.#accountId,
        token: this.#telling.tokens.issue(),
        video,
        options,
        ...this.#usageRequest(this.#keyActor(key)),
      },
    );
    if (answer.outcome !== 'queued') throw refusedStep('a download', answer);
    return answer.usage;
  }

  async #change(change: TermsChange): Promise<void> {
    const actor = change.kind === 'change_terms' ? staff('agreed with the customer') : this.#owner;
    const request = { accountId: this.#accountId, change, ...this.#usageRequest(actor), timeoutMs };
    await this.#followNotices(usageAfter(change.kind, await changeTerms(this.#writers, request)));
  }

  async #ask(command: WriterCommand, actor: Actor): Promise<UsagePeriod> {
    const answer = await this.#writers.ask(this.#accountId, { command, ...this.#usageRequest(actor) });
    return usageAfter(command.kind, answer);
  }

  /** A download with a story of its own: later steps need its end, so it is worked at once. */
  async #requestAndWork(download: ScriptedDownload): Promise<void> {
    if (this.#clockMs > this.#newestMs) await this.#followNotices(await this.#queue(download));
    const logged = await this.#newestDownload();
    const endMs = await this.#work(download, logged);
    if (!isOurFault(download)) return;
    this.#clockMs = endMs + returnMs;
    // The read model is not there yet: the whole stream is read.
    const dependencies = { ...this.#accounts, readCredits: async () => undefined };
    await returnServiceFailure(dependencies, { token: logged.token, timeoutMs });
  }

  /** Works the jobs of all downloads; those that are worked already get no more events. */
  async workJobs(): Promise<void> {
    const { downloads } = await this.#readUsage();
    if (downloads.length !== this.#downloads.length)
      throw new Error(`the story of ${this.#accountId} has ${String(downloads.length)} downloads`);
    const work = async (logged: LoggedDownload, number: number) => {
      this.#telling.progress();
      const scripted = this.#downloads[number];
      if (scripted && !this.#worked.has(logged.token)) await this.#work(scripted, logged);
    };
    await pMap(downloads, work, { concurrency: jobsAtOnce });
  }

  async #work(scripted: ScriptedDownload, logged: LoggedDownload): Promise<number> {
    const { store, newUuid, presentMs } = this.#telling;
    const isBegun = this.#newestMs > 0;
    const endMs = await workJob(
      { store, newUuid },
      { accountId: this.#accountId, scripted, logged, isBegun, presentMs },
    );
    this.#worked.add(logged.token);
    return endMs;
  }

  async #waive({ reference, reason }: Extract<Step, { what: 'charge waived' }>): Promise<void> {
    const { token, usageStream: stream, usageRevision } = await this.#newestDownload();
    const charges = [{ token, revision: usageRevision - 1 }];
    return this.#giveBack({ kind: 'charges', stream, charges }, { reference, reason });
  }

  #giveBack(correction: WantedCorrection, { reason, ...order }: { reference: string; reason: string }): Promise<void> {
    const from = { accountId: this.#accountId, operator: staff(reason), limitCents: approvalCents, timeoutMs };
    const dependencies = { ...this.#accounts, staffCache: newStaffCache() };
    return requireDone(giveBack(dependencies, { ...from, ...order, correction, mails: false }));
  }

  /** The close of a period, and the one place that issues the invoices of closed periods in the story. */
  async #close(period: BillingPeriod): Promise<void> {
    const stream = usageStream(this.#accountId, period);
    const { outcome } = await closePeriod(
      { ...this.#accounts, closings: this.#telling.closings },
      { snapshot: usageOrigin(stream), graceSeconds: storyGraceSeconds, actor: calendar, timeoutMs },
    );
    if (outcome !== 'closed') throw refusedStep('the close of a period', { outcome });
    await issueInvoice(this.#accounts, { stream, covers: 'period', mails: false, actor: calendar, timeoutMs });
  }

  async #credit({ cents, reference, reason }: Extract<Step, { what: 'credit note issued' }>): Promise<void> {
    const { state } = await load(this.#telling.store, accountInvoices(this.#accountId));
    const invoice = state.invoices.find(({ covers }) => covers === 'period');
    const line = 1 + (invoice?.lines.findIndex(({ kind }) => kind === 'overage') ?? -1);
    const about = { invoice_number: invoice?.number ?? 0, line };
    return this.#giveBack({ kind: 'credit_line', ...about, cents }, { reference, reason });
  }

  async #followNotices(usage: UsagePeriod | undefined): Promise<void> {
    const notices = usage ? usage.warned.length + Number(usage.capReached) : 0;
    if (notices > this.#notices) await this.recordMails();
    this.#notices = notices;
  }

  /**
   * Nobody is mailed about the story: its notices are recorded as mailed, under a Message-ID that says which story it was and, by
   * a domain that cannot exist (RFC 2606), that no mail server has seen it. So the dispatcher needs no exception.
   */
  async recordMails(): Promise<void> {
    // A mail about a higher threshold covers the lower ones; one that is recorded covers nothing any more.
    for (const { stream, eventId, timeMs } of (await this.#readUsage()).notices.toReversed()) {
      const warning = await readWarning(this.#telling.store, { stream, eventId });
      if (!warning || warning.covers.length === 0) continue;
      this.#clockMs = timeMs + mailMs;
      const messageId = `<${eventId}@demo-story.invalid>`;
      await recordWarningMail(this.#accounts, warning, { messageId, timeoutMs });
    }
  }

  async #newestDownload(): Promise<LoggedDownload> {
    const newest = (await this.#readUsage()).downloads.at(-1);
    if (!newest) throw new Error(`the story of ${this.#accountId} has no download yet`);
    return newest;
  }

  #termsOf(plan: string): PlanTerms {
    const terms = this.#telling.plans.get(plan);
    if (!terms) throw new Error(`the story needs the plan ${plan}`);
    return terms;
  }

  #keyActor(label: string): Actor {
    return { type: 'api_key', id: keyIdOf(this.#accountId, label) };
  }

  #usageRequest(actor: Actor) {
    const snapshot = usageOrigin(usageStream(this.#accountId, this.#periods[0]));
    const cause = ownCause(this.#telling.newUuid(), actor);
    return { snapshot, cause, deadlineMs: performance.now() + timeoutMs };
  }
}

/** Every other step is one append: the log has all of it, or nothing. */
const takesSeveralAppends = ({ what }: Step): boolean =>
  ['account opened', 'download', 'charge waived', 'credit note issued', 'period over', 'period closed'].includes(what);

/** The story is a fixed script, in which nothing is refused. */
const refusedStep = (what: string, { outcome, refusal }: { outcome?: string; refusal?: string }) =>
  new Error(`${what} of the demo's story was refused: ${refusal ?? outcome ?? ''}`);

async function requireDone(answering: Promise<object | Refused>): Promise<void> {
  const answer = await answering;
  if ('refusal' in answer) throw refusedStep('a step', answer);
}

function usageAfter(what: string, answer: UsageAnswer): UsagePeriod {
  if (answer.outcome !== 'accepted') throw refusedStep(what, answer);
  return answer.usage;
}

/** As `STAFF_APPROVAL_CENTS` is by default. */
const approvalCents = 5_000;

const staff = (reason: string) => ({ type: 'staff', id: 'demo', role: 'operator', reason }) as const;
