import { formatCents } from '../../domain/cents.ts';
import { maxKeysOf, type PlanCatalogue, type PlanTerms, type Terms } from '../../domain/plans.ts';
import type { Pool } from '../../domain/usage-summary.ts';
import { CommandFailed } from '../output.ts';

/** One line of what an account has bought. */
export function describeTerms(terms: PlanTerms): string {
  const { downloads_limit, metadata_limit, overage_cents: rateCents, rate_version, fee_cents, hourly_limit } = terms;
  const overage =
    rateCents === null
      ? 'no downloads beyond the allowance'
      : `${formatCents(rateCents)} for each beyond (${rate_version})`;
  const included = `${String(downloads_limit)} downloads, ${overage}, ${String(metadata_limit)} metadata requests`;
  return `${included}, ${formatCents(fee_cents)} a month, ${String(hourly_limit)} requests an hour for each of ${String(maxKeysOf(terms))} keys`;
}

export const usedText = ({ used, limit }: Pick<Pool, 'used' | 'limit'>) => `${String(used)} of ${String(limit)}`;

export const capText = ({ overage_cap_cents: capCents }: Pick<Terms, 'overage_cap_cents'>) =>
  capCents === null ? 'none' : formatCents(capCents);

export function planNamed(plans: PlanCatalogue, plan: string): PlanTerms {
  const terms = plans.get(plan);
  if (!terms) throw new CommandFailed(`there is no plan ${plan}; the plan file has ${[...plans.keys()].join(', ')}`);
  return terms;
}
