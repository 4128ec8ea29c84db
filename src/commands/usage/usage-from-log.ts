import { accountStream } from '../../domain/account-events.ts';
import { usageStream } from '../../domain/billing-period.ts';
import { parseAccountEvent } from '../../domain/recorded-event.ts';
import type { OpenUsage, UsageSnapshot } from '../../domain/usage-state.ts';
import { KnownUsage, usageOrigin } from './usage-cache.ts';
import type { EventStore } from '../../ports/event-store.ts';
import type { LaneRequest } from './batch.ts';
import type { UsageLanes } from './writer-registry.ts';

/** Reads an account's usage from the log, where the read model has no row, or one that is not believed. */

/**
 * Where an account's usage begins: whoever goes on from there knows nothing, and reads everything.
 *
 * @returns undefined for an account that was never opened
 * @throws {EventStoreUnavailable}
 */
async function originOfUsage(store: Pick<EventStore, 'read'>, accountId: string): Promise<UsageSnapshot | undefined> {
  const [first] = await store.read(accountStream(accountId), 0, 1);
  const opened = first && parseAccountEvent(first).event;
  if (opened?.type !== 'AccountOpened') return undefined;
  return usageOrigin(usageStream(accountId, { start: opened.data.period_start }));
}

/**
 * Follows an account from its first period to the newest one. The account's writer remembers it, so that the streams are read
 * once and not for each request.
 *
 * @returns what requests are to go on from, and the newest period; undefined where the log cannot be read in time
 */
export async function usageFromLog(
  { store, lanes }: { store: Pick<EventStore, 'read'>; lanes: UsageLanes },
  accountId: string,
  request: Pick<LaneRequest, 'cause' | 'deadlineMs'>,
): Promise<{ origin: UsageSnapshot; usage: OpenUsage } | undefined> {
  const origin = await originOfUsage(store, accountId);
  if (!origin) throw new Error(`${accountId} was never opened, though it has a key or a period`);
  const answer = await lanes.ask(accountId, { ...request, snapshot: origin, command: { kind: 'observe' } });
  return answer.outcome === 'accepted' ? { origin, usage: answer.usage } : undefined;
}

/** Every period of an account, oldest first, as the log has them. @throws {EventStoreUnavailable} */
export async function readPeriods(store: Pick<EventStore, 'read'>, accountId: string): Promise<OpenUsage[]> {
  const periods: OpenUsage[] = [];
  for (let from = await originOfUsage(store, accountId); from;) {
    const known = new KnownUsage(from);
    for (const event of await store.read(from.stream, 0)) known.fold(event);
    const { usage } = known.snapshot;
    if (usage.phase === 'absent') break;
    periods.push(usage);
    from = usage.next ? usageOrigin(usageStream(accountId, usage.next.period)) : undefined;
  }
  return periods;
}
