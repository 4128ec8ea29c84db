import type { InvoiceDraft } from './invoice.ts';
import type { InvoiceLine } from './invoice-events.ts';
import type { ParsedEvent } from './recorded-event.ts';
import type { UsageEvent, UsageEventOf } from './usage-events.ts';

/** What is to be paid, from the events of a usage stream alone. */

type Parsed<Type extends UsageEvent['type']> = ParsedEvent<UsageEventOf<Type>>;
type OverageLine = Extract<InvoiceLine, { kind: 'overage' }>;

/** The first fee, due at opening. @param opened first event of an account's first usage stream */
export function openingInvoice(opened: Parsed<'UsagePeriodOpened'>): InvoiceDraft {
  const { account_id, period_start, period_end, terms } = opened.event.data;
  return {
    ...{ account_id, covers: 'opening', period_start, period_end },
    lines: [
      { kind: 'fee', plan: terms.plan, period_start, period_end, cents: terms.fee_cents, event: sourceOf(opened) },
    ],
  };
}

/**
 * A closed period's overage, what was waived of it, and what upgrades added to its fee; then the fee of the next period.
 *
 * @param events a closed period's whole usage stream, in order
 */
export function periodInvoice(events: readonly ParsedEvent<UsageEvent>[]): InvoiceDraft {
  const of = <Type extends UsageEvent['type']>(type: Type): Parsed<Type>[] =>
    events.filter((parsed) => parsed.event.type === type) as unknown as Parsed<Type>[];
  const [opened] = of('UsagePeriodOpened');
  const [ended] = of('UsagePeriodEnded');
  if (!opened || !ended || of('UsagePeriodClosed').length === 0) throw new Error('the period is not closed');
  const voided = new Set(of('DownloadVoided').map(({ event }) => event.data.charge_event_id));
  const isVoided = (chargeEventId: string) => voided.has(chargeEventId);
  const { account_id, period_start, period_end } = opened.event.data;
  const { terms, ...next } = ended.event.data.next;
  const lines: InvoiceLine[] = [
    ...overageLines(of('OverageCharged').filter(({ id }) => !isVoided(id))),
    ...of('ChargeWaived')
      .filter(({ event }) => !isVoided(event.data.charge_event_id))
      .map(waiverLine),
    ...of('PlanChanged').map(feeDifferenceLine),
    { kind: 'fee', plan: terms.plan, ...next, cents: terms.fee_cents, event: sourceOf(ended) },
  ];
  return {
    ...{ account_id, covers: 'period', period_start, period_end },
    lines: lines.filter(({ cents }) => cents !== 0),
  };
}

function overageLines(charges: readonly Parsed<'OverageCharged'>[]): OverageLine[] {
  const byRate = Map.groupBy(charges, ({ event }) => `${String(event.data.rate_cents)} ${event.data.rate_version}`);
  return [...byRate.values()].flatMap((charged) => {
    const [first] = charged;
    if (!first) return [];
    const { rate_cents, rate_version } = first.event.data;
    return {
      kind: 'overage' as const,
      ...{ rate_cents, rate_version },
      quantity: charged.length,
      cents: charged.reduce((sum, { event }) => sum + event.data.cents, 0),
      stream: first.stream,
      revisions: rangesOf(charged.map(({ revision }) => revision)),
    };
  });
}

/** An event has room for so many ranges; a line of more names all between its first charge and its last. */
const maxRanges = 5_000;

/** Each revision once, in order: `[1, 3, 5, 8]` becomes `[[1, 5, 2], [8, 8, 1]]`. */
export function rangesOf(revisions: readonly number[]): [first: number, last: number, step: number][] {
  const ranges: [number, number, number][] = [];
  for (const revision of revisions) {
    const range = ranges.at(-1);
    if (range?.[0] === range?.[1] && range) ranges[ranges.length - 1] = [range[0], revision, revision - range[0]];
    else if (range && revision === range[1] + range[2]) range[1] = revision;
    else ranges.push([revision, revision, 1]);
  }
  return ranges.length > maxRanges ? [[revisions[0] ?? 0, revisions.at(-1) ?? 0, 1]] : ranges;
}

function waiverLine(waived: Parsed<'ChargeWaived'>): InvoiceLine {
  const { reference, charge_event_id, cents } = waived.event.data;
  return { kind: 'waiver', reference, charge_event_id, cents: -cents, event: sourceOf(waived) };
}

function feeDifferenceLine(changed: Parsed<'PlanChanged'>): InvoiceLine {
  const { terms, fee_difference_cents: cents } = changed.event.data;
  return { kind: 'fee_difference', plan: terms.plan, cents, event: sourceOf(changed) };
}

const sourceOf = ({ stream, revision, id }: ParsedEvent) => ({ stream, revision, id });
