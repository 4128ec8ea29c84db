import { readNewestCredits } from '../../projections/credits.ts';
import { type NotBelieved, notBelieved } from '../../projections/credits-macs.ts';
import type { Cause } from '../commands/handler/event-metadata.ts';
import { usageFromLog } from '../commands/usage/usage-from-log.ts';
import type { WriterRegistry } from '../commands/usage/writer-registry.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import type { SharedDependencies } from './site.ts';
import { away } from './visit.ts';

/** How long a page waits for the log, in milliseconds. */
export const usageBudgetMs = 5_000;

/**
 * The newest period's row, from which a decision goes on; without a row with a valid MAC, the place where the log begins.
 *
 * @param request row: the newest one, where the caller has read it
 * @throws {PageRefusal} while the log cannot be read
 */
export async function usageSnapshot(
  dependencies: Pick<SharedDependencies, 'pool' | 'macs' | 'store'> & { writers: WriterRegistry },
  { accountId, cause, row }: { accountId: string; cause: Cause; row?: UsageSnapshot | NotBelieved | undefined },
): Promise<UsageSnapshot> {
  const newest = row ?? (await readNewestCredits(dependencies.pool, accountId, dependencies.macs));
  if (newest !== undefined && newest !== notBelieved) return newest;
  const deadlineMs = performance.now() + usageBudgetMs;
  const read = await usageFromLog(dependencies, accountId, { cause, deadlineMs });
  if (!read) throw away();
  return read.origin;
}
