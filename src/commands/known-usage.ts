import type { DownloadQueued } from '../domain/usage-events.ts';
import { evolveUsage, initialUsage } from '../domain/usage.ts';
import type { UsageSnapshot } from '../domain/usage.ts';
import { usageStream } from '../domain/billing-period.ts';
import { parseUsageEvent } from '../domain/recorded-event.ts';
import type { RecordedEvent } from './ports.ts';
import { firstPreviousHash } from './seal.ts';

export interface QueuedDownload extends DownloadQueued {
  stream: string;
  revision: number;
  queuedAt: string;
}

/**
 * What a process knows of an account's usage: a snapshot that it keeps up to date, and the downloads queued after the point
 * it started from. Downloads up to that point are rows of the read model.
 */
export class KnownUsage {
  snapshot: UsageSnapshot;
  #since: Pick<UsageSnapshot, 'stream' | 'revision'>;
  readonly #queued = new Map<string, QueuedDownload>();

  constructor(snapshot: UsageSnapshot) {
    this.snapshot = snapshot;
    this.#since = snapshot;
  }

  get queuedCount(): number {
    return this.#queued.size;
  }

  queued(token: string): QueuedDownload | undefined {
    return this.#queued.get(token);
  }

  /** Whether every download queued after `row` and up to the snapshot is known here by its token. */
  coversTokensAfter(row: UsageSnapshot): boolean {
    return !isAfter(this.#since, row);
  }

  /** Goes on from a newer snapshot, if this one is. */
  adopt(snapshot: UsageSnapshot): void {
    if (!isAfter(snapshot, this.snapshot)) return;
    this.snapshot = snapshot;
    this.#since = snapshot;
    this.#queued.clear();
  }

  /** Forgets the tokens that the read model has rows for. */
  forgetTokensUpTo(row: UsageSnapshot): void {
    if (!isAfter(row, this.#since)) return;
    this.#since = row;
    for (const [token, queued] of this.#queued) if (!isAfter(queued, row)) this.#queued.delete(token);
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
      this.#queued.set(event.data.token, { ...event.data, stream, revision, queuedAt: metadata.time });
    }
  }

  /** Goes on, with nothing folded yet, in the stream that follows an ended period. */
  followToNextPeriod(): void {
    const { usage, lastTime } = this.snapshot;
    if (usage.phase === 'absent' || !usage.next) throw new Error(`${this.snapshot.stream} has not ended`);
    this.snapshot = usageOrigin(usageStream(usage.accountId, usage.next.period), lastTime);
  }
}

/** The snapshot of a stream of which nothing is known yet. */
export function usageOrigin(stream: string, lastTime = ''): UsageSnapshot {
  return { stream, revision: -1, lastHash: firstPreviousHash(stream), lastTime, usage: initialUsage };
}

/** Streams of one account sort by period, because their names end in its first day. */
function isAfter(one: Pick<UsageSnapshot, 'stream' | 'revision'>, other: Pick<UsageSnapshot, 'stream' | 'revision'>) {
  return one.stream > other.stream || (one.stream === other.stream && one.revision > other.revision);
}
