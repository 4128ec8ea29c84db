import type { PoolClient } from 'pg';
import { settleAll } from '../../src/async/settle-all.ts';
import { sleep } from '../../src/async/sleep.ts';
import type { EventStore, LogPosition, RecordedEvent } from '../../src/ports/event-store.ts';
import { coveredUpTo, isAfter, positionOfEvent } from '../../src/ports/log-position.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import { eventsFor } from './apply-batch.ts';
import type { SeenEvent } from './checkpoints.ts';
import type { Apply, Projection } from './projection.ts';
import { inTransaction } from './transaction.ts';

export interface ReplayDependencies {
  store: EventStore;
  macs: RowMacs;
  /** Called after every batch. */
  progress: (progress: ReplayProgress) => void;
  /** Ends the replay. */
  signal?: AbortSignal;
  /** How many events a transaction applies, or an eighth more. Default: `usualBatchEvents`. */
  batchEvents?: number;
}

export interface ReplayProgress {
  events: number;
  position: bigint;
  /** The position at which the replay ends. */
  target: bigint;
}

/** A commit position that a replay is to reach exactly. */
export interface ReplayGoal {
  replay: Replay;
  target: bigint;
}

/**
 * Most rows change a few times within so many events, and are written once: a download is queued, worked on and done. Events that
 * were read and are not applied yet are about twice as many at most, whatever the log.
 */
const usualBatchEvents = 4_000;

/** Makes the rows of a read model anew, through a connection that finds the tables for them. */
export class Replay {
  readonly #projection: Projection;
  readonly #client: PoolClient;
  readonly #applyEvents: Apply;
  position: LogPosition | undefined;
  /** The newest event that was read. */
  seen: SeenEvent | undefined;
  events = 0;

  constructor(projection: Projection, dependencies: ReplayDependencies, client: PoolClient) {
    this.#projection = projection;
    this.#client = client;
    this.#applyEvents = projection.start(dependencies);
  }

  get streamPrefixes(): readonly string[] {
    return this.#projection.streamPrefixes;
  }

  /** Commit position up to which all events are applied. */
  get reached(): bigint {
    return coveredUpTo(this.position);
  }

  /** @param read everything in the log from an earlier position up to this one, for several read models perhaps */
  async apply(
    read: readonly RecordedEvent[],
    { position, target }: { position: LogPosition; target: bigint },
  ): Promise<void> {
    if (this.reached >= target) return;
    const upToTarget = read.slice(0, read.findLastIndex((event) => event.position <= target) + 1);
    const events = eventsFor(this, upToTarget, this.position);
    if (events.length > 0) await inTransaction(this.#client, () => this.#applyEvents(events, this.#client));
    this.events += events.length;
    this.seen = upToTarget.at(-1) ?? this.seen;
    this.position = coveredUpTo(position) < target ? position : positionOfEvent(target);
  }
}

/** Reads the log once for all replays, each of which applies everything up to exactly its goal, which the log has reached. */
export async function replayTogether(goals: readonly ReplayGoal[], dependencies: ReplayDependencies): Promise<void> {
  const behind = goals.filter(({ replay, target }) => target > replay.reached);
  const [first] = behind;
  if (!first) return;
  const last = behind.reduce((most, { target }) => (target > most ? target : most), 0n);
  const { batchEvents = usualBatchEvents } = dependencies;
  // Deliveries may be small. A transaction for each would take most of the time.
  let waiting: RecordedEvent[] = [];
  let delivered = behind.reduce(
    (least, { replay: { position } }) => (least && isAfter(least, position) ? position : least),
    first.replay.position,
  );
  let events = Math.max(...behind.map(({ replay }) => replay.events));
  let failure: Error | undefined;
  let underWay: Promise<void> = Promise.resolve();
  const apply = async (read: readonly RecordedEvent[], position: LogPosition) => {
    await settleAll(behind.map(({ replay, target }) => replay.apply(read, { position, target })));
    events += read.length;
    dependencies.progress({ events, position: coveredUpTo(position), target: last });
  };
  // Reads the next events while one batch is applied, and no further.
  const applyWaiting = async (position: LogPosition) => {
    await underWay;
    if (failure) return;
    const read = waiting;
    waiting = [];
    underWay = apply(read, position).catch((error: unknown) => {
      failure = error instanceof Error ? error : new Error(String(error));
    });
  };
  const subscription = dependencies.store.subscribe({
    name: 'rebuild',
    streamPrefixes: [...new Set(behind.flatMap(({ replay }) => replay.streamPrefixes))],
    from: () => Promise.resolve(delivered),
    maxBatchEvents: Math.ceil(batchEvents / 8),
    apply: async ({ events: read, position }) => {
      if (failure || coveredUpTo(delivered) >= last) return;
      waiting.push(...read.filter((event) => event.position <= last));
      delivered = coveredUpTo(position) < last ? position : positionOfEvent(last);
      if (waiting.length >= batchEvents) await applyWaiting(delivered);
    },
  });
  try {
    // At the end of the log, only events of other streams are left below the goal.
    while (!failure && coveredUpTo(delivered) < last && !subscription.caughtUp) {
      dependencies.signal?.throwIfAborted();
      await sleep(5);
    }
  } finally {
    await subscription.close();
    await underWay;
  }
  await applyWaiting(positionOfEvent(last));
  await underWay;
  // The subscription alone would retry without end, but here a caller waits for the result.
  if (failure) throw failure;
}
