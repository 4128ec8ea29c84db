import type { EventStore, RecordedEvent } from '../commands/ports.ts';
import { Account } from './account.ts';
import { Divergence, must } from './chain.ts';
import type { Link } from './chain.ts';
import { creditsRow, invoiceRow, jobRow, ledgerRow } from './expected-rows.ts';
import { linesOf } from './invoices.ts';
import { Job } from './job.ts';
import { Period } from './period.ts';
import type { Charge } from './period.ts';

export const tables = ['overage_ledger', 'credits', 'jobs', 'idempotency_keys', 'account_heads', 'invoices'] as const;
export type Table = (typeof tables)[number];

/** A row that must stand in Postgres, and where in the log it comes from. */
export interface Entry {
  table: Table;
  row: () => object;
  at: { stream: string; revision: number };
  /** Of the newest event that the row stands for. */
  position: bigint;
  /** Of what can change no more: lets go of what the row was computed from, once it is compared. */
  forget?: (() => void) | undefined;
}

/** The log, followed event by event, with a second set of rules: nothing here is shared with what charged. */
export class Audit {
  readonly accounts = new Map<string, Account>();
  readonly periods = new Map<string, Period>();
  readonly jobs = new Map<string, Job>();
  /** Rows to be compared, by table and key: those that are probably final, and those that will change. */
  readonly early = new Map<string, Entry>();
  readonly late = new Map<string, Entry>();
  /** Rows that there must be. */
  readonly rows = Object.fromEntries(tables.map((table) => [table, 0])) as Record<Table, number>;
  events = 0;
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
    if (kind === 'usage') this.#usage(event, this.periods.get(stream) ?? (await this.#periodBefore(event, stream)));
    else if (kind === 'job') this.#job(event, owner);
    else if (kind === 'account') this.#account(event, owner);
    else if (kind === 'invoices') await this.#invoice(event, owner);
    else return;
    this.events += 1;
  }

  /** @throws {Divergence} where a stream ends in the middle of an append */
  requireWhole(): void {
    for (const { at } of this.late.values()) this.periods.get(at.stream)?.requireWhole();
  }

  #expect(key: string, entry: Entry, isFinal = true): void {
    const [into, outOf] = isFinal ? [this.early, this.late] : [this.late, this.early];
    into.set(`${entry.table} ${key}`, entry);
    outOf.delete(`${entry.table} ${key}`);
  }

  #account(recorded: RecordedEvent, id: string): void {
    let account = this.accounts.get(id);
    if (!account) {
      account = new Account(id);
      this.accounts.set(id, account);
      this.rows.account_heads += 1;
    }
    const event = account.apply(recorded);
    const row = { account_id: id, revision: event.revision, last_hash: event.hash };
    this.#expect(id, { table: 'account_heads', row: () => row, at: event, position: event.position });
  }

  /** A period that was forgotten, as it was before an event; or a new one. */
  async #periodBefore(event: Pick<Link, 'stream' | 'revision' | 'position'>, stream: string): Promise<Period> {
    const period = new Period(stream);
    const isNew = event.stream === stream && event.revision === 0;
    const events = isNew ? [] : await this.#read(stream, 0);
    for (const earlier of events) if (earlier.position < event.position) period.apply(earlier);
    this.periods.set(stream, period);
    return period;
  }

  #usage(recorded: RecordedEvent, period: Period): void {
    const event = period.apply(recorded);
    const { data, type, stream } = event;
    const account = this.accounts.get(stream.split('-')[1] ?? '');
    if (!account) throw new Divergence(event, 'stream', 'one of an account that was opened before', stream);
    if (type === 'UsagePeriodOpened') {
      must(event, account.opening(event));
      account.newest = period;
      this.rows.credits += 1;
    }
    const charge = period.charges.get(type.startsWith('Metadata') ? data.lookup_id : data.token);
    if (charge) this.#charged(event, charge, account);
    this.#expectCredits(period, event);
  }

  #expectCredits(period: Period, { position }: Link): void {
    const { stream, revision } = period;
    const isFinal = period.phase === 'closed' && (period.isInvoiced || linesOf(period).length === 0);
    const forget = () => {
      const { keys } = this.accounts.get(period.opened.data.account_id) ?? {};
      for (const charge of period.charges.values())
        if (charge.key && keys?.get(charge.key.key_hash) === charge) keys.delete(charge.key.key_hash);
      period.charges.clear();
      this.periods.delete(stream);
    };
    this.#expect(
      stream,
      { table: 'credits', row: () => creditsRow(period), at: { stream, revision }, position, forget },
      isFinal,
    );
  }

  #expectJob(job: Job, { position }: Link): void {
    const { token } = job.queued.data;
    const { stream, revision } = job;
    const forget = () => this.jobs.delete(token);
    this.#expect(
      token,
      { table: 'jobs', row: () => jobRow(job), at: { stream, revision }, position, forget },
      job.isFinished,
    );
  }

  #charged(event: Link, charge: Charge, account: Account): void {
    const { type, data, position } = event;
    const { account_id } = account.opened.data;
    if (type === 'DownloadQueued') {
      if (this.jobs.has(data.token)) throw new Divergence(event, 'data.token', 'one that was never used', data.token);
      const job = new Job(event);
      this.jobs.set(data.token, job);
      this.rows.jobs += 1;
      this.#expectJob(job, event);
    } else if (type !== 'DownloadConfirmed') {
      this.rows.overage_ledger += 1;
      this.#expect(event.id, { table: 'overage_ledger', row: () => ledgerRow(event, account_id), at: event, position });
    }
    const job = this.jobs.get(data.token);
    if (type === 'DownloadVoided' && job) job.isVoided = true;
    const { key } = charge;
    if (!key) return;
    const holder = account.keys.get(key.key_hash);
    if (type === 'DownloadQueued') {
      if (holder && !holder.voided)
        throw new Divergence(event, 'data.idempotency', 'a key that no other download has', key);
      if (!account.freed.delete(key.key_hash)) this.rows.idempotency_keys += 1;
      account.keys.set(key.key_hash, charge);
    } else if (holder !== charge) return;
    else if (charge.voided) account.freed.add(key.key_hash);
    const { stream } = event;
    const { token } = data;
    const row = () => {
      const { confirmed, voided, rate, revision } = charge;
      return { account_id, ...key, token, overage: rate !== null, stream, revision: revision + 1, confirmed, voided };
    };
    this.#expect(`${account_id} ${key.key_hash}`, { table: 'idempotency_keys', row, at: event, position });
  }

  #job(recorded: RecordedEvent, token: string): void {
    const job = this.jobs.get(token);
    if (!job)
      throw new Divergence(recorded, 'stream', 'one of a download that was queued and has not ended', recorded.stream);
    this.#expectJob(job, job.apply(recorded));
  }

  async #invoice(recorded: RecordedEvent, id: string): Promise<void> {
    const account = this.accounts.get(id);
    if (!account) throw new Divergence(recorded, 'stream', 'one of an account that was opened before', recorded.stream);
    const event = account.invoices.follow(recorded);
    const stream = account.invoices.periodOf(event);
    const period = this.periods.get(stream) ?? (stream ? await this.#periodBefore(event, stream) : undefined);
    account.invoices.check(event, period);
    if (period) {
      period.isInvoiced ||= event.data.covers === 'period';
      this.#expectCredits(period, event);
    }
    this.rows.invoices += 1;
    this.#expect(event.id, { table: 'invoices', row: () => invoiceRow(event), at: event, position: event.position });
  }
}
