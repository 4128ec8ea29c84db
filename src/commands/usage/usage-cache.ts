import type { KeyedDownload } from '../../domain/decide-usage.ts';
import type { DownloadQueued } from '../../domain/usage-events.ts';
import { evolveUsage } from '../../domain/usage.ts';
import { initialUsage } from '../../domain/usage-state.ts';
import type { UsageSnapshot } from '../../domain/usage-state.ts';
import { usageStream } from '../../domain/billing-period.ts';
import { parseUsageEvent } from '../../domain/recorded-event.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-store.ts';
import { firstPreviousHash } from '../event-metadata.ts';

export interface QueuedDownload extends DownloadQueued {
  stream: string;
  revision: number;
  queuedAt: string;
}

type Place = Pick<UsageSnapshot, 'stream' | 'revision'>;

/**
 * What a process knows of an account's usage: a snapshot that it keeps up to date, and what came after the point it started
 * from: the downloads that were queued, and those that were confirmed or voided. What came up to that point is in rows of
 * the read model.
 */
export class KnownUsage {
  snapshot: UsageSnapshot;
  #since: Place;
  readonly #queued = new Map<string, QueuedDownload>();
  /** By the hash of an idempotency key, the newest download asked for with it. */
  readonly #tokenOfKey = new Map<string, string>();
  /** By token, how it came out, which is one or the other for ever. */
  readonly #settled = new Map<string, Place & { as: 'confirmed' | 'voided' }>();

  constructor(snapshot: UsageSnapshot) {
    this.snapshot = snapshot;
    this.#since = snapshot;
  }

  get keptCount(): number {
    return this.#queued.size + this.#settled.size;
  }

  queued(token: string): QueuedDownload | undefined {
    return this.#queued.get(token);
  }

  /**
   * The newest download asked for with an idempotency key.
   *
   * @param row what the read model has of it, as of a point from which on everything is known here (`coversAfter`)
   */
  keyed(keyHash: string, row: KeyedDownload | undefined): KeyedDownload | undefined {
    const token = this.#tokenOfKey.get(keyHash);
    const newest = (token === undefined ? undefined : this.#keyedOf(token)) ?? row;
    const settled = newest && this.#settled.get(newest.token)?.as;
    return settled ? { ...newest, [settled]: true } : newest;
  }

  /** Whether `keyed` needs nothing that came after this row and is not known here. */
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

  /** Whether everything after `row` and up to the snapshot is known here. */
  coversAfter(row: Place): boolean {
    return !isAfter(this.#since, row);
  }

  /** Goes on from a newer snapshot, if this one is. */
  adopt(snapshot: UsageSnapshot): void {
    if (!isAfter(snapshot, this.snapshot)) return;
    this.snapshot = snapshot;
    this.#since = snapshot;
    for (const kept of [this.#queued, this.#tokenOfKey, this.#settled]) kept.clear();
  }

  /** Forgets what the read model has rows of. */
  forgetUpTo(row: UsageSnapshot): void {
    if (!isAfter(row, this.#since)) return;
    this.#since = row;
    for (const kept of [this.#queued, this.#settled]) {
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
      this.#settled.set(event.data.token, { stream, revision, as });
    }
  }

  /** Goes on, with nothing folded yet, in the stream that follows an ended period. */
  followToNextPeriod(): void {
    const { usage, lastTime } = this.snapshot;
    if (usage.phase === 'absent' || !usage.next) throw new Error(`${this.snapshot.stream} has not ended`);
    this.snapshot = usageOrigin(usageStream(usage.accountId, usage.next.period), lastTime);
  }
}

/**
 * Reads on from a row of the read model, over the periods that follow, to the end of what the log has.
 *
 * @throws {EventStoreUnavailable}
 */
export async function readOn(store: EventStore, row: UsageSnapshot): Promise<KnownUsage> {
  const known = new KnownUsage(row);
  let newest = row;
  for (;;) {
    const { stream, revision } = known.snapshot;
    for (const event of await store.read(stream, revision + 1)) known.fold(event);
    const { phase } = known.snapshot.usage;
    if (phase === 'open') return known;
    if (phase === 'absent') break;
    newest = known.snapshot;
    known.followToNextPeriod();
  }
  // The next period is not open yet.
  known.snapshot = newest;
  return known;
}

/** The snapshot of a stream of which nothing is known yet. */
export function usageOrigin(stream: string, lastTime = ''): UsageSnapshot {
  return { stream, revision: -1, lastHash: firstPreviousHash(stream), lastTime, usage: initialUsage };
}

/** Streams of one account sort by period, because their names end in its first day. */
function isAfter(one: Place, other: Place): boolean {
  return one.stream > other.stream || (one.stream === other.stream && one.revision > other.revision);
}
