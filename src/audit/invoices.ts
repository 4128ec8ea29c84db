import { must, mustEqual } from '../verify/divergence.ts';
import type { Link } from '../verify/forms.ts';
import { Chain, mustBeStaff } from './chain.ts';
import { dayOf } from './period.ts';
import type { Charge, Period } from './period.ts';

/** Of an overage line: the stream of its charges, and their revisions, each as first, last and the step between. */
type Line = { kind: string; cents: number } & Partial<{ stream: string; revisions: [number, number, number][] }>;

/** What an account was asked to pay, each line computed again, and what it was given back of that. */
export class Invoices extends Chain {
  readonly #issued: Link[] = [];
  readonly #notes: Link[] = [];

  /** The stream of the period that an invoice is for, or that the line of a credit note names. */
  periodOf({ type, data }: Link): string | undefined {
    if (type === 'InvoiceIssued') return `usage-${data.account_id}-${dayOf(data.period_start)}`;
    return this.#lines(data.invoice_number)[data.line - 1]?.stream;
  }

  check(event: Link, period: Period | undefined): void {
    mustEqual(event, { stream: `invoices-${event.data.account_id}` }, '');
    mustEqual(event, { currency: 'USD' });
    if (event.type === 'InvoiceIssued') this.#issue(event, period);
    else this.#credit(event, period);
  }

  #lines(number: number): Line[] {
    return (this.#issued[number - 1]?.data.lines ?? []) as Line[];
  }

  #issue(event: Link, period: Period | undefined): void {
    const { covers, period_start } = event.data;
    const isFirst = covers === 'opening' && period?.opened.data.previous_period_start === null;
    const isDue = isFirst || (covers === 'period' && period?.phase === 'closed');
    must(period !== undefined && isDue, event, 'data.covers', 'a first period, or one that is closed');
    const isTwice = this.#issued.some(({ data }) => data.covers === covers && data.period_start === period_start);
    must(!isTwice, event, 'data.period_start', 'one that was not invoiced yet');
    const lines = isFirst ? [feeLine(period.opened, period.opened.data)] : linesOf(period);
    const total_cents = sum(lines);
    must(total_cents > 0, event, 'type', 'no invoice of nothing');
    mustEqual(event, {
      number: this.#issued.push(event),
      period_end: period.opened.data.period_end,
      lines,
      total_cents,
    });
  }

  /** Within the invoice, the line and the charge. */
  #credit(event: Link, period: Period | undefined): void {
    const { reference, invoice_number, line, charge_event_id, cents } = event.data;
    mustBeStaff(event);
    const lines = this.#lines(invoice_number);
    const of = lines[line - 1];
    must(of !== undefined, event, 'data.line', 'a line of an invoice');
    must(!this.#notes.some(({ data }) => data.reference === reference), event, 'data.reference', 'a new one');
    mustEqual(event, { number: this.#notes.push(event) });
    const notes = this.#notes.map(({ data }) => data).filter((note) => note.invoice_number === invoice_number);
    const ofLine = notes.filter((note) => note.line === line);
    const left = [sum(lines) - sum(notes), of.cents - sum(ofLine)];
    if (charge_event_id !== null) {
      const charge = [...(period?.charges.values() ?? [])].find(({ id }) => id === charge_event_id);
      const isOfLine = of.revisions?.some(
        ([first, last, step]) =>
          charge && charge.revision >= first && charge.revision <= last && (charge.revision - first) % step === 0,
      );
      must(charge !== undefined && isOfLine === true, event, 'data.charge_event_id', 'a charge of the line');
      left.push(charge.leftCents - sum(ofLine.filter((note) => note.charge_event_id === charge_event_id)));
    }
    const most = cents + Math.min(...left);
    must(cents > 0 && cents <= most, event, 'data.cents', `at least 1 and at most ${most}`);
  }
}

const sum = (parts: readonly { cents: number }[]) => parts.reduce((total, { cents }) => total + cents, 0);
const sourceOf = ({ stream, revision, id }: Link) => ({ stream, revision, id });

function feeLine(
  event: Link,
  { terms, period_start, period_end }: Pick<Link['data'], 'terms' | 'period_start' | 'period_end'>,
) {
  return { kind: 'fee', plan: terms.plan, period_start, period_end, cents: terms.fee_cents, event: sourceOf(event) };
}

/** Overage by rate, what was waived of it, what upgrades added to the fee, and the fee of the next period. */
export function linesOf({ stream, charges, waivers, planChanges, ended }: Period): Line[] {
  const charged = [...charges.values()].filter((charge) => charge.rate && !charge.voided);
  const byRate = Map.groupBy(charged, ({ rate }) => JSON.stringify(rate));
  const overage = [...byRate.values()].map((ofRate) => {
    const [rate, quantity] = [ofRate[0]?.rate, ofRate.length];
    const cents = quantity * (rate?.rate_cents ?? 0);
    return { kind: 'overage', ...rate, quantity, cents, stream, revisions: rangesOf(ofRate) };
  });
  const waived = waivers
    .filter(({ data }) => !charges.get(data.token)?.voided)
    .map((event) => {
      const { reference, charge_event_id, cents } = event.data;
      return { kind: 'waiver', reference, charge_event_id, cents: -cents, event: sourceOf(event) };
    });
  const differences = planChanges.map((event) => {
    const { terms, fee_difference_cents: cents } = event.data;
    return { kind: 'fee_difference', plan: terms.plan, cents, event: sourceOf(event) };
  });
  const fee = ended ? [feeLine(ended, ended.data.next)] : [];
  return [...overage, ...waived, ...differences, ...fee].filter(({ cents }) => cents !== 0);
}

/** Each revision once, as first, last and the step between: 1, 3, 5, 8 are 1 to 5 in steps of 2, and 8. */
function rangesOf(charges: readonly Charge[]): [number, number, number][] {
  const ranges: [number, number, number][] = [];
  for (const { revision } of charges) {
    const [first, last, step] = ranges.at(-1) ?? [-1, -2, 0];
    if (first === last) ranges.splice(-1, 1, [first, revision, revision - first]);
    else if (revision - last === step) ranges.splice(-1, 1, [first, revision, step]);
    else ranges.push([revision, revision, 1]);
  }
  return ranges;
}
