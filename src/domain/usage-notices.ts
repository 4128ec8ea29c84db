import { noUse } from './key-limits.ts';
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
      : name.startsWith('metadata:') && after.terms.metadata_limit > before.terms.metadata_limit;
  return before.warned.filter((name) => reached.includes(name) || !isLarger(name));
}

/** The warnings that still count after the limit of a key has changed. */
export function warnedAfterKeyLimit(after: UsagePeriod, keyId: string): readonly string[] {
  const reached = reachedThresholds(after).map(warningName);
  return after.warned.filter((name) => reached.includes(name) || !name.startsWith(`${keyId}:`));
}

function reachedThresholds(usage: UsagePeriod): UsageEventOf<'UsageWarningReached'>['data'][] {
  return [...reachedOfPools(usage), ...reachedOfKeys(usage)];
}

/** As for the pools. All of a key's overage is used when no further charge fits. */
function reachedOfKeys({ terms, keyUse }: UsagePeriod) {
  const { key_limits: limits = {}, overage_cents: rateCents, warning_percents } = terms;
  // In one order, whoever has written the limits: Postgres sorts them.
  return Object.entries(limits)
    .toSorted(byKey)
    .flatMap(([limited_key_id, limit]) => {
      const use = keyUse[limited_key_id] ?? noUse;
      const parts = [
        { pool: 'downloads' as const, used: use.downloads, limit: limit.downloads ?? 0, step: 0 },
        {
          pool: 'overage' as const,
          used: use.overage_cents,
          limit: limit.overage_cents ?? 0,
          step: (rateCents ?? 1) - 1,
        },
      ];
      return parts.flatMap(({ pool, used, limit: most, step }) =>
        warning_percents
          .filter((percent) => most > 0 && (used * 100 >= most * percent || (percent === 100 && used + step >= most)))
          .map((percent) => ({
            pool,
            threshold_percent: percent,
            limited_key_id,
            used: Math.min(used, most),
            limit: most,
          })),
      );
    });
}

// Stryker disable next-line EqualityOperator: no two keys are the same
const byKey = ([one]: [string, unknown], [other]: [string, unknown]): number => (one < other ? -1 : 1);

function reachedOfPools({ terms, downloadCredits, metadataCredits }: UsagePeriod) {
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

/** One pool and threshold, such as `downloads:80`, behind the key if it is of the key's limit. */
export const warningName = ({
  pool,
  threshold_percent,
  limited_key_id,
}: Pick<UsageEventOf<'UsageWarningReached'>['data'], 'pool' | 'threshold_percent' | 'limited_key_id'>): string =>
  `${limited_key_id === undefined ? '' : `${limited_key_id}:`}${pool}:${String(threshold_percent)}`;

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
