import { sleep } from '../../async/sleep.ts';
import { periodOfUsageStream, usageStream } from '../../domain/billing-period.ts';
import type { UsageSnapshot } from '../../domain/usage-state.ts';
import type { UnknownAppend } from '../../ports/billing.ts';
import { ClockIsWrong } from '../../ports/clock.ts';
import {
  type AppendOutcome,
  type EventStore,
  EventStoreClosed,
  EventStoreUnavailable,
  type RecordedEvent,
} from '../../ports/event-store.ts';
import type { RowMacs } from '../../ports/row-macs.ts';
import type { Tracer } from '../../ports/tracing.ts';
import { addMetadata } from '../handler/event-metadata.ts';
import { traceAppend } from '../handler/trace-append.ts';
import {
  answerAll,
  asRecorded,
  type CausedEvent,
  chargeOf,
  decideBatch,
  type DecidedRequest,
  keyHashOf,
  livePriorOf,
  mayAppend,
  type PendingRequest,
  startPending,
  timeOfAppend,
  type UsageAnswer,
  withoutFoundEarlier,
  type WriterRequest,
} from './decide-batch.ts';
import type { LogTail } from './log-tail.ts';
import type { NewestUsage } from './newest-usage.ts';
import { causedByCalendar, rollOverDue } from './roll-over.ts';
import { originOfUsage, readOn, UsageCache } from './usage-cache.ts';

export interface WriterDependencies {
  store: EventStore;
  logTail: LogTail;
  newest: NewestUsage;
  now: () => string;
  newId: () => string;
  tracer?: Tracer | undefined;
  /** Told of each account whose row the log contradicts. */
  rows?: Pick<RowMacs, 'contradicted'>;
}

/** The log has no such account, although a row has. */
class NotInLog extends Error {
  override readonly name = 'NotInLog';
}

/** `false_state`: the log contradicts the state, which begins anew. `not_read`: the log could not be read. */
type TailRead = 'current' | 'false_state' | 'not_read';

interface AppendOptions {
  now: string;
  decided?: readonly DecidedRequest[];
  deadlineMs?: number;
}

/** An append is not sent this shortly before the deadline of one of its requests, so that a clear answer still fits. */
const sendMarginMs = 250;
const readRetryMs = 100;
const maxKept = 10_000;

/**
 * Decides the downloads, metadata requests, changes of terms and queries of one account's usage. A role or a command has one
 * writer per account (`writer-registry.ts`). Changes of charges (`change-charge.ts`) append to the same streams without it. The writer
 * is a state machine with two states:
 *
 *     idle ──a request arrives──▶ serving one batch ──no request waits──▶ idle
 *                                  ▲             │
 *                                  └─────────────┘  the requests that arrived meanwhile are the next batch
 *
 * It serves a batch in five steps:
 *
 *  1. Catch up: take over the newest state that a request brings along, usually the account's row of the read model.
 *  2. Roll over (`roll-over.ts`): end a billing period whose time is over, then open the next one. Each is an append of its own,
 *     after which this step is done again. It is also done again after a read that a request's idempotency key or an empty
 *     snapshot needs.
 *  3. Decide (`decide-batch.ts`): in memory, in order of arrival, each request on the state that the ones before it leave.
 *  4. Append the events of all requests at once, at exactly the revision that they were decided on.
 *       - stored: go on to step 5.
 *       - conflict: somebody else has written, another writer or a change of a charge. Read those events and go back to step 2.
 *       - not sent: the log is away. Go back to step 2, without the requests whose time is up.
 *     A batch without events (refusals, queries, repeats) proves by a read instead that its state is current: read the rest of
 *     the stream (or, together with other accounts, the end of the log: `log-tail.ts`) and go back to step 2; if there is still nothing to append, go on to step 5.
 *  5. Answer each request of the batch.
 *
 * A read begins at the last event of the state, which proves that the state follows from the stream. If that event is not there,
 * or another one is, the row that the state began with is false: the log was replaced, say. From then on the writer believes no
 * row, and folds the account's events from the first one.
 *
 * Two kinds of requests leave a batch earlier:
 *
 *  - A request whose deadline has passed has its answer, and is not decided again.
 *  - A request whose idempotency key has a download of an earlier period is answered `found_earlier`, without an append and
 *    without a read that proves the state current: the stream of that period decides.
 *
 * Who waits for what:
 *
 *  - A request that arrives while a batch is served waits for the next one. So does a request that no longer fits into the
 *    append, and a second one with the same idempotency key.
 *  - A batch waits for its append until the outcome is known, even when all its callers have given up, because nothing more can
 *    be decided on a state that may or may not have changed.
 *  - A caller waits until its deadline. Then its answer is `unknown` if its events are in the append under way, or its idempotency
 *    key has or may have a download, and `not_stored` otherwise.
 *  - Writers never wait for each other: the exact revision decides which of two appends is stored.
 */
