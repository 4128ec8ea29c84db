import { Account } from '../rules/account.ts';
import { Acknowledgements } from '../rules/acknowledgements.ts';
import { Invoices } from '../rules/invoices.ts';
import { Job } from '../rules/job.ts';
import { Period, isServiceFailure } from '../rules/period.ts';
import type { Chain } from '../rules/chain.ts';
import type { Log, RecordedEvent } from '../rules/log.ts';
import type { Report } from '../rules/divergence.ts';
import { ExpectedRows } from './expected-rows.ts';
import { findWrongField, isOurStream, usageStream, withDefaults } from '../rules/event-schemas.ts';
import type { Link } from '../rules/event-schemas.ts';
import { Completeness } from '../rules/completeness.ts';
import { RowsOfEvents } from './rows-of-events.ts';

/** Puts each event of the log before the rules for its stream, and says which rows of Postgres it must have made or changed. */
export class Replay {
  readonly accounts = new Map<string, Account>();
  readonly invoices = new Map<string, Invoices>();
  /** Those that are not forgotten. */
  readonly periods = new Map<string, Period>();
  readonly jobs = new Map<string, Job>();
  readonly rows = new ExpectedRows();
  readonly completeness: Completeness;
  events = 0;
  /** The newest time that an event has. */
  newestTime = '';
  readonly #acknowledgements: Acknowledgements;
  readonly #rowsOf: RowsOfEvents;
  readonly #read: Log['read'];
  readonly #report: Report;
  /** Streams of jobs that belong to no download. */
  readonly #unknownJobs = new Set<string>();

  /** @param read of the log: what is finished is forgotten, and read again where something still comes of it */
  constructor(read: Log['read'], report: Report) {
    this.#read = read;
    this.#report = report;
    this.#acknowledgements = new Acknowledgements(report);
    this.#rowsOf = new RowsOfEvents(this);
    this.completeness = new Completeness(this, report);
  }

  async apply(event: RecordedEvent): Promise<void> {
    const { stream } = event;
    if (stream.startsWith('$$')) {
      this.completeness.followMetadata(event);
      return;
    }
    if (!isOurStream(stream)) return;
    this.events += 1;
    if (event.type === '$streamDeleted') {
      this.completeness.followMetadata(event);
      return;
    }
    const kind = stream.slice(0, stream.indexOf('-'));
    const owner = stream.slice(kind.length + 1);
    if (kind === 'usage') await this.#usage(event);
    else if (kind === 'job') await this.#job(event, owner);
    else if (kind === 'account') this.#account(event, owner);
    else if (kind === 'invoices') await this.#invoice(event, owner);
    else this.#check(this.#acknowledgements, event, (link) => this.#acknowledgements.check(link));
  }

