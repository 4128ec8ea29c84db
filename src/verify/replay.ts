import { Account } from '../audit/account.ts';
import { Invoices, linesOf } from '../audit/invoices.ts';
import { Job } from '../audit/job.ts';
import { Period } from '../audit/period.ts';
import type { Charge } from '../audit/period.ts';
import type { EventStore, RecordedEvent } from '../commands/ports.ts';
import { centsTaken } from './columns.ts';
import { Divergence, must } from './divergence.ts';
import { ExpectedRows } from './expected-rows.ts';
import { mustHaveForm, usageStream } from './forms.ts';
import type { Link } from './forms.ts';

const notices = ['UsageWarningReached', 'UsageWarningMailed', 'OverageCapReached', 'OverageCapMailed'];
const kinds = ['account', 'usage', 'job', 'invoices'];

/** Puts each event of the log before the rules for its stream, and says which rows of Postgres it must have made or changed. */
export class Replay {
  readonly accounts = new Map<string, Account>();
  readonly invoices = new Map<string, Invoices>();
  /** Those that are not forgotten. */
  readonly periods = new Map<string, Period>();
  readonly jobs = new Map<string, Job & { accountId: string }>();
  readonly rows = new ExpectedRows();
  events = 0;
  /** What was invoiced, such as `period usage-…`. */
  readonly #invoiced = new Set<string>();
  /** Rows of warnings that are not mailed yet, by the id of their event. */
  readonly #warnings = new Map<string, Link & { period: Link['data']; messageId: string | null }>();
  readonly #read: EventStore['read'];

  /** @param read of the log: what is finished is forgotten, and read again where something still comes of it */
  constructor(read: EventStore['read']) {
    this.#read = read;
  }

  /** @throws {Divergence} */
  async apply(event: RecordedEvent): Promise<void> {
    const { stream } = event;
    const kind = stream.slice(0, stream.indexOf('-'));
    const owner = stream.slice(kind.length + 1);
    if (kinds.includes(kind)) mustHaveForm(event);
    if (kind === 'usage') {
      const known =
        this.periods.get(stream) ?? (event.revision === 0 ? undefined : await this.#periodAt(stream, event));
      this.#usage(event, known ?? new Period(stream));
    } else if (kind === 'job') await this.#job(event, owner);
    else if (kind === 'account') this.#account(event, owner);
    else if (kind === 'invoices') await this.#invoice(event, owner);
    else return;
    this.events += 1;
  }

  /** @throws {Divergence} where a stream ends in the middle of an append */
  requireWhole(): void {
    for (const { at } of this.rows.late.values()) {
      const [missing] = this.periods.get(at.stream)?.awaited ?? [];
      if (missing) throw new Divergence({ ...at, revision: at.revision + 1 }, 'type', missing.type, 'nothing');
    }
  }

  #account(event: RecordedEvent, id: string): void {
    const account = this.accounts.get(id) ?? new Account(event.stream);
    account.check(account.follow(event));
    this.accounts.set(id, account);
    this.rows.expect({ table: 'account_heads', key: id, subject: account, at: account, isNew: event.revision === 0 });
  }