export class AccountWriter {
  readonly #dependencies: WriterDependencies;
  #waiting: PendingRequest[] = [];
  #isServing = false;
  #cache: UsageCache | undefined;
  /** Set once the log has contradicted a row: the snapshot before the account's first event, from which all is folded. */
  #origin: UsageSnapshot | undefined;
  /** The requests whose events are in the append under way, those past their deadline included. */
  #inFlight: readonly PendingRequest[] = [];
  readonly #onIdle: (writer: AccountWriter) => void;

  /** @param onIdle called each time the writer becomes idle */
  constructor(dependencies: WriterDependencies, onIdle: (writer: AccountWriter) => void) {
    this.#dependencies = dependencies;
    this.#onIdle = onIdle;
  }

  /** An estimate, for the limit on idle writers. */
  get sizeBytes(): number {
    return 2_048 + 512 * (this.#cache?.keptCount ?? 0);
  }

  get cache(): UsageCache | undefined {
    return this.#cache;
  }

  /** A log that is away or slow is an outcome and no error. @throws {ClockIsWrong} with nothing stored */
  ask(request: WriterRequest): Promise<UsageAnswer> {
    const { pending, answered } = startPending(request, (late) => {
      late.answer(this.#answerUndecided(late));
      this.#waiting = this.#waiting.filter((other) => other !== late);
    });
    this.#waiting.push(pending);
    if (!this.#isServing) void this.#serveAll();
    return answered;
  }

  /**
   * The answer to a request that ends without a known outcome. It is `unknown`, and not `not_stored`, if the request's
   * idempotency key has a download already or may have one: the client would take "nothing is stored" to be about that download
   * too.
   */
  #answerUndecided(request: PendingRequest): UsageAnswer {
    if (request.inFlight) return { outcome: 'unknown', compensation: request.inFlight.compensation };
    const keyHash = keyHashOf(request);
    if (keyHash === undefined) return { outcome: 'not_stored' };
    const cache = this.#cache ?? new UsageCache(request.snapshot);
    const mayRepeat =
      this.#inFlight.some((other) => keyHashOf(other) === keyHash) || !cache.knowsKeyed(keyHash, request.snapshot);
    return { outcome: mayRepeat || livePriorOf(cache, request) ? 'unknown' : 'not_stored' };
  }

  async #serveAll(): Promise<void> {
    this.#isServing = true;
    // Requests of the same tick make one batch.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#serve(batch);
      } catch (error) {
        this.#failAll(batch, error);
      }
    }
    this.#isServing = false;
    this.#onIdle(this);
  }

  /** After a bug, an event that cannot be read, a wrong clock, a row without a log or the end of the process. */
  #failAll(batch: readonly PendingRequest[], error: unknown): void {
    for (const request of batch) {
      const hasAnswer =
        request.inFlight !== undefined || error instanceof EventStoreClosed || error instanceof NotInLog;
      if (hasAnswer) request.answer(this.#answerUndecided(request));
      else request.fail(error);
    }
    // Nothing was decided, and what is known stays: "not queued" must not be said later of a key that has a download.
    if (error instanceof ClockIsWrong) return;
    this.#cache = undefined;
    this.#inFlight = [];
  }

  /** Steps 1 to 5: answers a whole batch, or puts the rest of it back to wait. */
  async #serve(batch: PendingRequest[]): Promise<void> {
    const cache = this.#catchUp(batch);
    let isCurrent = false;
    for (;;) {
      batch = batch.filter(({ isAnswered }) => !isAnswered);
      if (batch.length === 0) return;
      this.#ignoreFalseRows(batch);
      const now = this.#dependencies.now();
      // Step 2.
      if (await this.#rollOver(cache, batch.find(mayAppend), now)) continue;
      // Before step 3: what a request's key needs to be judged.
      if (await this.#readBetween(cache, batch)) continue;

      const { usage } = cache.snapshot;
      // A snapshot from before the first event (`usageFromLog`).
      if (usage.phase === 'absent') {
        isCurrent = (await this.#readTail(cache)) === 'current';
        if (isCurrent && cache.snapshot.usage.phase === 'absent')
          throw new Error(`${cache.snapshot.stream} does not exist`);
        continue;
      }
      // A key of an earlier period: answered here, without an append.
      batch = withoutFoundEarlier(cache, usage, batch);
      // Step 3.
      const { decided, events, leftOver } = decideBatch(cache, { usage, now }, batch);
      if (events.length === 0) {
        if (isCurrent) {
          this.#answerAll(decided, cache);
          return;
        }
        isCurrent = (await this.#readTail(cache)) === 'current';
        continue;
      }
      // Step 4.
      this.#waiting.unshift(...leftOver);
      batch = decided.map(({ request }) => request);
      const outcome = await this.#append(cache, events, { now, decided });
      if (outcome === 'stored') {
        this.#answerAll(decided, cache);
        return;
      }
      if (outcome === 'not_sent') this.#answerLate(batch);
      else isCurrent = (await this.#readAfterConflict(cache)) === 'current';
    }
  }

  /** Step 5. */
  #answerAll(decided: readonly DecidedRequest[], { snapshot }: UsageCache): void {
    const { accountId } = periodOfUsageStream(snapshot.stream);
    this.#dependencies.newest.takeAnswer(accountId, snapshot, this.#origin !== undefined);
    answerAll(decided, snapshot);
  }

  /** Step 1. */
  #catchUp(batch: readonly PendingRequest[]): UsageCache {
    this.#ignoreFalseRows(batch);
    const [first] = batch;
    if (!first) throw new Error('a batch has at least one request');
    const cache = (this.#cache ??= new UsageCache(first.snapshot));
    for (const { snapshot } of batch) {
      cache.adopt(snapshot);
      if (cache.keptCount > maxKept) cache.forgetUpTo(snapshot);
    }
    return cache;
  }

  /**
   * Step 2, for a state whose billing period is not the current one. Without a request that may append, it only moves on to a
   * next period that exists.
   *
   * @returns whether it did something, after which the step is done again
   */
  async #rollOver(cache: UsageCache, request: PendingRequest | undefined, now: string): Promise<boolean> {
    const due = rollOverDue(cache.snapshot, now, request?.command);
    if (!due) return false;
    if (!request) return due.opensNextPeriod && (await this.#readNextPeriod(cache));
    const before = cache.snapshot;
    if (due.opensNextPeriod) cache.followToNextPeriod();
    const caused = causedByCalendar(due.event, request.cause, this.#dependencies.newId());
    const outcome = await this.#append(cache, [caused], { now, deadlineMs: request.deadlineMs });
    if (outcome === 'conflict' && (await this.#readAfterConflict(cache)) === 'false_state') return true;
    if (outcome === 'not_sent') this.#answerLate([request]);
    const isUnwritten = cache.snapshot.revision < 0;
    if (isUnwritten) cache.snapshot = before;
    return true;
  }

  /** @returns whether it has moved on, or has to try again: a read that fails does not say that there is no next period */
  async #readNextPeriod(cache: UsageCache): Promise<boolean> {
    const { usage } = cache.snapshot;
    if (usage.phase === 'absent' || !usage.next) return false;
    const events = await this.#read(usageStream(usage.accountId, usage.next.period), 0);
    if (!events) return true;
    if (events.length === 0) return false;
    cache.followToNextPeriod();
    for (const event of events) cache.fold(event);
    return true;
  }

  /**
   * A request may bring an older state than the one that the cache has started from, and a download with its idempotency key
   * may lie between the two. Reads the events between for that request alone.
   *
   * @returns whether it did something, after which step 2 is done again
   */
  async #readBetween(cache: UsageCache, batch: readonly PendingRequest[]): Promise<boolean> {
    for (const request of batch) {
      const keyHash = keyHashOf(request);
      if (keyHash === undefined || cache.knowsKeyed(keyHash, request.snapshot)) continue;
      const between = await this.#ifReachable(readOn(this.#dependencies.store, request.snapshot));
      if (between) request.keyed = between.keyed(keyHash, request.keyed);
      if (between) request.snapshot = between.snapshot;
      return true;
    }
    return false;
  }

  /** Step 4: folds the events into the cache once they are stored. */
  async #append(
    cache: UsageCache,
    caused: readonly CausedEvent[],
    { now, decided = [], deadlineMs = Infinity }: AppendOptions,
  ): Promise<AppendOutcome> {
    const { stream, revision, lastHash: previousHash } = cache.snapshot;
    const expected = revision < 0 ? 'no_stream' : revision;
    const time = timeOfAppend(cache.snapshot, now, caused);
    const { traced, end } = traceAppend(this.#dependencies.tracer, stream, caused);
    const { events } = addMetadata(traced, { stream, expected, previousHash, time });
    const appending = decided.filter((one) => one.events.length > 0);
    const sendBeforeMs = Math.min(deadlineMs, ...appending.map(({ request }) => request.deadlineMs)) - sendMarginMs;
    this.#setInFlight(appending, { accountId: periodOfUsageStream(stream).accountId, stream, expected, events });
    const outcome = await this.#dependencies.store
      .append(stream, expected, events, { sendBeforeMs })
      .catch((error: unknown) => {
        // Any other error says for certain that nothing was stored.
        if (!(error instanceof EventStoreClosed)) this.#setInFlight(appending, undefined);
        end('failed');
        throw error;
      });
    this.#setInFlight(appending, undefined);
    if (outcome === 'stored') for (const event of asRecorded(stream, revision + 1, events)) cache.fold(event);
    end(outcome);
    return outcome;
  }

  #setInFlight(appending: readonly DecidedRequest[], append: UnknownAppend | undefined): void {
    this.#inFlight = append ? appending.map(({ request }) => request) : [];
    for (const decided of appending) {
      const charge = append && chargeOf(decided);
      decided.request.inFlight = append && { compensation: charge && { append, charge } };
    }
  }

  /** After an append that was not sent: answers the requests that have no time for another. */
  #answerLate(batch: readonly PendingRequest[]): void {
    for (const request of batch) {
      if (!request.isAnswered && performance.now() > request.deadlineMs - 2 * sendMarginMs)
        request.answer(this.#answerUndecided(request));
    }
  }

  async #readTail(cache: UsageCache): Promise<TailRead> {
    const events = await this.#sharedTail(cache);
    if (!events) return await this.#readStream(cache);
    for (const event of events) cache.fold(event);
    return 'current';
  }

  /** A cluster conflicts with an append as soon as it has taken it, and shows its events once most nodes have them. */
  async #readAfterConflict(cache: UsageCache): Promise<TailRead> {
    const { revision } = cache.snapshot;
    const read = await this.#readStream(cache);
    if (read === 'current' && cache.snapshot.revision === revision) await sleep(readRetryMs);
    return read;
  }

  /** Reads from the last event of the state on, which has to be there. */
  async #readStream(cache: UsageCache): Promise<TailRead> {
    const { stream, revision, lastHash } = cache.snapshot;
    const events = await this.#read(stream, Math.max(revision, 0));
    if (!events) return 'not_read';
    if (revision >= 0) {
      const last = events.shift();
      if (last?.revision !== revision || hashOf(last) !== lastHash) return await this.#beginAnew(cache);
    }
    for (const event of events) cache.fold(event);
    return 'current';
  }

  /**
   * Forgets a state that the log contradicts, and from then on believes no row of this account.
   *
   * @throws {NotInLog} if the log has no such account
   */
  async #beginAnew(cache: UsageCache): Promise<TailRead> {
    const { stream } = cache.snapshot;
    const { accountId } = periodOfUsageStream(stream);
    this.#dependencies.rows?.contradicted({ table: 'credits', name: stream });
    // A log that contradicts its own events must not be asked without a pause.
    await sleep(readRetryMs);
    const reading = originOfUsage(this.#dependencies.store, accountId).then((origin) => ({ origin }));
    const read = await this.#ifReachable(reading);
    if (!read) return 'not_read';
    if (!read.origin) throw new NotInLog(`the log has no account ${accountId}`);
    this.#origin = read.origin;
    cache.beginAt(read.origin);
    return 'false_state';
  }

  /** The account's events have all that the rows may have. */
  #ignoreFalseRows(batch: readonly PendingRequest[]): void {
    if (!this.#origin) return;
    for (const request of batch) Object.assign(request, { snapshot: this.#origin, keyed: undefined });
  }

  /** @returns undefined if the stream itself is to be read */
  async #sharedTail({ coversUpTo, snapshot: { stream, revision } }: UsageCache): Promise<RecordedEvent[] | undefined> {
    if (coversUpTo === undefined) return undefined;
    const tail = await this.#dependencies.logTail.readAfter(coversUpTo);
    const events = tail?.filter((event) => event.stream === stream && event.revision > revision);
    const isGap = events?.[0] && events[0].revision !== revision + 1;
    return isGap ? undefined : events;
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
      await sleep(readRetryMs);
      return undefined;
    }
  }
}

const hashOf = ({ metadata }: RecordedEvent): unknown => (metadata as { hash?: unknown } | undefined)?.hash;
