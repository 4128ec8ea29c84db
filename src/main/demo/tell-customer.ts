import pMap from 'p-map';
import {
  type AccountDependencies,
  invitePerson,
  issueReferencedKey,
  openAccount,
  readAccount,
  removePerson,
  revokeApiKey,
} from '../../commands/accounts.ts';
import { changeTerms, type TermsChange } from '../../commands/change-terms.ts';
import { closePeriod } from '../../commands/close-period.ts';
import { ownCause } from '../../commands/event-metadata.ts';
import { load } from '../../commands/handle-command.ts';
import { issueCreditNote } from '../../commands/issue-credit-note.ts';
import { accountInvoices, issueInvoice } from '../../commands/issue-invoice.ts';
import { queueDownload } from '../../commands/queue-download.ts';
import { readWarning, recordWarningMail } from '../../commands/record-warning-mail.ts';
import { accountIdOf, keyIdOf } from '../../commands/reference-ids.ts';
import type { RequestTokens } from '../../commands/request-token.ts';
import { returnServiceFailure } from '../../commands/return-service-failure.ts';
import type { UsageAnswer, WriterCommand } from '../../commands/usage/decide-batch.ts';
import { usageOrigin } from '../../commands/usage/usage-cache.ts';
import { WriterRegistry } from '../../commands/usage/writer-registry.ts';
import { waiveCharges } from '../../commands/waive-charges.ts';
import { type BillingPeriod, usageStream } from '../../domain/billing-period.ts';
import { jobStream } from '../../domain/download-job-events.ts';
import type { Actor } from '../../domain/parse-event.ts';
import { openerOf } from '../../domain/people.ts';
import { maxKeysOf, type PlanCatalogue, type PlanTerms } from '../../domain/plans.ts';
import type { Refused } from '../../domain/refusals.ts';
import type { UsagePeriod } from '../../domain/usage-state.ts';
import type { PeriodClosings } from '../../ports/billing.ts';
import type { EventStore } from '../../ports/event-store.ts';
import { newId, newUuid, randomBits } from '../../system/clock-and-chance.ts';
import { periodsOf, type ScriptedDownload, scriptOf, type Step, storyGraceSeconds } from './script.ts';
import type { Customer, Wish } from './story.ts';
import { StoryClock } from './story-clock.ts';
import { followUsage, nothingTold, type ToldDownload, type ToldUsage } from './told-so-far.ts';
import { videoOf } from './video-of.ts';
import { workJob } from './work-job.ts';

export interface Telling {
  store: EventStore;
  plans: PlanCatalogue;
  tokens: RequestTokens;
  closings: PeriodClosings;
  /** The story's last day, and the end of the part of it that is over, in milliseconds. */
  todayMs: number;
  presentMs: number;
  /** Events that the log had of each stream when the telling began. */
  counts: ReadonlyMap<string, number>;
  /** Called before each step. */
  progress: () => void;
}

const timeoutMs = 10_000;
const jobsAtOnce = 24;
/** How long after its cause a mail is taken, and a failure of the service given back. */
const mailMs = 2_000;
const returnMs = 2_000;
/** Steps of the script that a command cannot tell from later ones alike. */
type Counted = 'downloads' | 'lookups' | 'changes';

const storyActor: Actor = { type: 'system', id: 'demo' };
const calendar: Actor = { type: 'system', id: 'billing-period' };

/**
 * Tells the story of one customer, step by step, each at its own time. A step that the log has already appends nothing: most
 * commands see that themselves, and requests and changes of terms are counted.
 */
export async function tellCustomer(customer: Customer, telling: Telling): Promise<void> {
  const told = new CustomerStory(customer, telling);
  await told.begin();
  for (const step of scriptOf(customer, telling)) {
    telling.progress();
    await told.take(step);
  }
  await told.workJobs();
}

class CustomerStory {
  readonly accountId: string;
  readonly #telling: Telling;
  readonly #customer: Customer;
  readonly #periods: readonly BillingPeriod[];
  readonly #clock: StoryClock;
  readonly #accounts: AccountDependencies;
  readonly #writers: WriterRegistry;
  readonly #owner: Actor;
  /** What the log has of the story since before this telling. */
  #before: Record<Counted, number> = { downloads: 0, lookups: 0, changes: 0 };
  /** What the steps so far have. */
  readonly #asked: Record<Counted, number> = { downloads: 0, lookups: 0, changes: 0 };
  readonly #downloads: ScriptedDownload[] = [];
  /** Numbers of downloads that a later step names. */
  readonly #named = new Map<string, number>();
  readonly #worked = new Set<number>();
  readonly #told = nothingTold();
  #notices = 0;

