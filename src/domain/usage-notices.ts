import type { UsageEvent, UsageEventOf } from './usage-events.ts';
import type { UsagePeriod } from './usage-state.ts';

/** Notices to the account's owner: each is stored once, in the append that causes it (contract §8.3). */

/** A pool warns when used × 100 ≥ limit × percent, for each percent of the plan file. A pool with a limit of 0 never warns. */
export function warningsReached(usage: UsagePeriod): UsageEvent[] {
  return reachedThresholds(usage)
    .filter((warning) => !usage.warned.includes(warningName(warning)))
    .map((data) => ({ type: 'UsageWarningReached', data }));
}

/** The warnings that still count after a larger limit; those that it has put out of reach can come again. */
export function warnedAfterUpgrade(before: UsagePeriod, after: UsagePeriod): readonly string[] {
  const reached = reachedThresholds(after).map(warningName);
  const isLarger = (name: string) =>
    name.startsWith('downloads:')
      ? after.terms.downloads_limit > before.terms.downloads_limit
      : after.terms.metadata_limit > before.terms.metadata_limit;
  return before.warned.filter((name) => reached.includes(name) || !isLarger(name));
}

function reachedThresholds({ terms, downloadCredits, metadataCredits }: UsagePeriod) {
  const { downloads_limit, metadata_limit, warning_percents } = terms;
  const pools = [
    { pool: 'downloads' as const, used: Math.min(downloadCredits, downloads_limit), limit: downloads_limit },
    { pool: 'metadata' as const, used: Math.min(metadataCredits, metadata_limit), limit: metadata_limit },
  ];
  return pools.flatMap(({ pool, used, limit }) =>
    warning_percents
      .filter((percent) => limit > 0 && used * 100 >= limit * percent)
      .map((percent) => ({ pool, threshold_percent: percent, used, limit })),
  );
}

/** One pool and threshold, such as `downloads:80`. */
export const warningName = (
  warning: Pick<UsageEventOf<'UsageWarningReached'>['data'], 'pool' | 'threshold_percent'>,
): string => `${warning.pool}:${String(warning.threshold_percent)}`;

/** True if the allowance is used up and one more charge would not fit under the overage cap. */
export function capIsReached({ terms, downloadCredits, overageCents }: UsagePeriod): boolean {
  const { downloads_limit, overage_cents: rateCents, overage_cap_cents: capCents } = terms;
  if (rateCents === null || capCents === null) return false;
  return downloadCredits >= downloads_limit && overageCents + rateCents > capCents;
}

/** @returns the event, in the first append that reaches the cap */
export function capReached(usage: UsagePeriod): UsageEvent[] {
  const { overage_cap_cents: capCents } = usage.terms;
  // Stryker disable next-line ConditionalExpression: no cap is never reached; the compiler needs to be told
  if (usage.capReached || capCents === null || !capIsReached(usage)) return [];
  return [{ type: 'OverageCapReached', data: { overage_cents: usage.overageCents, overage_cap_cents: capCents } }];
}
