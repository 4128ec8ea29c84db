import { periodOfUsageStream, usageStream } from '../../domain/billing-period.ts';
import type { UsageEvent } from '../../domain/usage-events.ts';
import { endPeriod, openNextPeriod } from '../../domain/usage-periods.ts';
import type { OpenUsage } from '../../domain/usage-state.ts';
import { KnownUsage, readOn } from './usage-cache.ts';
import type { UnknownAppend } from '../../ports/billing.ts';
import type { AppendOutcome, EventStore, RecordedEvent } from '../../ports/event-store.ts';
import { ClockIsWrong } from '../../ports/clock.ts';
import { EventStoreClosed, EventStoreUnavailable } from '../../ports/event-store.ts';
import { seal } from '../event-metadata.ts';
import { traceAppend } from '../trace-append.ts';
import type { Tracer } from '../../ports/tracing.ts';
import {
  answer,
  asRecorded,
  chargeOf,
  decideGroup,
  isWriter,
  keyHashOf,
  livePriorOf,
  timeOfAppend,
  startWaiting,
  withoutFoundEarlier,
} from './batch.ts';
import type { CausedEvent, LaneRequest, Member, UsageAnswer, Waiting } from './batch.ts';

export interface LaneDependencies {
  store: EventStore;
  now: () => string;
  newId: () => string;
  tracer?: Tracer | undefined;
}

