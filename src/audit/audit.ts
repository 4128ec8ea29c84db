import type { RecordedEvent } from '../commands/ports.ts';
import { must } from '../verify/divergence.ts';
import type { Row } from '../verify/expected.ts';
import type { Link } from '../verify/forms.ts';
import { Account } from './account.ts';
import { Job } from './job.ts';
import type { Charge, Period } from './period.ts';
import { creditsRow, headRow, invoiceRow, jobRow, keyRow, ledgerRow } from './rows.ts';

/** What holds between the streams of an account. Each event comes to the rows that it must have made, or made other ones. */
export class Audit {
  readonly accounts = new Map<string, Account>();
  /** Jobs that may go on, by their tokens. */
  readonly jobs = new Map<string, Job>();

  account(recorded: RecordedEvent, id: string): Row[] {
    const account = this.accounts.get(id) ?? new Account(id);
    const { revision } = account.apply(recorded);
    this.accounts.set(id, account);
    return [{ ...headRow(account), isNew: revision === 0 }];
  }

  usage(recorded: RecordedEvent, period: Period): Row[] {
    const event = period.apply(recorded);
    const account = this.accounts.get(event.stream.split('-')[1] ?? '');
    must(account !== undefined, event, 'stream', 'one of an account that was opened before');
    account.followPeriod(event);
    const { data, type } = event;
    const charge = period.charges.get(type.startsWith('Metadata') ? data.lookup_id : data.token);
    const ofCharge = charge ? [...this.#charged(event, period), ...this.#keyed(event, charge, account)] : [];
    return [...ofCharge, { ...creditsRow(period), isNew: type === 'UsagePeriodOpened' }];
  }

  /** A row of the ledger for what was taken and given back; a job for each download. */
  #charged(event: Link, period: Period): Row[] {
    const { type, data } = event;
    const known = this.jobs.get(data.token);
    if (known && type === 'DownloadVoided') known.isVoided = true;
    if (type === 'DownloadConfirmed') return [];
    if (type !== 'DownloadQueued') return [{ ...ledgerRow(event, period), isNew: true }];
    must(known === undefined, event, 'data.token', 'one that was never used');
    const job = new Job(event);
    this.jobs.set(data.token, job);
    return [{ ...jobRow(job), isNew: true }];
  }

  /** No idempotency key has two downloads that are not voided. */
  #keyed(event: Link, charge: Charge, { idempotencyKeys }: Account): Row[] {
    if (!charge.key) return [];
    const { key_hash } = charge.key;
    const holder = idempotencyKeys.get(key_hash);
    const isTaken = event.type === 'DownloadQueued';
    must(!isTaken || !holder || holder.voided, event, 'data.idempotency', 'a key that no other download has');
    if (isTaken) idempotencyKeys.set(key_hash, charge);
    return isTaken || holder === charge ? [{ ...keyRow(event, charge), isNew: isTaken && !holder }] : [];
  }

  job(recorded: RecordedEvent, token: string): Row[] {
    const job = this.jobs.get(token);
    must(job !== undefined, recorded, 'stream', 'one of a download that was queued and has not ended');
    job.apply(recorded);
    return [jobRow(job)];
  }

  /** @param periodAt reads a period as it was before an event */
  async invoice(recorded: RecordedEvent, id: string, periodAt: PeriodAt): Promise<Row[]> {
    const invoices = this.accounts.get(id)?.invoices;
    must(invoices !== undefined, recorded, 'stream', 'one of an account that was opened before');
    const event = invoices.follow(recorded);
    const stream = invoices.periodOf(event);
    const period = stream === undefined ? undefined : await periodAt(stream, event);
    invoices.check(event, period);
    if (period) period.isInvoiced ||= event.data.covers === 'period';
    return [{ ...invoiceRow(event, invoices), isNew: true }, ...(period ? [creditsRow(period)] : [])];
  }
}

type PeriodAt = (stream: string, event: Link) => Promise<Period | undefined>;
