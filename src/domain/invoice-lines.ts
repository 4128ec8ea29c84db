import type { InvoiceDraft } from './invoice.ts';
import type { InvoiceLine } from './invoice-events.ts';
import type { ParsedEvent } from './parse-event.ts';
import { feeOf } from './plans.ts';
import type { UsageEvent, UsageEventOf } from './usage-events.ts';

/** The lines of invoices, made from the events of a usage stream alone. None is of tax: amounts are without it. */

type Parsed<Type extends UsageEvent['type']> = ParsedEvent<UsageEventOf<Type>>;
type OverageLine = Extract<InvoiceLine, { kind: 'overage' }>;
type WaiversLine = Extract<InvoiceLine, { kind: 'waivers' }>;

/** The first fee, due at opening. @param opened first event of an account's first usage stream */
export function openingInvoice(opened: Parsed<'UsagePeriodOpened'>): InvoiceDraft {
  const { account_id, period_start, period_end, terms } = opened.event.data;
  return {
    account_id,
    covers: 'opening',
    period_start,
    period_end,
    lines: [
      { kind: 'fee', plan: terms.plan, period_start, period_end, cents: terms.fee_cents, event: sourceOf(opened) },
    ],
  };
}

/**
 * A closed period's overage, its waivers and its fee differences after upgrades; then the fee of the next period.
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
  const charges = of('OverageCharged').filter(({ id }) => !voided.has(id));
  const { account_id, period_start, period_end } = opened.event.data;
  const lines: InvoiceLine[] = [
    ...inRanges([...overageLines(charges), ...waiversLines(of('ChargeWaived'), charges)]),
    ...events.flatMap(feeDifferenceLines),
    ...nextFeeLines(ended),
  ];
  return {
    account_id,
    covers: 'period',
    period_start,
    period_end,
    lines: lines.filter(({ cents }) => cents !== 0),
  };
}

type Rate = Pick<OverageLine, 'rate_cents' | 'rate_version'>;
/** A line that names events of the usage stream by their revisions, which are not ranges yet. */
type Counted<Line> = Line extends OverageLine | WaiversLine ? Omit<Line, 'revisions'> & { revisions: number[] } : never;

const sameRate = ({ rate_cents, rate_version }: Rate) => `${String(rate_cents)} ${rate_version}`;

function overageLines(charges: readonly Parsed<'OverageCharged'>[]): Counted<OverageLine>[] {
  const byRate = Map.groupBy(charges, ({ event }) => sameRate(event.data));
  return [...byRate.values()].flatMap((charged) => {
    const [first] = charged;
    // Stryker disable next-line ConditionalExpression,ArrayDeclaration: no group is empty
    if (!first) return [];
    const { rate_cents, rate_version } = first.event.data;
    return { kind: 'overage' as const, rate_cents, rate_version, ...counted(charged) };
  });
}

/** @param charges those that are not voided: a waiver of a charge that was voided later is in no line */
function waiversLines(
  waivers: readonly Parsed<'ChargeWaived'>[],
  charges: readonly Parsed<'OverageCharged'>[],
): Counted<WaiversLine>[] {
  const rates = new Map<string, Rate>(charges.map(({ id, event }) => [id, event.data]));
  const rated = waivers.flatMap((waiver) => {
    const rate = rates.get(waiver.event.data.charge_event_id);
    return rate ? [{ waiver, rate }] : [];
  });
  return [...Map.groupBy(rated, ({ rate }) => sameRate(rate)).values()].flatMap((ofRate) => {
    const [first] = ofRate;
    // Stryker disable next-line ConditionalExpression,ArrayDeclaration: no group is empty
    if (!first) return [];
    const { rate_cents, rate_version } = first.rate;
    const { cents, ...others } = counted(ofRate.map(({ waiver }) => waiver));
    return { kind: 'waivers' as const, rate_cents, rate_version, ...others, cents: -cents };
  });
}

function counted(events: readonly Parsed<'OverageCharged' | 'ChargeWaived'>[]) {
  return {
    quantity: events.length,
    cents: events.reduce((sum, { event }) => sum + event.data.cents, 0),
    // Stryker disable next-line OptionalChaining,StringLiteral: no group is empty
    stream: events[0]?.stream ?? '',
    revisions: events.map(({ revision }) => revision),
  };
}

/**
 * However many events a period has, its invoice fits into one event of 1 MiB. A range takes at most 52 bytes (three whole
 * numbers of up to 16 digits, two commas, two brackets and the comma behind), and there are at most 10 000 of them and one
 * for each line that has none left: 520 kB. Besides these a line takes less than 500 bytes, and there are at most 303 lines:
 * each of `maxPlanChanges` changes of terms may bring a rate, with a line for its charges and one for their waivers, and a
 * difference of the fee; the terms at the start bring two more, and the next fee one. That is 152 kB; with the ids of twenty
 * people 673 kB in all.
 */
const maxRangesOfLine = 5_000;
const maxRangesOfInvoice = 10_000;

/** A line that needs more ranges than are left names all events between its first and its last. */
function inRanges(lines: readonly Counted<OverageLine | WaiversLine>[]): (OverageLine | WaiversLine)[] {
  let left = maxRangesOfInvoice;
  return lines.map(({ revisions, ...line }) => {
    const exact = rangesOf(revisions);
    const fits = exact.length <= Math.min(left, maxRangesOfLine);
    const ranges = fits ? exact : [[revisions[0] ?? 0, revisions.at(-1) ?? 0, 1] satisfies Range];
    left -= ranges.length;
    return { ...line, revisions: ranges };
  });
}

type Range = [first: number, last: number, step: number];

/** Each revision once, in order: `[1, 3, 5, 8]` becomes `[[1, 5, 2], [8, 8, 1]]`. */
export function rangesOf(revisions: readonly number[]): Range[] {
  const ranges: Range[] = [];
  for (const revision of revisions) {
    const range = ranges.at(-1);
    if (range?.[0] === range?.[1] && range) ranges[ranges.length - 1] = [range[0], revision, revision - range[0]];
    else if (range && revision === range[1] + range[2]) range[1] = revision;
    else ranges.push([revision, revision, 1]);
  }
  return ranges;
}

function feeDifferenceLines(parsed: ParsedEvent<UsageEvent>): InvoiceLine[] {
  const { type, data } = parsed.event;
  if (type !== 'PlanChanged' && type !== 'SuspensionLifted') return [];
  const plan = type === 'PlanChanged' ? data.terms.plan : data.plan;
  return [{ kind: 'fee_difference', plan, cents: data.fee_difference_cents, event: sourceOf(parsed) }];
}

/** After an account's last period there is no next fee. */
function nextFeeLines(ended: Parsed<'UsagePeriodEnded'>): InvoiceLine[] {
  const { next } = ended.event.data;
  if (!next) return [];
  const { terms, ...period } = next;
  return [{ kind: 'fee', plan: terms.plan, ...period, cents: feeOf(terms), event: sourceOf(ended) }];
}

const sourceOf = ({ stream, revision, id, metadata: { hash } }: ParsedEvent) => ({ stream, revision, id, hash });
