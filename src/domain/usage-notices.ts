import type { UsageEvent, UsageEventOf, PoolName } from './usage-events.ts';
import type { OpenUsage } from './usage.ts';

/** What the account's owner has to hear of: said once, in the append that brings it about (contract §8.3). */

/** Warnings of a pool: used × 100 ≥ limit × percent. An empty pool has nothing to warn of. */
export function warningsReached(usage: OpenUsage): UsageEvent[] {
  const { downloads_limit, metadata_limit } = usage.terms;
  return [
    ...warningsOf(usage, 'downloads', Math.min(usage.downloadCredits, downloads_limit), downloads_limit),
    ...warningsOf(usage, 'metadata', Math.min(usage.metadataCredits, metadata_limit), metadata_limit),
  ];
}

function warningsOf({ terms, warned }: OpenUsage, pool: PoolName, used: number, limit: number): UsageEvent[] {
  if (limit === 0) return [];
  return terms.warning_percents
    .map((percent) => ({ pool, threshold_percent: percent, used, limit }))
    .filter((warning) => used * 100 >= limit * warning.threshold_percent && !warned.includes(warningName(warning)))
    .map((data) => ({ type: 'UsageWarningReached', data }));
}

/** One pool and threshold, such as `downloads:80`. */
export const warningName = (
  warning: Pick<UsageEventOf<'UsageWarningReached'>['data'], 'pool' | 'threshold_percent'>,
): string => `${warning.pool}:${String(warning.threshold_percent)}`;

/** Whether the allowance is used up and one more charge does not fit under the ceiling. */
export function capIsReached({ terms, downloadCredits, overageCents }: OpenUsage): boolean {
  const { downloads_limit, overage_cents: rateCents, overage_cap_cents: capCents } = terms;
  if (rateCents === null || capCents === null) return false;
  return downloadCredits >= downloads_limit && overageCents + rateCents > capCents;
}

/** @returns the event, in the first append after which it is so */
export function capReached(usage: OpenUsage): UsageEvent[] {
  const { overage_cap_cents: capCents } = usage.terms;
  if (usage.capReached || capCents === null || !capIsReached(usage)) return [];
  return [{ type: 'OverageCapReached', data: { overage_cents: usage.overageCents, overage_cap_cents: capCents } }];
}
