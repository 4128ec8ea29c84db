import { accountStream } from '../../domain/account-events.ts';
import { usageStream } from '../../domain/billing-period.ts';
import type { KeyedDownload } from '../../domain/decide-usage.ts';
import { evolveUsage } from '../../domain/evolve-usage.ts';
import { parseAccountEvent, parseUsageEvent } from '../../domain/parse-event.ts';
import type { DownloadQueued } from '../../domain/usage-events.ts';
import { isLastEnded } from '../../domain/usage-periods.ts';
import { initialUsage, type UsageSnapshot } from '../../domain/usage-state.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-store.ts';
import { firstPreviousHash } from '../handler/hash-chain.ts';

export interface QueuedDownload extends DownloadQueued {
  stream: string;
  revision: number;
  queuedAt: string;
}

type Place = Pick<UsageSnapshot, 'stream' | 'revision'>;

/**
 * A cache of an account's usage: a snapshot that it keeps up to date, and each download that was queued, confirmed
 * or voided after the point at which the cache began. The read model has rows of everything up to that point.
 */
export class UsageCache {
  snapshot: UsageSnapshot;
  /** Every event of the account up to this commit position of the log is in the snapshot; undefined: no position is known. */
  coversUpTo: bigint | undefined;
  #since: Place;
  readonly #queued = new Map<string, QueuedDownload>();
  /** The token of the newest download with an idempotency key, by the hash of the key. */
  readonly #tokenOfKey = new Map<string, string>();
  /** By token. A confirmed download is never voided, and the other way round. */
  readonly #outcomes = new Map<string, Place & { as: 'confirmed' | 'voided' }>();

  constructor(snapshot: UsageSnapshot) {
    this.snapshot = snapshot;
    this.coversUpTo = snapshot.coversUpTo;
    this.#since = snapshot;
  }

  get keptCount(): number {
    return this.#queued.size + this.#outcomes.size;
  }

  queued(token: string): QueuedDownload | undefined {
    return this.#queued.get(token);
  }

  /**
   * The newest download with an idempotency key.
   *
   * @param row the read model's row of it, as of a point from which on the cache has everything (`coversAfter`)
   */
  keyed(keyHash: string, row: KeyedDownload | undefined): KeyedDownload | undefined {
    const token = this.#tokenOfKey.get(keyHash);
    const newest = (token === undefined ? undefined : this.#keyedOf(token)) ?? row;
    const outcome = newest && this.#outcomes.get(newest.token)?.as;
    return outcome ? { ...newest, [outcome]: true } : newest;
  }

  /** True if `keyed` gives the right answer with this row. */
  knowsKeyed(keyHash: string, row: Place): boolean {
    return this.#tokenOfKey.has(keyHash) || this.coversAfter(row);
  }

  #keyedOf(token: string): KeyedDownload | undefined {
    const queued = this.#queued.get(token);
    if (!queued) return undefined;
    const { overage, idempotency, stream, revision } = queued;
    const fingerprint = idempotency?.fingerprint ?? null;
    return { token, overage, fingerprint, stream, revision, confirmed: false, voided: false };
  }

