import { must, mustEqual } from '../verify/divergence.ts';
import { feeLine, rangesOf, type Line, type Link } from '../verify/forms.ts';
import { Chain } from './chain.ts';
import type { Period } from './period.ts';

/** What an account was asked to pay, each line computed again, and what it was given back of that. */
export class Invoices extends Chain {
  readonly #issued: Link[] = [];
  readonly #notes: Link['data'][] = [];

  linesOf(invoiceNumber: number): Line[] {
    return (this.#issued[invoiceNumber - 1]?.data.lines ?? []) as Line[];
  }

  /** Each period once, when it is closed; the first one's fee when the account is opened. */
  issue(event: Link, period: Period | undefined): void {
    const { covers } = event.data;
    const isFirst = covers === 'opening' && period?.opened.data.previous_period_start === null;
    const isDue = isFirst || (covers === 'period' && period?.phase === 'closed');
    must(period !== undefined && isDue, event, 'data.covers', 'a first period, or one that is closed');
    const { account_id, period_start, period_end } = period.opened.data;
    mustEqual(event, { account_id, period_start, period_end, currency: 'USD' });
    const isTwice = this.#issued.some(({ data }) => data.covers === covers && data.period_start === period_start);
    must(!isTwice, event, 'data.period_start', 'one that was not invoiced yet');
    const lines = isFirst ? [feeLine(period.opened, period.opened.data)] : linesOf(period);
    mustEqual(event, { number: this.#issued.push(event), lines, total_cents: sum(lines) });
    must(sum(lines) > 0, event, 'data.total_cents', 'more than nothing');
  }

  /** What is credited stays within the invoice, the line and the charge. */
  credit(event: Link, period: Period | undefined): void {
    const { reference, invoice_number, line, charge_event_id, cents } = event.data;
    mustEqual(event, { account_id: this.stream.slice('invoices-'.length), currency: 'USD' });
    const lines = this.linesOf(invoice_number);
    const of = lines[line - 1];
    must(of !== undefined, event, 'data.line', 'a line of an invoice');
    must(!this.#notes.some((note) => note.reference === reference), event, 'data.reference', 'a new one');
    mustEqual(event, { number: this.#notes.push(event.data) });
    const notes = this.#notes.filter((note) => note.invoice_number === invoice_number);
    const ofLine = notes.filter((note) => note.line === line);
    const left = [sum(lines) - sum(notes), of.cents - sum(ofLine)];
    // Of the overage, what was waived before the close is given back already.
    const ofOverage = notes.filter((note) => lines[note.line - 1]?.kind === 'overage');
    const overage = lines.filter(({ kind }) => ['overage', 'waiver', 'waivers'].includes(kind));
    if (of.kind === 'overage') left.push(sum(overage) - sum(ofOverage));
    if (charge_event_id !== null) {
      const charge = [...(period?.charges.values() ?? [])].find(({ id, voided }) => id === charge_event_id && !voided);
      // An overage line has all charges of its period at its rate.
      const { rate_cents, rate_version } = charge?.rate ?? {};
      const isOfLine = rate_cents === of['rate_cents'] && rate_version === of['rate_version'];
      must(charge !== undefined && isOfLine, event, 'data.charge_event_id', 'a charge of the line');
      left.push(charge.leftCents - sum(ofLine.filter((note) => note.charge_event_id === charge_event_id)));
    }
    must(cents > 0 && Math.min(...left) >= 0, event, 'data.cents', `at most ${cents + Math.min(...left)}`);
  }
}

const sum = (parts: readonly { cents: number }[]) => parts.reduce((total, { cents }) => total + cents, 0);

/** Overage by rate, what was waived of it, what upgrades added to the fee, and the fee of the next period. */
export function linesOf({ stream, charges, lines }: Period): Line[] {
  const charged = [...charges.values()].filter(({ rate, voided }) => rate && !voided);
  const voided = [...charges.values()].filter((charge) => charge.voided).map(({ id }) => id);
  const byRate = Map.groupBy(charged, ({ rate }) => JSON.stringify(rate));
  const overage = [...byRate.values()].map((ofRate) => {
    const [rate, quantity] = [ofRate[0]?.rate, ofRate.length];
    const revisions = rangesOf(ofRate.map(({ revision }) => revision));
    return { kind: 'overage', ...rate, quantity, cents: quantity * (rate?.rate_cents ?? 0), stream, revisions };
  });
  const waived = lines.filter((line) => line.kind === 'waiver' && !voided.includes(String(line['charge_event_id'])));
  const rateOf = (line: Line) => charged.find(({ id }) => id === line['charge_event_id'])?.rate;
  const waivers = [...Map.groupBy(waived, (line) => JSON.stringify(rateOf(line))).values()].map((ofRate) => {
    const revisions = rangesOf(ofRate.map(({ event }) => (event as { revision: number }).revision));
    const [rate, quantity] = [ofRate[0] && rateOf(ofRate[0]), ofRate.length];
    return { kind: 'waivers', ...rate, quantity, cents: sum(ofRate), stream, revisions };
  });
  const others = ['fee_difference', 'fee'].flatMap((kind) => lines.filter((line) => line.kind === kind));
  return [...overage, ...waivers, ...others].filter(({ cents }) => cents !== 0);
}