  constructor(customer: Customer, telling: Telling) {
    const { store, presentMs, todayMs } = telling;
    this.accountId = accountIdOf(customer.reference);
    this.#customer = customer;
    this.#telling = telling;
    this.#periods = periodsOf(customer, todayMs);
    this.#clock = new StoryClock(presentMs);
    const { now } = this.#clock;
    this.#accounts = { store, now, newUuid, newId, randomBits };
    // Of its own: the accounts are told side by side, each at its own time.
    this.#writers = new WriterRegistry({ store, now, newId: newUuid });
    this.#owner = { type: 'owner', id: openerOf(this.accountId) };
  }

  async begin(): Promise<void> {
    const { downloads, lookups, changes } = await this.#followUsage();
    this.#before = { downloads: downloads.length, lookups, changes };
    await this.#recordMails();
  }

  async take(step: Step): Promise<void> {
    this.#clock.set(step.atMs);
    switch (step.what) {
      case 'account opened':
        return this.#open();
      case 'key issued':
        return this.#issueKey(step.label);
      case 'key revoked':
        return this.#revokeKey(step.label);
      case 'person invited':
        return this.#invite(step.email);
      case 'person removed':
        return this.#remove(step.email);
      case 'ordinary requests':
        return this.#request(step.downloads, { wishes: step.lookups, key: step.key });
      case 'extra download':
        return this.#requestAndWork(step);
      case 'plan changed':
        return this.#change({ kind: 'change_plan', terms: this.#termsOf(step.plan), effective: step.effective });
      case 'terms agreed': {
        const { changes, effective } = step;
        return this.#change({ kind: 'change_terms', changes, effective, agreedAt: this.#clock.now() });
      }
      case 'overage cap set':
        return this.#change({ kind: 'set_overage_cap', overageCapCents: step.cents, effective: step.effective });
      case 'charge waived':
        return this.#waive(step);
      case 'credit note issued':
        return this.#credit(step);
      case 'period over':
        return this.#rollOver();
      case 'period closed':
        return this.#close(step.period);
    }
  }

