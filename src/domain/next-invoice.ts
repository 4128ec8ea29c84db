import { feeOf } from './plans.ts';
import { comingTerms, isLastEnded, isOverAt } from './usage-periods.ts';
import type { UsagePeriod } from './usage-state.ts';

/** The next invoice of an account, as it would be if the billing period ended now. */
export interface NextInvoice {
  lines: NextInvoiceLine[];
  total_cents: number;
}

export type NextInvoiceLine =
  /** Downloads beyond the allowance, less what was waived. */
  | { kind: 'overage'; downloads: number; cents: number }
  /** What upgrades have added to the fee of the period. */
  | { kind: 'fee_difference'; cents: number }
  /** Of the period after it. */
  | { kind: 'fee'; plan: string; cents: number };

/**
 * After the end of the newest period, nothing is used of the one that has begun: its overage and upgrades are still to come, and
 * those of the period before stand on an invoice of their own. `invoice-lines.ts` makes the invoice itself, from the events.
 *
 * @param now UTC ISO-8601
 */
export function nextInvoice(usage: UsagePeriod, now: string): NextInvoice {
  const { overageDownloads, overageCents, feeDifferenceCents } = usage;
  const terms = comingTerms(usage);
  const lines: NextInvoiceLine[] = [];
  if (!isOverAt(usage, now)) {
    lines.push({ kind: 'overage', downloads: overageDownloads, cents: overageCents });
    if (feeDifferenceCents !== 0) lines.push({ kind: 'fee_difference', cents: feeDifferenceCents });
  }
  if (!isLastEnded(usage)) lines.push({ kind: 'fee', plan: terms.plan, cents: feeOf(terms) });
  return { lines, total_cents: lines.reduce((sum, { cents }) => sum + cents, 0) };
}
