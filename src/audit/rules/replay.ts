import { Account } from './account.ts';
import { Acknowledgements } from './acknowledgements.ts';
import type { Log, RecordedEvent } from './audited-log.ts';
import { centsTaken } from './cents-taken.ts';
import type { Chain } from './chain.ts';
import { Completeness } from './completeness.ts';
import { Corrections } from './correction-requests.ts';
import type { Report } from './divergence.ts';
import { findWrongField, type Link, withDefaults } from './event-schemas.ts';
import { Invoices } from './invoices.ts';
import { Issuer } from './issuer.ts';
import { Job } from './job.ts';
import type { Notice } from './notices.ts';
import { isServiceFailure, Period } from './period.ts';
import { isBySignedIn, roleOf, StaffHistory, StaffMember } from './staff.ts';
import { parseStreamName, staffStream, type StreamName, usageStream } from './streams.ts';
import { isTreeLeaf, TreeHeads } from './tree-heads.ts';

type UsageStream = Extract<StreamName, { kind: 'usage' }>;

/** Where the download of a forgotten job was queued. */
type ForgottenQueued = Pick<Link['data'], 'usage_stream' | 'usage_revision'> & Pick<Job, 'isVoided' | 'runningCents'>;

/** Told about the changes of each event after the rules have checked it. */
export interface ReplayObserver {
  accountChanged(event: Link, account: Account): void;
  /** An event was added to the stream of an account. */
  accountHeadMoved(account: Account, isNew: boolean): void;
  /** An event of a usage stream was applied. */
  usageChanged(event: Link, period: Period, account: Account): void;
  /** @param change position: of the event that changed the period */
  periodChanged(period: Period, change: { isNew?: boolean; position: bigint }): void;
  jobEventRecorded(event: RecordedEvent, accountId: string): void;
  /** @param forget releases the job once it is no longer needed */
  jobChanged(job: Job, forget: () => void): void;
  /** @param day the day on which the invoiced period starts, YYYYMMDD; undefined for a credit note */
  invoiced(event: Link, invoices: Invoices, day: string | undefined): void;
  /** @param event by which staff ask for mails about an invoice or a credit note */
  documentMailsAsked(event: Link, invoices: Invoices): void;
  /** @param event the record of a mail about an invoice or a credit note */
  documentMailed(event: Link, invoices: Invoices): void;
}

/** Checks each event of the log by the rules for its stream, in the order of the log. */
export class Replay {
  readonly accounts = new Map<string, Account>();
  /** By account. */
  readonly invoices = new Map<string, Invoices>();
  /** Those that are not forgotten, by stream. */
  readonly periods = new Map<string, Period>();
  /** Those that are not forgotten, by token. */
  readonly jobs = new Map<string, Job>();
  readonly completeness: Completeness;
  /** For finance, in the order of the log. */
  readonly notices: Notice[] = [];
  events = 0;
  /** The newest time that an event has. */
  newestTime = '';
  readonly #acknowledgements: Acknowledgements;
  readonly #issuer: Issuer;
  readonly #treeHeads: TreeHeads;
  readonly #observer: ReplayObserver;
  readonly #read: Log['read'];
  readonly #report: Report;
  readonly #members = new Map<string, StaffMember>();
  readonly #histories = new Map<string, StaffHistory>();
  /** By account. */
  readonly #corrections = new Map<string, Corrections>();
  /** Jobs that were forgotten before their first event, by token. */
  readonly #forgottenQueued = new Map<string, ForgottenQueued>();
  /** Streams of jobs that belong to no download. */
  readonly #unknownJobs = new Set<string>();

  /**
   * @param read reads the log. Periods and jobs that are forgotten are read again when a later event needs them.
   * @param observe gives the observer of this replay
   */
  constructor(read: Log['read'], report: Report, observe: (replay: Replay) => ReplayObserver) {
    this.#read = read;
    this.#report = report;
    this.#acknowledgements = new Acknowledgements(report);
    this.#issuer = new Issuer(report);
    this.#treeHeads = new TreeHeads(report);
    this.completeness = new Completeness(this, report);
    this.#observer = observe(this);
  }

