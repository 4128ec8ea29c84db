import { usageStream } from '../../domain/billing-period.ts';
import type { UsagePeriod, UsageSnapshot } from '../../domain/usage-state.ts';
import type { EventStore } from '../../ports/event-store.ts';
import type { WriterRequest } from './decide-batch.ts';
import { originOfUsage, UsageCache, usageOrigin } from './usage-cache.ts';
import type { WriterRegistry } from './writer-registry.ts';

/** Reads an account's usage from the log alone, for the case that the read model has no row or one that is not believed. */

/**
 * Follows an account from its first period to the newest one. The account's writer caches it, so the streams are read once and
 * not for each request.
 *
 * @returns the snapshot that further requests are to bring along, and the newest period; undefined when the log cannot be read
 *   in time
 */
export async function usageFromLog(
  { store, writers }: { store: Pick<EventStore, 'read'>; writers: WriterRegistry },
  accountId: string,
  request: Pick<WriterRequest, 'cause' | 'deadlineMs'>,
): Promise<{ origin: UsageSnapshot; usage: UsagePeriod } | undefined> {
  const origin = await originOfUsage(store, accountId);
  if (!origin) throw new Error(`${accountId} was never opened, though it has a key or a period`);
  const answer = await writers.ask(accountId, { ...request, snapshot: origin, command: { kind: 'query' } });
  return answer.outcome === 'accepted' ? { origin, usage: answer.usage } : undefined;
}

/** Every period of an account in the log, oldest first. @throws {EventStoreUnavailable} */
export async function readPeriods(store: Pick<EventStore, 'read'>, accountId: string): Promise<UsagePeriod[]> {
  const periods: UsagePeriod[] = [];
  for (let from = await originOfUsage(store, accountId); from;) {
    const cache = new UsageCache(from);
    for (const event of await store.read(from.stream, 0)) cache.fold(event);
    const { usage } = cache.snapshot;
    if (usage.phase === 'absent') break;
    periods.push(usage);
    from = usage.next ? usageOrigin(usageStream(accountId, usage.next.period)) : undefined;
  }
  return periods;
}
