import { Chain, Divergence, must } from './chain.ts';
import type { Link } from './chain.ts';
import type { Charge, Period } from './period.ts';

interface Line {
  kind: string;
  cents: number;
  /** Of an overage line: where its charges stand. */
  stream?: string;
  revisions?: [number, number, number][];
}

/** What an account was asked to pay, each line computed again. */
export class Invoices extends Chain {
  readonly #issued: Link[] = [];
  readonly #notes: Link[] = [];

  /** @param period that an invoice is for, or that the charge of a credit note belongs to */
  check(event: Link, period: Period | undefined): void {
    must(event, { stream: `invoices-${event.data.account_id}` }, event, '');
    if (event.type === 'InvoiceIssued') this.#issue(event, period);
    else this.#credit(event, period);
  }

  /** The stream of the period that an event needs. */
  periodOf({ type, data, stream }: Link): string {
    const { period_start: start, invoice_number: number, line } = data;
    const lines = this.#issued[number - 1]?.data.lines as Line[] | undefined;
    if (type !== 'InvoiceIssued') return lines?.[line - 1]?.stream ?? '';
    return `usage-${stream.slice('invoices-'.length)}-${start.slice(0, 10).replaceAll('-', '')}`;
  }

  #issue(event: Link, period: Period | undefined): void {
    const { covers, period_start } = event.data;
    const isFirst =
      period && period.phase !== 'absent' && (covers === 'opening' ? isFirstOf(period) : period.phase === 'closed');
    if (!period || !isFirst)
      throw new Divergence(event, 'data.covers', 'a first period, or one that is closed', covers);
    const isTwice = this.#issued.some(({ data }) => data.covers === covers && data.period_start === period_start);
    if (isTwice) throw new Divergence(event, 'data.period_start', 'one that was not invoiced yet', period_start);
    const lines = covers === 'opening' ? [feeLine(period.opened, period.opened.data)] : linesOf(period);
    const { period_end } = period.opened.data;
    must(event, {
      number: this.#issued.push(event),
      period_end,
      lines,
      total_cents: lines.reduce((sum, { cents }) => sum + cents, 0),
    });
  }

  #credit(event: Link, period: Period | undefined): void {
    const { reference, invoice_number, line, charge_event_id, cents } = event.data;
    must(event, { type: 'staff' }, event.actor, 'metadata.actor.');
    const invoice = this.#issued[invoice_number - 1];
    const of = (invoice?.data.lines as Line[] | undefined)?.[line - 1];
    if (!invoice || !of) throw new Divergence(event, 'data.line', 'a line of an invoice', line);
    if (this.#notes.some(({ data }) => data.reference === reference))
      throw new Divergence(event, 'data.reference', 'a new one', reference);
    must(event, { number: this.#notes.push(event) });
    const credited = (isAbout: (note: Link) => boolean) =>
      this.#notes
        .filter((note) => note.data.invoice_number === invoice_number && isAbout(note))
        .reduce((sum, { data }) => sum + data.cents, 0);
    const bounds = [
      invoice.data.total_cents - credited(() => true),
      of.cents - credited(({ data }) => data.line === line),
    ];
    if ((charge_event_id as string | null) !== null) {
      const charge = [...(period?.charges.values() ?? [])].find(({ id }) => id === charge_event_id);
      const isNamed =
        charge &&
        of.revisions?.some(
          ([first, last, step]) =>
            charge.revision >= first && charge.revision <= last && (charge.revision - first) % step === 0,
        );
      if (!isNamed) throw new Divergence(event, 'data.charge_event_id', 'a charge of the line', charge_event_id);
      bounds.push(charge.leftCents - credited(({ data }) => data.charge_event_id === charge_event_id));
    }
    if (Math.min(...bounds) < 0)
      throw new Divergence(event, 'data.cents', `at most ${String(cents + Math.min(...bounds))}`, cents);
  }
}

const isFirstOf = ({ opened }: Period) =>
  (opened.data as { previous_period_start?: unknown }).previous_period_start === null;
const sourceOf = ({ stream, revision, id }: Link) => ({ stream, revision, id });

function feeLine(
  event: Link,
  { terms, period_start, period_end }: Pick<Link['data'], 'terms' | 'period_start' | 'period_end'>,
) {
  return { kind: 'fee', plan: terms.plan, period_start, period_end, cents: terms.fee_cents, event: sourceOf(event) };
}

/** Overage by rate, what was waived of it, what upgrades added to the fee, and the fee of the next period. */
export function linesOf({ stream, charges, waivers, changes, ended }: Period): Line[] {
  const charged = [...charges.values()].filter((charge) => charge.rate && !charge.voided);
  const voided = new Set([...charges.values()].filter((charge) => charge.voided).map(({ id }) => id));
  const byRate = Map.groupBy(charged, ({ rate }) => JSON.stringify(rate));
  return [
    ...[...byRate].map(([rate, ofRate]) => {
      const { rate_cents, rate_version } = JSON.parse(rate) as NonNullable<Charge['rate']>;
      const revisions = rangesOf(ofRate.map(({ revision }) => revision));
      return {
        kind: 'overage',
        rate_cents,
        rate_version,
        quantity: ofRate.length,
        cents: rate_cents * ofRate.length,
        stream,
        revisions,
      };
    }),
    ...waivers
      .filter(({ data }) => !voided.has(data.charge_event_id))
      .map((event) => {
        const { reference, charge_event_id, cents } = event.data;
        return { kind: 'waiver', reference, charge_event_id, cents: -cents, event: sourceOf(event) };
      }),
    ...changes.map((event) => ({
      kind: 'fee_difference',
      plan: event.data.terms.plan,
      cents: event.data.fee_difference_cents,
      event: sourceOf(event),
    })),
    ...(ended ? [feeLine(ended, ended.data.next)] : []),
  ].filter(({ cents }) => cents !== 0);
}

/** Each revision once, as first, last and the step between: 1, 3, 5, 8 are 1 to 5 in steps of 2, and 8. */
function rangesOf(revisions: number[]): [number, number, number][] {
  const ranges: [number, number, number][] = [];
  for (const revision of revisions) {
    const [first, last, step] = ranges.at(-1) ?? [-1, -2, 0];
    if (first === last) ranges.splice(-1, 1, [first, revision, revision - first]);
    else if (revision - last === step) ranges.splice(-1, 1, [first, revision, step]);
    else ranges.push([revision, revision, 1]);
  }
  return ranges;
}
