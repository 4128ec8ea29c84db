import { usageStream } from '../domain/billing-period.ts';
import { later } from '../domain/instant.ts';
import type { UsageEvent } from '../domain/usage-events.ts';
import { endPeriod, openNextPeriod } from '../domain/usage-periods.ts';
import type { OpenUsage, UsageSnapshot } from '../domain/usage.ts';
import { KnownUsage } from './known-usage.ts';
import type { AppendOutcome, EventStore, EventToAppend, RecordedEvent } from './ports.ts';
import { EventStoreClosed, EventStoreUnavailable } from './ports.ts';
import { seal } from './seal.ts';
import { traceAppend } from './trace-append.ts';
import type { Tracer } from './tracing.ts';
import { answer, decideGroup, giveUp, isWriter } from './usage-group.ts';
import type { CausedEvent, LaneRequest, UsageAnswer, Waiting } from './usage-group.ts';

export interface LaneDependencies {
  store: EventStore;
  now: () => string;
  newId: () => string;
  tracer?: Tracer | undefined;
}

/** An append that could not be sent this long before the budget's end is withdrawn, so that a clear answer still fits. */
const sendMarginMs = 250;
const readRetryMs = 100;
const maxTokensKept = 10_000;

/**
 * One account's usage in this process: everything that is asked of it passes through here, one group at a time.
 *
 * A group is decided in memory against the state at its known revision and written as one append at exactly that revision;
 * while the append is under way, what arrives waits for the next group. On conflict the new events are read and the group is
 * decided again. What appends nothing (a refusal, a look at the credits) is answered only once the state it rests on is
 * known to have been current after the request arrived: by the group's own append, or by a read.
 */
export class UsageLane {
  readonly #dependencies: LaneDependencies;
  #waiting: Waiting[] = [];
  #running = false;
  #known: KnownUsage | undefined;

  readonly #onIdle: (lane: UsageLane) => void;

  /** @param onIdle told whenever nothing is asked any more and no append is under way */
  constructor(dependencies: LaneDependencies, onIdle: (lane: UsageLane) => void) {
    this.#dependencies = dependencies;
    this.#onIdle = onIdle;
  }