  /** True if the cache has everything after `row` and up to its snapshot. */
  coversAfter(row: Place): boolean {
    return !isAfter(this.#since, row);
  }

  /** Goes on from this snapshot if it is newer. */
  adopt(snapshot: UsageSnapshot): void {
    const { coversUpTo = -1n } = snapshot;
    if (coversUpTo > (this.coversUpTo ?? -1n)) this.coversUpTo = coversUpTo;
    if (isAfter(snapshot, this.snapshot)) this.#goOnFrom(snapshot);
  }

  /** Forgets everything, and begins at this snapshot. */
  beginAt(snapshot: UsageSnapshot): void {
    this.coversUpTo = snapshot.coversUpTo;
    this.#goOnFrom(snapshot);
  }

  #goOnFrom(snapshot: UsageSnapshot): void {
    this.snapshot = snapshot;
    this.#since = snapshot;
    for (const kept of [this.#queued, this.#tokenOfKey, this.#outcomes]) kept.clear();
  }

  /** Forgets the downloads up to `row`, which the read model has rows of. */
  forgetUpTo(row: UsageSnapshot): void {
    if (!isAfter(row, this.#since)) return;
    this.#since = row;
    for (const kept of [this.#queued, this.#outcomes]) {
      for (const [token, place] of kept) if (!isAfter(place, row)) kept.delete(token);
    }
    for (const [keyHash, token] of this.#tokenOfKey) if (!this.#queued.has(token)) this.#tokenOfKey.delete(keyHash);
  }

  fold(recorded: RecordedEvent): void {
    const { event, metadata, revision, stream } = parseUsageEvent(recorded);
    if (stream !== this.snapshot.stream || revision !== this.snapshot.revision + 1) {
      throw new Error(
        `expected event ${String(this.snapshot.revision + 1)} of ${this.snapshot.stream}, got ${String(revision)} of ${stream}`,
      );
    }
    this.snapshot = {
      stream,
      revision,
      lastHash: metadata.hash,
      lastTime: metadata.time,
      usage: evolveUsage(this.snapshot.usage, event),
    };
    if (event.type === 'DownloadQueued') {
      const { token, idempotency } = event.data;
      this.#queued.set(token, { ...event.data, stream, revision, queuedAt: metadata.time });
      if (idempotency) this.#tokenOfKey.set(idempotency.key_hash, token);
    } else if (event.type === 'DownloadConfirmed' || event.type === 'DownloadVoided') {
      const as = event.type === 'DownloadConfirmed' ? 'confirmed' : 'voided';
      this.#outcomes.set(event.data.token, { stream, revision, as });
    }
  }

  /** Goes on in the stream of the next period, with nothing of it folded yet. */
  followToNextPeriod(): void {
    const { usage, lastTime } = this.snapshot;
    if (usage.phase === 'absent' || !usage.next) throw new Error(`${this.snapshot.stream} has not ended`);
    this.snapshot = usageOrigin(usageStream(usage.accountId, usage.next.period), lastTime);
  }
}

/**
 * Reads on from a row of the read model, through the periods that follow, to the end of the newest one.
 *
 * @throws {EventStoreUnavailable}
 */
export async function readOn(store: EventStore, row: UsageSnapshot): Promise<UsageCache> {
  const cache = new UsageCache(row);
  let newest = row;
  for (;;) {
    const { stream, revision } = cache.snapshot;
    for (const event of await store.read(stream, revision + 1)) cache.fold(event);
    const { usage } = cache.snapshot;
    if (usage.phase === 'absent') break;
    if (usage.phase === 'open' || isLastEnded(usage)) return cache;
    newest = cache.snapshot;
    cache.followToNextPeriod();
  }
  // The next period is not open yet.
  cache.snapshot = newest;
  return cache;
}

/** The snapshot of a stream before its first event. */
export function usageOrigin(stream: string, lastTime = ''): UsageSnapshot {
  return { stream, revision: -1, lastHash: firstPreviousHash(stream), lastTime, usage: initialUsage };
}

/**
 * The snapshot before the first event of an account's first period: a reader that begins there reads everything.
 *
 * @returns undefined for an account that was never opened
 * @throws {EventStoreUnavailable}
 */
export async function originOfUsage(
  store: Pick<EventStore, 'read'>,
  accountId: string,
): Promise<UsageSnapshot | undefined> {
  const [first] = await store.read(accountStream(accountId), 0, 1);
  const opened = first && parseAccountEvent(first).event;
  if (opened?.type !== 'AccountOpened') return undefined;
  return usageOrigin(usageStream(accountId, { start: opened.data.period_start }));
}

/** Streams of one account sort by period, because their names end in its first day. */
export function isAfter(one: Place, other: Place): boolean {
  return one.stream > other.stream || (one.stream === other.stream && one.revision > other.revision);
}
