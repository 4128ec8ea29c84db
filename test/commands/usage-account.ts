import { expect } from 'vitest';
import { addMetadata, type Cause } from '../../src/commands/handler/event-metadata.ts';
import { firstPreviousHash } from '../../src/commands/handler/hash-chain.ts';
import type { UsageAnswer, WriterCommand, WriterRequest } from '../../src/commands/usage/decide-batch.ts';
import { UsageCache, usageOrigin } from '../../src/commands/usage/usage-cache.ts';
import { WriterRegistry } from '../../src/commands/usage/writer-registry.ts';
import { firstBillingPeriod, usageStream } from '../../src/domain/billing-period.ts';
import type { QueueDownload } from '../../src/domain/decide-usage.ts';
import { type EventMetadata, parseUsageEvent } from '../../src/domain/parse-event.ts';
import type { Terms } from '../../src/domain/plans.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import type { UsageSnapshot } from '../../src/domain/usage-state.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { opened, queueDownload } from '../domain/usage-examples.ts';
import { sum } from '../support/sum.ts';
import { patienceMs } from '../support/wait-for.ts';
import { expectUnbrokenChain } from './unbroken-chain.ts';

/** An account whose usage is in the log, as the requests of one or more processes meet it. */
export interface UsageAccount {
  accountId: string;
  /** The usage stream of its first period. */
  stream: string;
  /** Knows nothing: whoever starts from it reads the stream. */
  origin: UsageSnapshot;
}

export const midNovember = '2026-11-14T12:00:00.000Z';

export function freshCause(): Cause {
  const commandId = newUuid();
  return {
    commandId,
    correlationId: `req-${commandId}`,
    causationId: commandId,
    actor: { type: 'api_key', id: 'key' },
  };
}

export async function openUsage(
  store: EventStore,
  { openedAt = '2026-11-01T00:00:00.000Z', ...terms }: Partial<Terms> & { openedAt?: string } = {},
): Promise<UsageAccount> {
  const accountId = newId('acc');
  const { start, end, anchorDay } = firstBillingPeriod(openedAt);
  const stream = usageStream(accountId, { start });
  const { type, data } = opened(terms, { start, end }, anchorDay);
  const event: UsageEvent = { type, data: { ...data, account_id: accountId } };
  const point = { stream, expected: 'no_stream', previousHash: firstPreviousHash(stream), time: openedAt } as const;
  const { events } = addMetadata([{ event, cause: freshCause() }], point);
  expect(await store.append(stream, 'no_stream', events)).toBe('stored');
  return { accountId, stream, origin: usageOrigin(stream) };
}

/** The account writers of one process. */
export function writersOf(store: EventStore, now: () => string = () => midNovember): WriterRegistry {
  return new WriterRegistry({ store, now, newId: newUuid });
}

export function ask(
  writers: WriterRegistry,
  { accountId, origin }: UsageAccount,
  command: WriterCommand,
  { timeoutMs = patienceMs, ...request }: { timeoutMs?: number } & Partial<WriterRequest> = {},
): Promise<UsageAnswer> {
  const deadlineMs = performance.now() + timeoutMs;
  return writers.ask(accountId, { command, snapshot: origin, cause: freshCause(), deadlineMs, ...request });
}

/** Asks for the downloads of these numbers, all at once. */
export function queueAll(
  writers: WriterRegistry,
  account: UsageAccount,
  numbers: readonly number[],
): Promise<UsageAnswer[]> {
  return Promise.all(numbers.map((number) => ask(writers, account, queueDownload(number))));
}

/** A token that no other test has a job of. */
export const freshToken = () => newUuid().replaceAll('-', '_');

/** A download under a token of its own. */
export const downloadOf = (token: string) => ({ ...(queueDownload(1) as QueueDownload), token });

export const upFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);

export interface StoredUsage {
  event: UsageEvent;
  metadata: EventMetadata;
}

/** The events of a usage stream, whose hash chain must be whole. */
export async function readUsage(store: EventStore, stream: string): Promise<StoredUsage[]> {
  const recorded = await store.read(stream, 0);
  expectUnbrokenChain(recorded);
  return recorded.map((event) => parseUsageEvent(event));
}

/** The fold of a usage stream. @param upTo the last revision to fold; default: all */
export async function foldUsage(store: EventStore, stream: string, upTo = Infinity): Promise<UsageSnapshot> {
  const known = new UsageCache(usageOrigin(stream));
  for (const event of await store.read(stream, 0)) if (event.revision <= upTo) known.fold(event);
  return known.snapshot;
}

/** Tokens of all downloads in a stream, in their order; each must stand right behind one charge with the next ordinal. */
export function tokensOf(stored: readonly StoredUsage[]): string[] {
  const tokens: string[] = [];
  stored.forEach(({ event }, index) => {
    if (event.type !== 'DownloadQueued') return;
    tokens.push(event.data.token);
    expect(stored[index - 1]?.event).toMatchObject({
      type: event.data.overage ? 'OverageCharged' : 'DownloadCreditDebited',
      data: { token: event.data.token, ordinal: tokens.length },
    });
  });
  const charges = stored.filter(({ event }) => ['OverageCharged', 'DownloadCreditDebited'].includes(event.type));
  expect(charges).toHaveLength(tokens.length);
  return tokens;
}

export function chargedCents(stored: readonly StoredUsage[]): number {
  return sum(stored.map(({ event }) => (event.type === 'OverageCharged' ? event.data.cents : 0)));
}

export const outcomesOf = (answers: readonly UsageAnswer[]) => answers.map(({ outcome }) => outcome);

export const count = <Item>(items: readonly Item[], item: Item) => items.filter((other) => other === item).length;
