import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { keyPath } from '../../src/adapters/files/file-key.ts';
import type { WholeLog } from '../../src/ports/event-store.ts';
import type { Call } from './clients.ts';
import type { StoredEvent } from './event-log.ts';
import type { Evidence } from './judge.ts';

/**
 * An event's time is that at which the server took it. Readers get it when it is on disk, which is later on a busy machine: an
 * answer may rightly show the state before it until then. All times are of one machine's clock.
 */
const shownWithinMs = 2_000;

interface RealHistory {
  calls: readonly Call[];
  store: WholeLog;
  filesDirectory: string;
  /** By the machine's clock, without the offset of business time. */
  startedAtMs: number;
  clockOffsetMs: number;
}

/** What a history of real processes has left behind. */
export async function evidenceOf(history: RealHistory): Promise<Evidence> {
  const { calls, store, filesDirectory, startedAtMs, clockOffsetMs } = history;
  const events: StoredEvent[] = [];
  for (let page = await store.readAll(-1n, 1_000); page.length > 0;) {
    events.push(...page.map((event) => ({ ...event, shownAtMs: event.created.getTime() - startedAtMs })));
    page = await store.readAll(page.at(-1)?.position ?? 0n, 1_000);
  }
  nameUnansweredRequests(calls, events);
  const byStream = Map.groupBy(events, ({ stream }) => stream);
  return {
    calls,
    world: {
      startMs: startedAtMs + clockOffsetMs,
      now: () => new Date(Date.now() + clockOffsetMs).toISOString(),
      log: { readAll: () => events, read: (stream) => byStream.get(stream) ?? [], shownWithinMs },
      // A process that stands still gets its answers late, and nobody notes when.
      hadTroubleWithPostgres: () => true,
      files: { has: (file) => existsSync(join(filesDirectory, keyPath(file))) },
    },
  };
}

/**
 * The service names requests itself, so a client that got no answer does not know the name of its own. A charge of a request
 * that nobody knows is that of an unanswered one for the same video and with the same key, each of them once.
 */
function nameUnansweredRequests(calls: readonly Call[], events: readonly StoredEvent[]): void {
  const isAnswered = ({ answer }: Call) => answer !== undefined && answer.status !== 'cut';
  const known = new Set(calls.filter(isAnswered).map(({ request }) => request.id));
  const unanswered = new Set(calls.filter((call) => !isAnswered(call)));
  for (const { type, data, metadata, shownAtMs, stream } of events) {
    if (type !== 'DownloadQueued' && type !== 'MetadataCreditDebited') continue;
    const { $correlationId: id } = metadata as { $correlationId: string };
    if (known.has(id)) continue;
    known.add(id);
    const { video_id: videoId, idempotency } = data as { video_id: string; idempotency?: { key_hash: string } };
    const operation = type === 'DownloadQueued' ? '/video/download' : '/video/metadata';
    const isIts = ({ accountId, request, keyHash, sentMs }: Call) =>
      request.operation === operation &&
      stream.startsWith(`usage-${accountId}-`) &&
      keyHash === idempotency?.key_hash &&
      request.url?.endsWith(`/${videoId}`) === true &&
      sentMs <= shownAtMs;
    const call = [...unanswered].find(isIts);
    if (!call) continue;
    unanswered.delete(call);
    call.request.id = id;
  }
}