  #usage(recorded: RecordedEvent, period: Period): void {
    const event = period.follow(recorded);
    period.check(event);
    this.periods.set(period.stream, period);
    const account = this.accounts.get(period.opened.data.account_id);
    must(account !== undefined, event, 'stream', 'one of an account that was opened before');
    account.followPeriod(event);
    const { data, type } = event;
    const charge = period.charges.get(type.startsWith('Metadata') ? `lookup ${data.lookup_id}` : data.token);
    if (charge) this.#charged(event, period);
    if (charge?.key) this.#keyed(event, { charge, period, account, keyHash: charge.key.key_hash });
    if (notices.includes(type)) this.#warned(event, period);
    this.#expectCredits(period, type === 'UsagePeriodOpened');
  }

  #warned(event: Link, { opened }: Period): void {
    const isNew = event.type.endsWith('Reached');
    const id = isNew
      ? event.id
      : event.type === 'OverageCapMailed'
        ? event.data.cap_event_id
        : event.data.warning_event_id;
    const subject = isNew ? { ...event, period: opened.data, messageId: null } : this.#warnings.get(id);
    if (!subject) return;
    if (isNew) this.#warnings.set(id, subject);
    else {
      Object.assign(subject, { messageId: event.data.message_id });
      this.#warnings.delete(id);
    }
    const at = { ...subject, position: event.position };
    this.rows.expect({ table: 'usage_warnings', key: id, subject, at, isNew, isFinal: !isNew });
  }

  #charged(event: Link, { opened }: Period): void {
    const { type, data } = event;
    const { token } = data;
    if (type === 'DownloadQueued') {
      must(!this.jobs.has(token), event, 'data.token', 'one that was never used');
      const job = Object.assign(new Job(`job-${token}`), { queued: event, accountId: opened.data.account_id });
      this.jobs.set(token, job);
      // Until it is claimed the row stands for the event that queued it.
      this.rows.expect({
        table: 'jobs',
        key: token,
        subject: job,
        at: { stream: job.stream, revision: -1, position: event.position },
        isNew: true,
        isFinal: false,
        day: event.stream.slice(-8),
      });
    } else if (type !== 'DownloadConfirmed') {
      const subject = { ...event, period: opened.data, taken: centsTaken(event) };
      this.rows.expect({ table: 'overage_ledger', key: event.id, subject, at: event, isNew: true });
    }
    const job = this.jobs.get(token);
    if (type === 'DownloadVoided' && job) job.isVoided = true;
  }

  #keyed(event: Link, of: { charge: Charge; period: Period; account: Account; keyHash: string }): void {
    const { charge, period, account, keyHash } = of;
    const isNew = event.type === 'DownloadQueued' && account.takeKey(event, charge, keyHash);
    if (account.idempotencyKeys.get(keyHash) !== charge) return;
    const { data } = period.opened;
    const subject = { event, charge, period: data, queuedAt: charge.revision + 1, isOverage: charge.rate !== null };
    this.rows.expect({ table: 'idempotency_keys', key: `${data.account_id} ${keyHash}`, subject, at: event, isNew });
  }

  #expectCredits(period: Period, isNew = false): void {
    // The invoice still asks for the charges of a period that is closed.
    const isInvoiced = () => this.#invoiced.has(`period ${period.stream}`) || linesOf(period).length === 0;
    const isFinal = period.phase === 'closed' && isInvoiced();
    const forget = () => {
      const keys = this.accounts.get(period.opened.data.account_id)?.idempotencyKeys;
      for (const charge of period.charges.values()) {
        // The key of a voided download stays known: who takes it takes over the row.
        if (charge.key && !charge.voided && keys?.get(charge.key.key_hash) === charge) keys.delete(charge.key.key_hash);
      }
      period.charges.clear();
      this.periods.delete(period.stream);
    };
    this.rows.expect({
      table: 'credits',
      key: period.stream,
      subject: creditsOf(period),
      at: period,
      isNew,
      isFinal,
      forget,
    });
  }

  async #job(event: RecordedEvent, token: string): Promise<void> {
    const job = this.jobs.get(token) ?? (event.type === 'FileExpired' ? await this.#jobAt(event, token) : undefined);
    must(job !== undefined, event, 'stream', 'one of a download that was queued and has not ended');
    job.check(job.follow(event));
    const forget = () => this.jobs.delete(token);
    this.rows.expect({ table: 'jobs', key: token, subject: job, at: job, isFinal: job.end !== undefined, forget });
  }

  async #invoice(recorded: RecordedEvent, id: string): Promise<void> {
    must(this.accounts.has(id), recorded, 'stream', 'one of an account that was opened before');
    const invoices = this.invoices.get(id) ?? new Invoices(recorded.stream);
    this.invoices.set(id, invoices);
    const event = invoices.follow(recorded);
    const { data } = event;
    const isInvoice = event.type === 'InvoiceIssued';
    const stream = isInvoice
      ? usageStream(id, data.period_start)
      : String(invoices.linesOf(data.invoice_number)[data.line - 1]?.['stream']);
    const period = this.periods.get(stream) ?? (await this.#periodAt(stream, event));
    if (isInvoice) invoices.issue(event, period);
    else invoices.credit(event, period);
    if (isInvoice) this.#invoiced.add(`${data.covers} ${stream}`);
    if (period) this.#expectCredits(period);
    const subject = { ...event, total: isInvoice ? data.total_cents : data.cents };
    const day = isInvoice ? stream.slice(-8) : '';
    this.rows.expect({ table: 'invoices', key: event.id, subject, at: event, isNew: true, day });
  }

  /** A job that was done and is forgotten, as it was before an event. @returns undefined if there was none */
  async #jobAt({ stream, position }: RecordedEvent, token: string): Promise<(Job & { accountId: string }) | undefined> {
    const events = await this.#read(stream, 0);
    const { usage_stream: usage, usage_revision: revision } = (events[0]?.data ?? {}) as Partial<Link['data']>;
    const [queued] = usage === undefined ? [] : await this.#read(usage, revision ?? 0, 1);
    if (queued?.revision !== revision || queued?.type !== 'DownloadQueued') return undefined;
    const accountId = usage?.split('-')[1] ?? '';
    const job = Object.assign(new Job(stream), { queued: queued as Link, accountId });
    for (const earlier of events) if (earlier.position < position) job.check(job.follow(earlier));
    this.jobs.set(token, job);
    return job;
  }

  /** A period that was forgotten, as it was before an event. @returns undefined if there was none */
  async #periodAt(stream: string, { position }: Pick<RecordedEvent, 'position'>): Promise<Period | undefined> {
    const period = new Period(stream);
    const events = stream.startsWith('usage-') ? await this.#read(stream, 0) : [];
    for (const earlier of events) if (earlier.position < position) period.check(period.follow(earlier));
    if (period.phase === 'absent') return undefined;
    this.periods.set(stream, period);
    return period;
  }
}

/** A period, with what its row says of it in words of its own. */
function creditsOf(period: Period): object {
  const { opened, totals, due, warned } = period;
  return {
    period,
    get feeCents() {
      return opened.data.terms.fee_cents + totals.fee_difference_cents;
    },
    get due() {
      return due.size === 0 ? null : { plan: due.get('plan'), ...due.get('cap') };
    },
    get warned() {
      return [...warned.keys()];
    },
  };
}