  /** For the bound of the cache that keeps lanes. */
  get sizeBytes(): number {
    return 2_048 + 512 * (this.#known?.queuedCount ?? 0);
  }

  get known(): KnownUsage | undefined {
    return this.#known;
  }

  /** Never rejects for a log that is away or slow: that is an outcome. */
  ask(request: LaneRequest): Promise<UsageAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<UsageAnswer>();
    const waiting: Waiting = { ...request, settle: resolve, fail: reject, settled: false, inFlight: false };
    const timer = setTimeout(() => {
      waiting.settle({ outcome: waiting.inFlight ? 'unknown' : 'not_stored' });
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
    }, request.deadlineMs - performance.now());
    const settleOnce =
      <Value>(end: (value: Value) => void) =>
      (value: Value) => {
        waiting.settled = true;
        clearTimeout(timer);
        end(value);
      };
    waiting.settle = settleOnce(resolve);
    waiting.fail = settleOnce(reject);
    this.#waiting.push(waiting);
    if (!this.#running) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#running = true;
    // Requests of the same tick make one group.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.#serve(group);
      } catch (error) {
        // A fault of ours or of the log's content, or the end of the process: whoever still waits is told.
        this.#known = undefined;
        for (const waiting of group) giveUp(waiting, error);
      }
    }
    this.#running = false;
    this.#onIdle(this);
  }

  /** Answers a whole group, or puts what is left of it back to wait. */
  async #serve(group: Waiting[]): Promise<void> {
    const known = this.#catchUpWithSnapshots(group);
    let isCurrent = false;
    for (;;) {
      group = group.filter(({ settled }) => !settled);
      if (group.length === 0) return;
      // One instant for the choice of the period and for the events' time, so that they cannot disagree.
      const now = this.#dependencies.now();
      if (await this.#rollOver(known, group.find(isWriter), now)) continue;

      const usage = known.snapshot.usage;
      const decided = usage.phase === 'absent' ? undefined : decideGroup(usage, group);
      if (decided && decided.events.length > 0) {
        this.#waiting.unshift(...decided.leftOver);
        group = decided.members.map(({ waiting }) => waiting);
        const outcome = await this.#append(known, decided.events, { now, writers: decided.writers });
        if (outcome === 'stored') {
          answer(decided.members, known.snapshot);
          return;
        }
        if (outcome === 'not_sent') expireLate(group);
        else isCurrent = await this.#readTail(known);
      } else if (decided && isCurrent) {
        answer(decided.members, known.snapshot);
        return;
      } else {
        isCurrent = await this.#readTail(known);
        if (isCurrent && known.snapshot.usage.phase === 'absent')
          throw new Error(`${known.snapshot.stream} does not exist`);
      }
    }
  }

  #catchUpWithSnapshots(group: readonly Waiting[]): KnownUsage {
    const [first] = group;
    if (!first) throw new Error('a group has at least one request');
    const known = (this.#known ??= new KnownUsage(first.snapshot));
    for (const { snapshot } of group) {
      known.adopt(snapshot);
      if (known.queuedCount > maxTokensKept) known.forgetTokensUpTo(snapshot);
    }
    return known;
  }

  /**
   * Ends a period whose time is over and opens the next, one step at a time.
   *
   * @returns whether it did something, so that the caller looks again
   */
  async #rollOver(known: KnownUsage, writer: Waiting | undefined, now: string): Promise<boolean> {
    const { usage } = known.snapshot;
    if (usage.phase === 'absent') return false;
    if (usage.phase === 'ended') {
      return writer ? this.#openNextPeriod(known, usage, { writer, now }) : this.#followToNextPeriod(known, usage);
    }
    if (!writer || now < usage.period.end) return false;
    const ended = this.#rollOverEvent(endPeriod(usage), writer);
    const outcome = await this.#append(known, [ended], { now, writers: [], deadlineMs: writer.deadlineMs });
    if (outcome === 'conflict') await this.#readTail(known);
    if (outcome === 'not_sent') expireLate([writer]);
    return true;
  }

  /** Reads never append: they follow into the next period only if it exists. */
  async #followToNextPeriod(known: KnownUsage, { accountId, next }: OpenUsage): Promise<boolean> {
    if (!next) return false;
    const events = await this.#read(usageStream(accountId, next.period), 0);
    if (!events || events.length === 0) return false;
    known.followToNextPeriod();
    for (const event of events) known.fold(event);
    return true;
  }

  async #openNextPeriod(
    known: KnownUsage,
    usage: OpenUsage,
    { writer, now }: { writer: Waiting; now: string },
  ): Promise<boolean> {
    const ended = known.snapshot;
    known.followToNextPeriod();
    const opened = this.#rollOverEvent(openNextPeriod(usage), writer);
    const outcome = await this.#append(known, [opened], { now, writers: [], deadlineMs: writer.deadlineMs });
    if (outcome === 'conflict') await this.#readTail(known);
    if (outcome === 'not_sent') expireLate([writer]);
    if (known.snapshot.revision < 0) known.snapshot = ended;
    return true;
  }

  #rollOverEvent(event: UsageEvent, { cause }: Waiting): CausedEvent {
    const commandId = this.#dependencies.newId();
    const actor = { type: 'system', id: 'billing-period' } as const;
    const { correlationId, traceparent } = cause;
    return { event, cause: { commandId, correlationId, causationId: cause.commandId, actor, traceparent } };
  }

  async #append(
    known: KnownUsage,
    caused: readonly CausedEvent[],
    { now, writers, deadlineMs = Infinity }: { now: string; writers: readonly Waiting[]; deadlineMs?: number },
  ): Promise<AppendOutcome> {
    const { stream, revision, lastHash: previousHash, lastTime } = known.snapshot;
    const expected = revision < 0 ? 'no_stream' : revision;
    const time = later(later(now, lastTime), startOfPeriod(known.snapshot, caused));
    const { traced, end } = traceAppend(this.#dependencies.tracer, stream, caused);
    const { events } = seal(traced, { stream, expected, previousHash, time });
    const sendBeforeMs = Math.min(deadlineMs, ...writers.map((writer) => writer.deadlineMs)) - sendMarginMs;
    const setInFlight = (inFlight: boolean) => {
      for (const writer of writers) writer.inFlight = inFlight;
    };
    setInFlight(true);
    const outcome = await this.#dependencies.store
      .append(stream, expected, events, { sendBeforeMs })
      .catch((error: unknown) => {
        // Any other error says for certain that nothing was stored.
        if (!(error instanceof EventStoreClosed)) setInFlight(false);
        end('failed');
        throw error;
      });
    setInFlight(false);
    if (outcome === 'stored') for (const event of asRecorded(stream, revision + 1, events)) known.fold(event);
    end(outcome);
    return outcome;
  }

  /** @returns whether the state is now the log's; false when the log could not be read */
  async #readTail(known: KnownUsage): Promise<boolean> {
    const events = await this.#read(known.snapshot.stream, known.snapshot.revision + 1);
    if (!events) return false;
    for (const event of events) known.fold(event);
    return true;
  }

  async #read(stream: string, fromRevision: number): Promise<RecordedEvent[] | undefined> {
    try {
      return await this.#dependencies.store.read(stream, fromRevision);
    } catch (error) {
      if (!(error instanceof EventStoreUnavailable)) throw error;
      await new Promise((resolve) => setTimeout(resolve, readRetryMs));
      return undefined;
    }
  }
}

/** Nothing of these was sent; those with no time left are told so. */
function expireLate(group: readonly Waiting[]): void {
  for (const waiting of group) {
    if (!waiting.settled && performance.now() > waiting.deadlineMs - 2 * sendMarginMs)
      waiting.settle({ outcome: 'not_stored' });
  }
}

/** No event is older than its period, whatever the clock says. */
function startOfPeriod({ usage }: UsageSnapshot, [first]: readonly CausedEvent[]): string {
  if (usage.phase !== 'absent') return usage.period.start;
  return first?.event.type === 'UsagePeriodOpened' ? first.event.data.period_start : '';
}

function asRecorded(stream: string, firstRevision: number, events: readonly EventToAppend[]): RecordedEvent[] {
  return events.map((event, index) => ({
    ...event,
    stream,
    revision: firstRevision + index,
    position: -1n,
    created: new Date(0),
  }));
}