/** An append that could not be sent this long before the budget's end is withdrawn, so that a clear answer still fits. */
const sendMarginMs = 250;
const readRetryMs = 100;
const maxKept = 10_000;

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
  /** Whose events are in the append under way, also once their own budget has ended. */
  #inFlight: readonly Waiting[] = [];
  readonly #onIdle: (lane: UsageLane) => void;

  /** @param onIdle told whenever nothing is asked any more and no append is under way */
  constructor(dependencies: LaneDependencies, onIdle: (lane: UsageLane) => void) {
    this.#dependencies = dependencies;
    this.#onIdle = onIdle;
  }

  /** For the bound of the cache that keeps lanes. */
  get sizeBytes(): number {
    return 2_048 + 512 * (this.#known?.keptCount ?? 0);
  }

  get known(): KnownUsage | undefined {
    return this.#known;
  }

  /** Never rejects for a log that is away or slow: that is an outcome. @throws {ClockIsWrong} with nothing stored */
  ask(request: LaneRequest): Promise<UsageAnswer> {
    const { waiting, answered } = startWaiting(request, (late) => {
      late.settle(this.#withoutOutcome(late));
      this.#waiting = this.#waiting.filter((other) => other !== late);
    });
    this.#waiting.push(waiting);
    if (!this.#running) void this.#run();
    return answered;
  }

  /**
   * What to say to a request that was not decided. "Nothing is stored" is wrong for one whose idempotency key has a download
   * already, or may have one: its client would take it for both.
   */
  #withoutOutcome(waiting: Waiting): UsageAnswer {
    if (waiting.inFlight) return { outcome: 'unknown', withdrawal: waiting.inFlight.withdrawal };
    const keyHash = keyHashOf(waiting);
    if (keyHash === undefined) return { outcome: 'not_stored' };
    const mayRepeat = this.#inFlight.some((other) => keyHashOf(other) === keyHash);
    const prior = livePriorOf(this.#known ?? new KnownUsage(waiting.snapshot), waiting);
    return { outcome: mayRepeat || prior ? 'unknown' : 'not_stored' };
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
        for (const waiting of group) {
          const told = this.#withoutOutcome(waiting);
          const isTold = waiting.inFlight !== undefined || error instanceof EventStoreClosed;
          if (isTold || (error instanceof ClockIsWrong && told.outcome === 'unknown')) waiting.settle(told);
          else waiting.fail(error);
        }
        this.#known = undefined;
        this.#inFlight = [];
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
      const now = this.#dependencies.now();
      if (await this.#rollOver(known, group.find(isWriter), now)) continue;
      if (await this.#readBehind(known, group)) continue;

      const usage = known.snapshot.usage;
      group = usage.phase === 'absent' ? group : withoutFoundEarlier(known, usage, group);
      const decided = usage.phase === 'absent' ? undefined : decideGroup(known, usage, group);
      if (decided && decided.events.length > 0) {
        this.#waiting.unshift(...decided.leftOver);
        group = decided.members.map(({ waiting }) => waiting);
        const outcome = await this.#append(known, decided.events, { now, members: decided.members });
        if (outcome === 'stored') {
          answer(decided.members, known.snapshot);
          return;
        }
        if (outcome === 'not_sent') this.#expireLate(group);
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
      if (known.keptCount > maxKept) known.forgetUpTo(snapshot);
    }
    return known;
  }

  /**
   * A request may know less than the lane has started from: a download with its idempotency key may lie between. That is
   * read for this request alone, which then knows as much.
   *
   * @returns whether it did something, so that the caller looks again
   */
  async #readBehind(known: KnownUsage, group: readonly Waiting[]): Promise<boolean> {
    for (const waiting of group) {
      const keyHash = keyHashOf(waiting);
      if (keyHash === undefined || known.knowsKeyed(keyHash, waiting.snapshot)) continue;
      const between = await this.#ifReachable(readOn(this.#dependencies.store, waiting.snapshot));
      if (between) waiting.keyed = between.keyed(keyHash, waiting.keyed);
      if (between) waiting.snapshot = between.snapshot;
      return true;
    }
    return false;
  }

  /**
   * Ends a period whose time is over and opens the next, one step at a time.
   *
   * @returns whether it did something, so that the caller looks again
   */
  async #rollOver(known: KnownUsage, writer: Waiting | undefined, now: string): Promise<boolean> {
    const { usage } = known.snapshot;
    if (usage.phase === 'absent') return false;
    if (usage.phase !== 'open') {
      return writer ? this.#openNextPeriod(known, usage, { writer, now }) : this.#followToNextPeriod(known, usage);
    }
    // By the time that its events will carry: one of an open period is never stamped at or after its end.
    if (!writer || timeOfAppend(known.snapshot, now) < usage.period.end) return false;
    const ended = this.#rollOverEvent(endPeriod(usage), writer);
    const outcome = await this.#append(known, [ended], { now, deadlineMs: writer.deadlineMs });
    if (outcome === 'conflict') await this.#readTail(known);
    if (outcome === 'not_sent') this.#expireLate([writer]);
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
    const outcome = await this.#append(known, [opened], { now, deadlineMs: writer.deadlineMs });
    if (outcome === 'conflict') await this.#readTail(known);
    if (outcome === 'not_sent') this.#expireLate([writer]);
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
    { now, members = [], deadlineMs = Infinity }: { now: string; members?: readonly Member[]; deadlineMs?: number },
  ): Promise<AppendOutcome> {
    const { stream, revision, lastHash: previousHash } = known.snapshot;
    const expected = revision < 0 ? 'no_stream' : revision;
    const time = timeOfAppend(known.snapshot, now, caused);
    const { traced, end } = traceAppend(this.#dependencies.tracer, stream, caused);
    const { events } = seal(traced, { stream, expected, previousHash, time });
    const writers = members.filter((member) => member.events.length > 0);
    const sendBeforeMs = Math.min(deadlineMs, ...writers.map(({ waiting }) => waiting.deadlineMs)) - sendMarginMs;
    this.#setInFlight(writers, { accountId: periodOfUsageStream(stream).accountId, stream, expected, events });
    const outcome = await this.#dependencies.store
      .append(stream, expected, events, { sendBeforeMs })
      .catch((error: unknown) => {
        // Any other error says for certain that nothing was stored.
        if (!(error instanceof EventStoreClosed)) this.#setInFlight(writers, undefined);
        end('failed');
        throw error;
      });
    this.#setInFlight(writers, undefined);
    if (outcome === 'stored') for (const event of asRecorded(stream, revision + 1, events)) known.fold(event);
    end(outcome);
    return outcome;
  }

  #setInFlight(writers: readonly Member[], append: UnknownAppend | undefined): void {
    this.#inFlight = append ? writers.map(({ waiting }) => waiting) : [];
    for (const writer of writers) {
      const charge = append && chargeOf(writer);
      writer.waiting.inFlight = append && { withdrawal: charge && { append, charge } };
    }
  }

  /** Nothing of these was sent; those with no time left are told so. */
  #expireLate(group: readonly Waiting[]): void {
    for (const waiting of group) {
      if (!waiting.settled && performance.now() > waiting.deadlineMs - 2 * sendMarginMs)
        waiting.settle(this.#withoutOutcome(waiting));
    }
  }

  /** @returns whether the state is now the log's; false when the log could not be read */
  async #readTail(known: KnownUsage): Promise<boolean> {
    const events = await this.#read(known.snapshot.stream, known.snapshot.revision + 1);
    if (!events) return false;
    for (const event of events) known.fold(event);
    return true;
  }

  #read(stream: string, fromRevision: number): Promise<RecordedEvent[] | undefined> {
    return this.#ifReachable(this.#dependencies.store.read(stream, fromRevision));
  }

  /** @returns undefined, after a pause, when the log cannot be read now */
  async #ifReachable<Value>(reading: Promise<Value>): Promise<Value | undefined> {
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof EventStoreUnavailable)) throw error;
      await new Promise((resolve) => setTimeout(resolve, readRetryMs));
      return undefined;
    }
  }
}
