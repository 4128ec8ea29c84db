import type { NotBelieved } from '../../../projections/credits-macs.ts';
import type { UsagePeriod, UsageSnapshot } from '../../domain/usage-state.ts';
import { usageBudgetMs, usageSnapshot } from '../usage-snapshot.ts';
import { away, type OwnerVisit } from '../visit.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import { causeOf } from './owner-request.ts';

/** @see usageSnapshot */
export const snapshotOf = (
  visit: OwnerVisit,
  dependencies: ConsoleDependencies,
  row?: UsageSnapshot | NotBelieved,
): Promise<UsageSnapshot> =>
  usageSnapshot(dependencies, {
    accountId: visit.session.accountId,
    cause: causeOf(visit, dependencies.newUuid()),
    row,
  });

/**
 * The newest billing period, from the read model's row and the stream's tail: never behind a change that somebody has been told
 * of.
 *
 * @param row the newest row, where the caller has read it
 */
export async function currentUsage(
  visit: OwnerVisit,
  dependencies: ConsoleDependencies,
  row?: UsageSnapshot | NotBelieved,
): Promise<UsagePeriod> {
  const snapshot = await snapshotOf(visit, dependencies, row);
  const answer = await dependencies.writers.ask(visit.session.accountId, {
    command: { kind: 'query' },
    snapshot,
    cause: causeOf(visit, dependencies.newUuid()),
    deadlineMs: performance.now() + usageBudgetMs,
  });
  if (answer.outcome !== 'accepted') throw away();
  return answer.usage;
}
