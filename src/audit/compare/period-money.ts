import type { Link } from '../rules/event-schemas.ts';
import { feeOf } from '../rules/invoice-lines.ts';
import { usageStream } from '../rules/streams.ts';
import type { ExpectedRows } from './expected-rows.ts';
import { emptyMonth, emptyPeriod, type Money, noMoney, type PeriodMoney } from './subjects.ts';

export const phases = ['open', 'ended', 'closed'] as const;

interface Line {
  kind: string;
  cents: number;
  period_start: string;
}

/** What each period of each account costs and what documents say of it, by the events alone; and the sums of months. */
export class MoneyRows {
  readonly #rows: ExpectedRows;
  /** By stream: a credit note may concern any of them. */
  readonly #periods = new Map<string, PeriodMoney>();
  readonly #months = new Map<string, ReturnType<typeof emptyMonth>>();
  /** The invoices of each account by their numbers. */
  readonly #lines = new Map<string, { start: string; lines: readonly Line[] }>();

  constructor(rows: ExpectedRows) {
    this.#rows = rows;
  }

  used(event: Link, accountId: string): void {
    const { type, data, stream } = event;
    const day = stream.slice(-8);
    const start = `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}T00:00:00.000Z`;
    const change = (amounts: Partial<Money>, state: { phase?: string; plan?: string } = {}) => {
      this.#change(event, { accountId, start }, amounts, state);
    };
    if (type === 'UsagePeriodOpened') change({ fee_cents: feeOf(data.terms) }, { plan: data.terms.plan });
    if (type === 'OverageCharged') change({ charges: 1, charged_cents: data.cents });
    if (type === 'DownloadVoided') change({ voided_cents: data.cents });
    if (type === 'ChargeWaived') change({ waived_cents: data.cents });
    if (type === 'PlanChanged' && data.effective === 'now')
      change({ fee_difference_cents: data.fee_difference_cents }, { plan: data.terms.plan });
    if (type === 'SuspensionLifted') change({ fee_difference_cents: data.fee_difference_cents });
    if (type === 'UsagePeriodEnded') change({}, { phase: 'ended' });
    if (type === 'UsagePeriodClosed') change({}, { phase: 'closed' });
  }

  documented(event: Link, accountId: string): void {
    const { type, data } = event;
    if (type === 'InvoiceIssued') {
      const { number, period_start: start } = data;
      const lines = data.lines as readonly Line[];
      this.#lines.set(`${accountId} ${String(number)}`, { start, lines });
      for (const line of lines) this.#change(event, { accountId, start: startOf(line, start) }, invoicedOf(line));
      return;
    }
    const invoice = this.#lines.get(`${accountId} ${String(data.invoice_number)}`);
    const line = invoice?.lines[data.line - 1];
    if (!invoice || !line) return;
    const credited = isFee(line) ? { credited_fee_cents: data.cents } : { credited_overage_cents: data.cents };
    this.#change(event, { accountId, start: startOf(line, invoice.start) }, credited);
  }

  #change(
    event: Link,
    { accountId, start }: { accountId: string; start: string },
    amounts: Partial<Money>,
    { phase, plan }: { phase?: string; plan?: string } = {},
  ): void {
    const stream = usageStream(accountId, start);
    const known = this.#periods.get(stream);
    const subject = known ?? emptyPeriod(accountId, start);
    if (!known) this.#periods.set(subject.stream, subject);
    if (known) this.#count(event, subject, -1);
    if (plan !== undefined) subject.plan = plan;
    if (phase !== undefined) subject.phase = phase;
    addTo(subject, amounts, 1);
    this.#count(event, subject, 1);
    const of = { accountId, key: stream, subject, at: event, isNew: !known, day: stream.slice(-8) };
    this.#rows.expect({ table: 'period_money', ...of, isFinal: subject.phase === 'closed' });
  }

  #count(event: Link, period: PeriodMoney, sign: 1 | -1): void {
    const { month, phase } = period;
    for (const each of phases) {
      const key = `${month} ${each}`;
      const isNew = !this.#months.has(key);
      const subject = this.#months.get(key) ?? emptyMonth(month, each);
      this.#months.set(key, subject);
      if (each === phase) {
        subject.periods += sign;
        addTo(subject, period, sign);
      }
      if (!isNew && each !== phase) continue;
      const of = { accountId: '', key, subject, at: event, isNew, isFinal: false, day: '' };
      this.#rows.expect({ table: 'month_money', ...of });
    }
  }
}

const names = Object.keys(noMoney) as (keyof Money)[];

function addTo(row: Money, amounts: Partial<Money>, sign: 1 | -1): void {
  for (const name of names) row[name] += sign * (amounts[name] ?? 0);
  row.difference_cents = row.charged_cents - row.voided_cents - row.waived_cents - row.invoiced_overage_cents;
}

const isFee = ({ kind }: Line): boolean => kind === 'fee' || kind === 'fee_difference';

/** A fee is that of the period which it names; all else is of the invoice's period. */
const startOf = (line: Line, start: string): string => (line.kind === 'fee' ? line.period_start : start);

function invoicedOf({ kind, cents }: Line): Partial<Money> {
  if (kind === 'fee') return { invoiced_fee_cents: cents };
  return kind === 'fee_difference' ? { invoiced_fee_difference_cents: cents } : { invoiced_overage_cents: cents };
}