  /** @param check is not asked about an event that cannot be read */
  #check(chain: Chain, recorded: RecordedEvent, check: (event: Link) => void): void {
    const link = chain.follow(recorded);
    const wrong = findWrongField(recorded);
    if (wrong) chain.wrong('event_form', recorded, wrong.path, 'in the form that docs/events.md gives it');
    if (wrong?.isSurplus === false) return;
    if (link.metadata.time > this.newestTime) this.newestTime = link.metadata.time;
    check(withDefaults(link));
  }

  #account(event: RecordedEvent, id: string): void {
    const account = this.accounts.get(id) ?? new Account(event.stream, this.#report);
    const isNew = !account.opened;
    this.accounts.set(id, account);
    this.#check(account, event, (link) => {
      account.checkActor(link);
      account.check(link);
      this.#rowsOf.account(link, account);
    });
    if (account.opened) this.#rowsOf.head(account, isNew);
  }

  async #usage(recorded: RecordedEvent): Promise<void> {
    const { stream, revision } = recorded;
    const known = this.periods.get(stream) ?? (revision === 0 ? undefined : await this.#periodAt(stream, recorded));
    const period = known ?? new Period(stream, this.#report);
    this.periods.set(stream, period);
    const isNew = !period.opened;
    this.#check(period, recorded, (event) => {
      period.check(event);
      if (period.opened) this.#usageOfAccount(event, period);
    });
    if (period.opened) this.#rowsOf.credits(period, { isNew, position: recorded.position });
  }

  #usageOfAccount(event: Link, period: Period): void {
    const account = this.accounts.get(period.accountId ?? '');
    if (!account) {
      period.giveUp('period_account', event, 'stream', 'one of an account that was opened before');
      return;
    }
    account.checkActor(event);
    account.followPeriod(event);
    const { type, data } = event;
    if (type === 'DownloadQueued') {
      const isNew = !this.jobs.has(data.token);
      period.must('charge_once', isNew, event, 'data.token', 'one that was never used');
      this.jobs.set(data.token, new Job(`job-${data.token}`, this.#report, event));
    }
    const job = this.jobs.get(data.token);
    if (type === 'DownloadVoided' && job) job.isVoided = true;
    if (isServiceFailure(event) && type !== 'UsagePeriodOpened') this.completeness.givenBack(event, period);
    this.#rowsOf.usage(event, period, account);
  }

  async #job(event: RecordedEvent, token: string): Promise<void> {
    const { stream, revision } = event;
    const job = this.jobs.get(token) ?? (await this.#jobAt(event, token));
    if (!job) {
      const [field, expected] = ['stream', 'one of a download that was queued'];
      const facts = { rule: 'job_queued', account_id: null, stream, revision, field, expected, found: stream } as const;
      if (!this.#unknownJobs.has(stream)) this.#report(facts);
      this.#unknownJobs.add(stream);
      return;
    }
    this.#check(job, event, (link) => {
      this.accounts.get(job.accountId ?? '')?.checkActor(link);
      job.check(link);
      if (link.type === 'JobFailed' && link.data.fault === 'service') this.completeness.failed(link, job);
      this.#rowsOf.timeline(event, job.accountId);
    });
    this.#rowsOf.job(job, () => this.jobs.delete(token));
  }

  async #invoice(recorded: RecordedEvent, id: string): Promise<void> {
    const invoices = this.invoices.get(id) ?? new Invoices(recorded.stream, this.#report);
    this.invoices.set(id, invoices);
    let event: Link | undefined;
    this.#check(invoices, recorded, (link) => (event = link));
    if (!event) return;
    const account = this.accounts.get(id);
    if (!account) invoices.giveUp('period_account', event, 'stream', 'one of an account that was opened before');
    account?.checkActor(event);
    const { data } = event;
    const isInvoice = event.type === 'InvoiceIssued';
    const stream = isInvoice
      ? usageStream(id, data.period_start)
      : String(invoices.linesOf(data.invoice_number)[data.line - 1]?.['stream']);
    const period = this.periods.get(stream) ?? (await this.#periodAt(stream, event));
    if (isInvoice) invoices.issue(event, period);
    else invoices.credit(event, period);
    if (!isInvoice && isServiceFailure(event)) this.completeness.givenBack(event, invoices);
    if (isInvoice) this.completeness.invoiced(data.covers, stream);
    if (period?.opened) this.#rowsOf.credits(period, { position: event.position });
    this.#rowsOf.invoice(event, stream);
  }

  /** A job that was done and is forgotten, as it was before an event. @returns undefined if there was none */
  async #jobAt({ stream, position }: RecordedEvent, token: string): Promise<Job | undefined> {
    if (this.#unknownJobs.has(stream)) return undefined;
    const events = await this.#read(stream, 0);
    const { usage_stream: usage, usage_revision: revision } = (events[0]?.data ?? {}) as Partial<Link['data']>;
    const [queued] = usage === undefined ? [] : await this.#read(usage, revision ?? 0, 1);
    const isQueued = queued?.type === 'DownloadQueued' && (queued.data as Partial<Link['data']>).token === token;
    if (queued?.revision !== revision || !isQueued) return undefined;
    const job = new Job(stream, this.#report, queued as Link);
    for (const earlier of events)
      if (earlier.position < position) this.#check(job, earlier, (event) => job.check(event));
    this.jobs.set(token, job);
    return job;
  }

  /** A period that was forgotten, as it was before an event. @returns undefined if there was none */
  async #periodAt(stream: string, { position }: Pick<RecordedEvent, 'position'>): Promise<Period | undefined> {
    const period = await this.periodUpTo(stream, position);
    if (period) this.periods.set(stream, period);
    return period;
  }

  /** Read again from the log, up to before a position. @returns undefined if it was not opened by then */
  async periodUpTo(stream: string, position: bigint): Promise<Period | undefined> {
    if (!stream.startsWith('usage-')) return undefined;
    const period = new Period(stream, this.#report);
    for (const event of await this.#read(stream, 0)) {
      if (event.position < position) this.#check(period, event, (link) => period.check(link));
    }
    return period.opened && period;
  }
}
