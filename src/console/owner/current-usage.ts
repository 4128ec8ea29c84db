import { readNewestCredits } from '../../../projections/credits.ts';
import { type NotBelieved, notBelieved } from '../../../projections/credits-macs.ts';
import { usageFromLog } from '../../commands/usage/usage-from-log.ts';
import type { UsagePeriod, UsageSnapshot } from '../../domain/usage-state.ts';
import { away, type OwnerVisit } from '../visit.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import { causeOf } from './owner-request.ts';

const budgetMs = 5_000;

/** The newest period's row, from which a decision goes on; without a row with a valid MAC, the place where the log begins. */
export async function snapshotOf(
  visit: OwnerVisit,
  dependencies: ConsoleDependencies,
  row?: UsageSnapshot | NotBelieved,
): Promise<UsageSnapshot> {
  const { pool, macs, newUuid } = dependencies;
  const { accountId } = visit.session;
  const newest = row ?? (await readNewestCredits(pool, accountId, macs));
  if (newest !== undefined && newest !== notBelieved) return newest;
  const cause = causeOf(visit, newUuid());
  const read = await usageFromLog(dependencies, accountId, { cause, deadlineMs: performance.now() + budgetMs });
  if (!read) throw away();
  return read.origin;
}

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
    deadlineMs: performance.now() + budgetMs,
  });
  if (answer.outcome !== 'accepted') throw away();
  return answer.usage;
}