  /** The account comes with its first period and the invoice of the first fee. */
  async #open(): Promise<void> {
    const { reference, email, plan } = this.#customer;
    const asked = { reference, email, terms: this.#termsOf(plan) };
    done(await openAccount(this.#accounts, { ...asked, ...this.#by(storyActor), mails: false }));
  }

  /** Nobody learns the key: it is there to be seen. */
  async #issueKey(label: string): Promise<void> {
    const { accountId } = this;
    const maxKeys = maxKeysOf(this.#termsOf(this.#customer.plan));
    const asked = { accountId, label, maxKeys, reference: label };
    done(await issueReferencedKey(this.#accounts, { ...asked, ...this.#by(this.#owner) }));
  }

  async #revokeKey(label: string): Promise<void> {
    const asked = { accountId: this.accountId, keyId: this.#keyOf(label) };
    done(await revokeApiKey(this.#accounts, { ...asked, ...this.#by(this.#owner) }));
  }

  async #invite(email: string): Promise<void> {
    // One who was removed later is not invited again.
    if (await this.#findPerson(email)) return;
    done(await invitePerson(this.#accounts, { accountId: this.accountId, email, ...this.#by(this.#owner) }));
  }

  async #remove(email: string): Promise<void> {
    const { personId = '' } = (await this.#findPerson(email)) ?? {};
    done(await removePerson(this.#accounts, { accountId: this.accountId, personId, ...this.#by(this.#owner) }));
  }

  async #findPerson(wanted: string) {
    const { people } = await readAccount(this.#telling.store, this.accountId);
    return [...people.values()].find(({ email }) => email === wanted);
  }

  /** Requests of the same instant, which the account writer stores in one append. */
  async #request(
    downloads: readonly ScriptedDownload[],
    lookups: { wishes: readonly Wish[]; key: string },
  ): Promise<void> {
    this.#downloads.push(...downloads);
    const answers = await Promise.all([
      ...downloads.filter(() => this.#isNew('downloads')).map((download) => this.#queue(download)),
      ...lookups.wishes.filter(() => this.#isNew('lookups')).map((wish) => this.#lookUp(wish, lookups.key)),
    ]);
    const usage = answers.at(-1);
    if (usage) await this.#followNotices(usage);
  }

  async #queue({ wish, key }: ScriptedDownload): Promise<UsagePeriod> {
    const { options, ...video } = videoOf(wish);
    const { store, tokens } = this.#telling;
    const dependencies = { store, writers: this.#writers, now: this.#clock.now, newUuid };
    const asked = {
      accountId: this.accountId,
      token: tokens.issue(),
      video,
      options,
      ...this.#usageRequest(this.#keyActor(key)),
    };
    const answer = await queueDownload(dependencies, asked);
    if (answer.outcome !== 'queued') throw new StoryRefused('a download', answer);
    return answer.usage;
  }

  /** The debit alone: there is no platform to ask. */
  async #lookUp(wish: Wish, key: string): Promise<UsagePeriod> {
    const command = {
      kind: 'debit_metadata',
      lookupId: newUuid(),
      video: videoOf(wish),
      downloadRefusal: null,
    } as const;
    return this.#ask(command, this.#keyActor(key));
  }

  async #change(change: TermsChange): Promise<void> {
    if (!this.#isNew('changes')) return;
    const actor = change.kind === 'change_terms' ? staff('agreed with the customer') : this.#owner;
    const asked = { accountId: this.accountId, change, ...this.#usageRequest(actor), timeoutMs };
    await this.#followNotices(usageOf(change.kind, await changeTerms(this.#writers, asked)));
  }

  async #rollOver(): Promise<void> {
    await this.#ask({ kind: 'roll_over' }, calendar);
  }

  async #ask(command: WriterCommand, actor: Actor): Promise<UsagePeriod> {
    return usageOf(command.kind, await this.#writers.ask(this.accountId, { command, ...this.#usageRequest(actor) }));
  }

  /** A download with a story of its own: later steps need its end, so it is worked at once. */
  async #requestAndWork({ name, download }: Extract<Step, { what: 'extra download' }>): Promise<void> {
    const number = this.#downloads.length;
    if (name !== undefined) this.#named.set(name, number);
    await this.#request([download], { wishes: [], key: download.key });
    const told = (await this.#followUsage()).downloads;
    const endMs = await this.#work(told, number);
    if (download.fault !== 'service') return;
    this.#clock.set(endMs + returnMs);
    const { store } = this.#telling;
    // The read model is not there yet: the whole stream is read.
    const dependencies = { store, now: this.#clock.now, newUuid, readCredits: async () => undefined };
    await returnServiceFailure(dependencies, { token: told[number]?.token ?? '', timeoutMs });
  }

  /** Works the jobs of all downloads that are not worked yet. */
  async workJobs(): Promise<void> {
    const told = (await this.#followUsage()).downloads;
    if (told.length !== this.#downloads.length)
      throw new Error(`the story of ${this.accountId} has ${String(told.length)} downloads`);
    const left = [...told.keys()].filter((number) => !this.#worked.has(number));
    const work = (number: number) => {
      this.#telling.progress();
      return this.#work(told, number);
    };
    await pMap(left, work, { concurrency: jobsAtOnce });
  }

  async #work(all: readonly ToldDownload[], number: number): Promise<number> {
    const [told, scripted] = [all[number], this.#downloads[number]];
    if (!told || !scripted) throw new Error(`the story of ${this.accountId} has no download ${String(number)}`);
    this.#worked.add(number);
    const { store, presentMs, counts } = this.#telling;
    const recorded = counts.get(jobStream(told.token)) ?? 0;
    return workJob({ store, newUuid }, { accountId: this.accountId, presentMs, recorded }, { scripted, told });
  }

  async #waive({ download, period, reference, reason }: Extract<Step, { what: 'charge waived' }>): Promise<void> {
    const told = (await this.#followUsage()).downloads[this.#named.get(download) ?? -1];
    if (!told) throw new Error(`the story has no download ${download}`);
    const stream = usageStream(this.accountId, period);
    const charges = [{ token: told.token, revision: told.usageRevision - 1 }];
    const asked = { stream, charges, reference, actor: staff(reason), timeoutMs };
    const { refused } = await waiveCharges(this.#accounts, asked);
    if (refused) throw new StoryRefused('a waiver', refused);
  }

  /** The close of a period, and the one place that issues the invoices of closed periods in the story. */
  async #close(period: BillingPeriod): Promise<void> {
    const { store, closings } = this.#telling;
    const stream = usageStream(this.accountId, period);
    const dependencies = { store, now: this.#clock.now, newUuid };
    const { outcome } = await closePeriod(
      { ...dependencies, closings },
      { snapshot: usageOrigin(stream), graceSeconds: storyGraceSeconds, actor: calendar, timeoutMs },
    );
    if (outcome !== 'closed') throw new StoryRefused('the close of a period', { outcome });
    await issueInvoice(dependencies, { stream, covers: 'period', mails: false, actor: calendar, timeoutMs });
  }

  async #credit({ of, cents, reference, reason }: Extract<Step, { what: 'credit note issued' }>): Promise<void> {
    const { invoices } = (await load(this.#telling.store, accountInvoices(this.accountId))).state;
    const invoice = invoices.find(({ covers, period_start: start }) => covers === 'period' && start === of.start);
    const line = 1 + (invoice?.lines.findIndex(({ kind }) => kind === 'overage') ?? -1);
    const about = { account_id: this.accountId, invoice_number: invoice?.number ?? 0, line, charge_event_id: null };
    const note = { ...about, cents, reference };
    done(await issueCreditNote(this.#accounts, { note, actor: staff(reason), mails: false, timeoutMs }));
  }

  async #followNotices({ warned, capReached }: UsagePeriod): Promise<void> {
    const notices = warned.length + Number(capReached);
    if (notices > this.#notices) await this.#recordMails();
    this.#notices = notices;
  }

  /**
   * Nobody is mailed about the story: its notices are recorded as mailed, under a Message-ID that says which story it was and, by
   * a domain that cannot exist (RFC 2606), that no mail server has seen it. So the dispatcher needs no exception.
   */
  async #recordMails(): Promise<void> {
    const { store } = this.#telling;
    // A mail about a higher threshold covers the lower ones.
    for (const { stream, eventId, timeMs } of (await this.#followUsage()).unmailed.toReversed()) {
      const warning = await readWarning(store, { stream, eventId });
      if (!warning || warning.covers.length === 0) continue;
      this.#clock.set(timeMs + mailMs);
      const messageId = `<${eventId}@demo-story.invalid>`;
      await recordWarningMail({ store, now: this.#clock.now, newUuid }, warning, { messageId, timeoutMs });
    }
  }

  /** @returns what the log has by now */
  async #followUsage(): Promise<ToldUsage> {
    const streams = this.#periods.map((period) => usageStream(this.accountId, period));
    await followUsage(this.#telling.store, this.#told, streams);
    return this.#told;
  }

  /** Counts a request or change of the script. @returns whether the log lacks it */
  #isNew(what: Counted): boolean {
    this.#asked[what] += 1;
    return this.#asked[what] > this.#before[what];
  }

  #termsOf(plan: string): PlanTerms {
    const terms = this.#telling.plans.get(plan);
    if (!terms) throw new Error(`the story needs the plan ${plan}`);
    return terms;
  }

  #keyOf(label: string): string {
    return keyIdOf(this.accountId, label);
  }

  #keyActor(label: string): Actor {
    return { type: 'api_key', id: this.#keyOf(label) };
  }

  #by(actor: Actor) {
    return { actor, correlationId: newUuid(), timeoutMs };
  }

  #usageRequest(actor: Actor) {
    const snapshot = usageOrigin(usageStream(this.accountId, this.#periods[0] ?? { start: '' }));
    return { snapshot, cause: ownCause(newUuid(), actor), deadlineMs: performance.now() + timeoutMs };
  }
}

/** The story is a fixed script, in which nothing is refused. */
class StoryRefused extends Error {
  override readonly name = 'StoryRefused';

  constructor(what: string, { outcome, refusal }: { outcome?: string; refusal?: string }) {
    super(`${what} of the demo's story was refused: ${refusal ?? outcome ?? ''}`);
  }
}

function done(answer: object | Refused): void {
  if ('refusal' in answer) throw new StoryRefused('a step', answer);
}

function usageOf(what: string, answer: UsageAnswer): UsagePeriod {
  if (answer.outcome !== 'accepted') throw new StoryRefused(what, answer);
  return answer.usage;
}

const staff = (reason: string) => ({ type: 'staff', id: 'demo', role: 'operator', reason }) as const;