  async apply(event: RecordedEvent): Promise<void> {
    if (event.stream.startsWith('$$')) {
      this.completeness.followMetadata(event);
      return;
    }
    const name = parseStreamName(event.stream);
    if (!name) return;
    this.events += 1;
    if (event.type === '$streamDeleted') {
      this.completeness.followMetadata(event);
      return;
    }
    if (isTreeLeaf(event)) this.#treeHeads.followLeaf(event);
    switch (name.kind) {
      case 'usage':
        await this.#usage(event, name);
        break;
      case 'job':
        await this.#job(event, name.token);
        break;
      case 'account':
        this.#account(event, name.accountId);
        break;
      case 'invoices':
        await this.#invoice(event, name.accountId);
        break;
      case 'corrections':
        await this.#correction(event, name.accountId);
        break;
      case 'staff':
        await this.#ofAll(this.#memberOf(name.staffId), event);
        break;
      case 'issuer':
        await this.#ofAll(this.#issuer, event);
        break;
      case 'tree-heads':
        await this.#ofAll(this.#treeHeads, event);
        break;
      case 'acknowledgements':
        await this.#ofAll(this.#acknowledgements, event);
    }
  }

  async #ofAll(chain: Issuer | Acknowledgements | StaffMember | TreeHeads, recorded: RecordedEvent): Promise<void> {
    const event = this.#check(chain, recorded, (link) => chain.check(link));
    // A sign-in says the role of its own person.
    if (event && event.type !== 'StaffSignedIn') await this.#checkRole(event, chain);
  }

  #memberOf(staffId: string): StaffMember {
    const member = this.#members.get(staffId) ?? new StaffMember(staffId, this.#report);
    this.#members.set(staffId, member);
    return member;
  }

  async #correction(recorded: RecordedEvent, accountId: string): Promise<void> {
    const chain = this.#corrections.get(accountId) ?? new Corrections(recorded.stream, accountId, this.#report);
    this.#corrections.set(accountId, chain);
    const event = this.#check(chain, recorded, (link) => {
      if (!this.accounts.has(accountId))
        chain.giveUp('period_account', link, 'stream', 'one of an account that was opened before');
      const request = chain.check(link);
      if (request) this.completeness.permitted.follow(request);
    });
    if (!event) return;
    await this.#checkRole(event, chain);
    await this.#checkPersons(event, chain);
  }

  /** Somebody who is staff under two ids asks and approves as one person. */
  async #checkPersons(event: Link, chain: Corrections): Promise<void> {
    const { type, data, metadata } = event;
    if ((type !== 'CorrectionAsked' && type !== 'CorrectionApproved') || !isBySignedIn(event)) return;
    const { id } = metadata.actor;
    const own = await this.#historyOf(id);
    const [sure, possible] = [new Set([id]), new Set([id])];
    for (const other of chain.askers) {
      const history = await this.#historyOf(other);
      if (own.maybeSameAs(history, event, { isSure: true })) sure.add(other);
      if (own.maybeSameAs(history, event, { isSure: false })) possible.add(other);
    }
    if (type === 'CorrectionAsked') {
      chain.checkApproval(event, { sure, possible });
      return;
    }
    const asked = chain.askedFor(data.correction_id);
    const asker = asked?.metadata.actor.id;
    if (!asked || asker === undefined || asker === id) return;
    const isOther = !sure.has(asker);
    chain.must('correction_approval', isOther, event, 'metadata.actor', 'another person, by no other id either');
    const isTold = ![own, await this.#historyOf(asker)].some((each) => each.isNameless(event));
    if (isOther && !isTold) this.#notice('not_told_apart', asked, event, chain.accountId);
    if (await this.#hasInvited(asked, event)) this.#notice('invited', asked, event, chain.accountId);
  }

  /** Tells whether the asker or the approver has invited the other within seven days, under any id. */
  async #hasInvited(asked: Link, approved: Link): Promise<boolean> {
    const ids = [asked.metadata.actor.id, approved.metadata.actor.id] as const;
    for (const [one, other] of [ids, ids.toReversed()] as [string, string][]) {
      const inviter = (await this.#historyOf(one)).invitedBy(asked.metadata.time);
      if (inviter === undefined) continue;
      if (inviter === other) return true;
      const history = await this.#historyOf(other);
      if (history.sharesAddress(await this.#historyOf(inviter), approved, { isSure: false })) return true;
    }
    return false;
  }

  #notice(notice: Notice['notice'], asked: Link, { stream, revision, data, metadata }: Link, account_id: string): void {
    this.notices.push({
      notice,
      account_id,
      stream,
      revision,
      correction_id: data.correction_id,
      asked_by: asked.metadata.actor.id,
      approved_by: metadata.actor.id,
      approved_at: metadata.time,
    });
  }

  /** Somebody of staff acts in the role that the log says at that time. */
  async #checkRole(event: Link, chain: Chain): Promise<void> {
    if (!isBySignedIn(event)) return;
    const { id } = event.metadata.actor;
    const history = await this.#historyOf(id);
    const isTheirs = history.allows(roleOf(event), event);
    chain.must('staff_role', isTheirs, event, 'metadata.actor', 'a member of staff, in the role of then');
  }

  /** Of an account alone, the streams of staff are not replayed: they are read once for their roles. */
  async #historyOf(staffId: string): Promise<StaffHistory> {
    const known = this.#members.get(staffId)?.history ?? this.#histories.get(staffId);
    if (known) return known;
    const history = new StaffHistory();
    for (const event of await this.#read(staffStream(staffId), 0))
      if (!findWrongField(event)) history.follow(event as Link);
    this.#histories.set(staffId, history);
    return history;
  }

  /** @param check is not called for an event that cannot be read @returns undefined for one */
  #check(chain: Chain, recorded: RecordedEvent, check: (event: Link) => void = () => undefined): Link | undefined {
    const link = chain.follow(recorded);
    const wrong = findWrongField(recorded);
    if (wrong) chain.wrong('event_form', recorded, wrong.path, 'in the form that docs/events.md gives it');
    if (wrong?.isSurplus === false) return undefined;
    if (link.metadata.time > this.newestTime) this.newestTime = link.metadata.time;
    const event = withDefaults(link);
    check(event);
    return event;
  }

  #account(event: RecordedEvent, id: string): void {
    const account = this.accounts.get(id) ?? new Account(event.stream, id, this.#report);
    const isNew = !account.opened;
    this.accounts.set(id, account);
    this.#check(account, event, (link) => {
      account.checkActor(link);
      account.check(link);
      this.#observer.accountChanged(link, account);
    });
    if (account.opened) this.#observer.accountHeadMoved(account, isNew);
  }

  async #usage(recorded: RecordedEvent, { accountId }: UsageStream): Promise<void> {
    const { stream, revision } = recorded;
    const known = this.periods.get(stream) ?? (revision === 0 ? undefined : await this.#periodAt(stream, recorded));
    const period = known ?? new Period(stream, accountId, this.#report);
    this.periods.set(stream, period);
    const isNew = !period.opened;
    this.#check(period, recorded, (event) => {
      period.check(event);
      if (period.opened) this.#usageOfAccount(event, period);
    });
    if (period.opened) this.#observer.periodChanged(period, { isNew, position: recorded.position });
  }

  #usageOfAccount(event: Link, period: Period): void {
    const { accountId } = period;
    const account = this.accounts.get(accountId);
    if (!account) {
      period.giveUp('period_account', event, 'stream', 'one of an account that was opened before');
      return;
    }
    account.checkActor(event);
    account.followPeriod(event);
    const { type, data, metadata } = event;
    if (type === 'DownloadQueued') {
      const isNew = !this.jobs.has(data.token) && !this.#forgottenQueued.has(data.token);
      period.must('charge_once', isNew, event, 'data.token', 'one that was never used');
      const cents = period.charges.get(data.token)?.leftCents ?? 0;
      // One text for all jobs of the period.
      const of = { accountId, queued: { ...event, stream: period.stream }, cents };
      this.jobs.set(data.token, new Job(`job-${data.token}`, of, this.#report));
    }
    const job = this.jobs.get(data.token) ?? this.#forgottenQueued.get(data.token);
    if (type === 'DownloadVoided' && job) job.isVoided = true;
    if (isServiceFailure(event) && type !== 'UsagePeriodOpened') this.completeness.givenBack(event, period);
    if (type === 'ChargeWaived' && metadata.actor.type === 'staff') this.completeness.permitted.given(event, period);
    this.#observer.usageChanged(event, period, account);
  }

  /** Forgets a job that has no events of its own yet; does nothing once it has some. */
  forgetQueued(token: string): void {
    const job = this.jobs.get(token);
    if (job?.revision !== -1) return;
    const { queued, isVoided, runningCents } = job;
    const at = { usage_stream: queued.stream, usage_revision: queued.revision };
    this.#forgottenQueued.set(token, { ...at, isVoided, runningCents });
    this.jobs.delete(token);
  }

  async #job(event: RecordedEvent, token: string): Promise<void> {
    const { stream, revision } = event;
    const job = this.jobs.get(token) ?? (await this.#jobAt(event, token));
    if (!job) {
      if (!this.#unknownJobs.has(stream)) {
        this.#report({
          rule: 'job_queued',
          account_id: null,
          stream,
          revision,
          field: 'stream',
          expected: 'one of a download that was queued',
          found: stream,
        });
      }
      this.#unknownJobs.add(stream);
      return;
    }
    this.#check(job, event, (link) => {
      this.accounts.get(job.accountId)?.checkActor(link);
      job.check(link);
      if (link.type === 'JobFailed' && link.data.fault === 'service') this.completeness.failed(link, job);
      this.#observer.jobEventRecorded(event, job.accountId);
    });
    this.#observer.jobChanged(job, () => this.jobs.delete(token));
  }

  async #invoice(recorded: RecordedEvent, id: string): Promise<void> {
    const invoices = this.invoices.get(id) ?? new Invoices(recorded.stream, id, this.#report);
    this.invoices.set(id, invoices);
    const event = this.#check(invoices, recorded);
    if (!event) return;
    const account = this.accounts.get(id);
    if (!account) invoices.giveUp('period_account', event, 'stream', 'one of an account that was opened before');
    account?.checkActor(event);
    const { data } = event;
    if (event.type === 'DocumentMailAsked') {
      await this.#checkRole(event, invoices);
      invoices.askMails(event, account);
      this.#observer.documentMailsAsked(event, invoices);
      return;
    }
    if (event.type === 'DocumentMailed') {
      invoices.mailed(event, account);
      this.#observer.documentMailed(event, invoices);
      return;
    }
    const isInvoice = event.type === 'InvoiceIssued';
    const stream = isInvoice
      ? usageStream(id, data.period_start)
      : String(invoices.linesOf(data.invoice_number)[data.line - 1]?.['stream']);
    const period = this.periods.get(stream) ?? (await this.#periodAt(stream, event));
    if (isInvoice) {
      invoices.issue(event, period);
      this.completeness.invoiced(data.covers, stream);
    } else {
      invoices.credit(event, period);
      if (isServiceFailure(event)) this.completeness.givenBack(event, invoices);
      if (event.metadata.actor.type === 'staff') this.completeness.permitted.given(event, invoices);
    }
    invoices.address(event, account);
    if (period?.opened) this.#observer.periodChanged(period, { position: event.position });
    this.#observer.invoiced(event, invoices, isInvoice ? stream.slice(-8) : undefined);
  }

  /** Restores a forgotten job to its state before an event. @returns undefined if there was none */
  async #jobAt({ stream, position }: RecordedEvent, token: string): Promise<Job | undefined> {
    const forgotten = this.#forgottenQueued.get(token);
    if (!forgotten && this.#unknownJobs.has(stream)) return undefined;
    const events = forgotten ? [] : await this.#read(stream, 0);
    const at = forgotten ?? ((events[0]?.data ?? {}) as Partial<Link['data']>);
    const { usage_stream: usage = '', usage_revision: revision } = at;
    const name = parseStreamName(usage);
    if (name?.kind !== 'usage') return undefined;
    // The charge stands directly before.
    const [charge, queued] = await this.#read(usage, Math.max(0, (revision ?? 0) - 1), 2);
    const isQueued = queued?.type === 'DownloadQueued' && (queued.data as Partial<Link['data']>).token === token;
    if (!charge || queued?.revision !== revision || !isQueued) return undefined;
    const of = { accountId: name.accountId, queued: queued as Link, cents: centsTaken(charge as Link) ?? 0 };
    const job = new Job(stream, of, this.#report);
    if (forgotten) [job.isVoided, job.runningCents] = [forgotten.isVoided, forgotten.runningCents];
    this.#forgottenQueued.delete(token);
    for (const earlier of events)
      if (earlier.position < position) this.#check(job, earlier, (event) => job.check(event));
    this.jobs.set(token, job);
    return job;
  }

  /** Restores a forgotten period to its state before an event. @returns undefined if there was none */
  async #periodAt(stream: string, { position }: Pick<RecordedEvent, 'position'>): Promise<Period | undefined> {
    const period = await this.periodUpTo(stream, position);
    if (period) this.periods.set(stream, period);
    return period;
  }

  /** Reads a period again from the log, up to before a position. @returns undefined if it was not opened by then */
  async periodUpTo(stream: string, position: bigint): Promise<Period | undefined> {
    const name = parseStreamName(stream);
    if (name?.kind !== 'usage') return undefined;
    const period = new Period(stream, name.accountId, this.#report);
    for (const event of await this.#read(stream, 0)) {
      if (event.position < position) this.#check(period, event, (link) => period.check(link));
    }
    return period.opened && period;
  }
}
