import type { Terms } from '../../domain/plans.ts';
import type { UsageSummary } from '../../domain/usage-summary.ts';

interface UsageSoFar extends Pick<UsageSummary, 'period' | 'downloads' | 'overage'> {
  terms: Pick<Terms, 'overage_cents' | 'overage_cap_cents' | 'suspended'>;
}

const dayMs = 86_400_000;

/**
 * Extends the use of a period so far to its end. For people who plan; no decision is made from it.
 *
 * @param now UTC ISO-8601
 * @returns undefined in the first day of a period, which tells too little, and while the account is suspended, which uses nothing
 */
export function periodForecast(
  { period, terms, downloads, overage }: UsageSoFar,
  now: string,
): { downloads: number; overageCents: number } | undefined {
  const lengthMs = Date.parse(period.end) - Date.parse(period.start);
  const goneMs = Date.parse(now) - Date.parse(period.start);
  if (goneMs < dayMs || terms.suspended) return undefined;
  const soFar = downloads.used + overage.downloads;
  const all = Math.round((soFar * lengthMs) / goneMs);
  const beyond = Math.max(0, all - Math.max(soFar, downloads.limit));
  const { overage_cents: rateCents, overage_cap_cents: capCents } = terms;
  if (rateCents === null) return { downloads: Math.min(all, downloads.limit), overageCents: 0 };
  const cents = overage.cents + beyond * rateCents;
  if (capCents === null || cents <= capCents) return { downloads: all, overageCents: cents };
  const fitting = Math.max(0, Math.floor((capCents - overage.cents) / rateCents));
  return { downloads: Math.max(soFar, downloads.limit) + fitting, overageCents: overage.cents + fitting * rateCents };
}
