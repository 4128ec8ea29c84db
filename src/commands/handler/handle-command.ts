import { withDeadline } from '../../async/deadline.ts';
import { sleep } from '../../async/sleep.ts';
import { later } from '../../domain/instant.ts';
import type { Actor, DomainEvent, ParsedEvent } from '../../domain/parse-event.ts';
import { isRefused, type Refused } from '../../domain/refusals.ts';
import { type EventStore, EventStoreUnavailable, type RecordedEvent } from '../../ports/event-store.ts';
import type { Tracer } from '../../ports/tracing.ts';
import { addMetadata, type Cause, eventIdOf } from './event-metadata.ts';
import { firstPreviousHash } from './hash-chain.ts';
import { traceAppend } from './trace-append.ts';

/** An aggregate on a stream of its own. Each command reads the stream, as a whole or from a known state on. */
export interface Aggregate<State, Event extends DomainEvent> {
  stream: string;
  initial: () => State;
  parse: (recorded: RecordedEvent) => ParsedEvent<Event>;
  evolve: (state: State, event: Event, at: FoldedAt) => State;
  /** State of a long stream to read on from, usually that of a read model. */
  known?: Loaded<State>;
  /**
   * The stream probably has nothing after `known`, or nothing at all without it: it is only read if the command refuses, or the
   * append conflicts.
   */
  presumedCurrent?: boolean;
}

/** Where an event stands, when it was decided, and by whom. */
interface FoldedAt {
  revision: number;
  id: string;
  time: string;
  actor: Actor;
}

export interface Handling<State, Event extends DomainEvent> {
  /** @param time that the events will carry, UTC ISO-8601 */
  decide: (state: State, time: string) => Event[] | Refused;
  cause: Cause;
  /** The clock of business time. @throws {ClockIsWrong} */
  now: () => string;
  /** The command's budget. After it, an append under way ends in `OutcomeUnknown`. */
  timeoutMs: number;
  tracer?: Tracer | undefined;
}

/** The append may be stored, now or later, or never. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

/** Nothing was stored, and nothing will be. */
export class NotStored extends Error {
  override readonly name = 'NotStored';
}

export interface Handled<State, Event extends DomainEvent> {
  state: State;
  /** The events that this command has appended; none if there was nothing to do. */
  events: readonly Event[];
  /** Revision of the stream's last event; -1 if it has none. */
  revision: number;
  /** The stream's state after this command, from which the next command goes on. */
  loaded: Loaded<State>;
}

const readRetryMs = 100;

/**
 * The loop of every command that does not go through the account writer: read, decide, encrypt personal data, add the metadata,
 * append at the exact revision; on conflict, again. Events of the account writer have no personal data.
 *
 * @throws {ClockIsWrong} with nothing stored
 * @throws {NotStored} when the log was away, or other writers were faster, for the whole budget
 * @throws {OutcomeUnknown} when the budget ended with the append under way
 */
export async function handle<State, Event extends DomainEvent>(
  store: EventStore,
  aggregate: Aggregate<State, Event>,
  { decide, cause, now, timeoutMs, tracer }: Handling<State, Event>,
): Promise<Handled<State, Event> | Refused> {
  const deadlineMs = performance.now() + timeoutMs;
  // After a conflict only the new events are read: on a busy stream, reading all of it again would always be too late.
  const loaded = knownAtFirst(aggregate);
  let isPresumed = aggregate.presumedCurrent ?? false;
  let conflictedAt: number | undefined;
  let away: EventStoreUnavailable | undefined;
  while (performance.now() < deadlineMs) {
    away = isPresumed ? undefined : await loadIfReachable(store, aggregate, { loaded, conflictedAt });
    if (away) continue;
    const mayBeWrong = isPresumed;
    isPresumed = false;
    // The decision and the stored events use the same instant.
    const time = later(now(), loaded.lastTime);
    const events = decide(loaded.state, time);
    if (mayBeWrong && (isRefused(events) || events.length === 0)) continue;
    if (isRefused(events)) return events;
    if (events.length === 0) return { state: loaded.state, events, revision: loaded.revision, loaded };

    const expected = loaded.revision < 0 ? 'no_stream' : loaded.revision;
    const sealed = await sealIfReachable(store, aggregate.stream, { events, cause });
    if (sealed instanceof EventStoreUnavailable) {
      away = sealed;
      await sleep(readRetryMs);
      continue;
    }
    const caused = events.map((event, index) => ({ event, cause, sealed: sealed[index] }));
    const { traced, end } = traceAppend(tracer, aggregate.stream, caused);
    const chained = addMetadata(traced, { stream: aggregate.stream, expected, previousHash: loaded.lastHash, time });
    const append = store.append(aggregate.stream, expected, chained.events, { sendBeforeMs: deadlineMs - 100 });
    append.then(end, () => end('failed'));
    // The adapter goes on resending the append. Nobody waits for its later outcome, or for its end at shutdown.
    const outcome = await withDeadline(append, deadlineMs - performance.now(), () => {
      throw new OutcomeUnknown('the log has not answered in time');
    });
    if (outcome === 'not_sent') break;
    conflictedAt = outcome === 'conflict' ? loaded.revision : undefined;
    if (outcome === 'stored') {
      const state = events.reduce(
        (folded, event, index) =>
          aggregate.evolve(folded, event, {
            revision: loaded.revision + 1 + index,
            id: chained.events[index]?.id ?? '',
            time,
            actor: cause.actor,
          }),
        loaded.state,
      );
      const revision = loaded.revision + events.length;
      return { state, events, revision, loaded: { state, revision, lastHash: chained.lastHash, lastTime: time } };
    }
  }
  throw new NotStored(`${aggregate.stream} could not be written in time`, { cause: away });
}

/** @returns why the keys of personal data could not be read or made */
async function sealIfReachable(
  { sealPersonalData }: EventStore,
  stream: string,
  { events, cause }: { events: readonly DomainEvent[]; cause: Cause },
): Promise<readonly (string | undefined)[] | EventStoreUnavailable> {
  if (!sealPersonalData) return [];
  try {
    const identified = events.map((event, index) => ({ id: eventIdOf(cause.commandId, index), ...event }));
    return await sealPersonalData(stream, identified);
  } catch (error) {
    if (!(error instanceof EventStoreUnavailable)) throw error;
    return error;
  }
}

export interface Loaded<State> {
  state: State;
  /** Revision of the stream's last event; -1 if it has none. */
  revision: number;
  lastHash: string;
  lastTime: string;
}

/**
 * The state from which a stream is read beginning at a revision. Hash and time come from the events that are read. If there are
 * none, the command finds no charge or notice, and appends nothing.
 */
export const beforeRevision = <State>(revision: number, state: State): Loaded<State> => ({
  state,
  revision: revision - 1,
  lastHash: '',
  lastTime: '',
});

/** The state before the first read: the aggregate's known state, or that of an empty stream. */
function knownAtFirst<State, Event extends DomainEvent>(aggregate: Aggregate<State, Event>): Loaded<State> {
  return aggregate.known ? { ...aggregate.known } : atStart(aggregate);
}

const atStart = <State, Event extends DomainEvent>({ stream, initial }: Aggregate<State, Event>): Loaded<State> => ({
  state: initial(),
  revision: -1,
  lastHash: firstPreviousHash(stream),
  lastTime: '',
});

/**
 * A conflict without a later event says that the stream ends before the state: the log was replaced, say. The state is then
 * folded anew, from the stream's first event.
 *
 * @returns why the log could not be read, after a pause; undefined if it could
 */
async function loadIfReachable<State, Event extends DomainEvent>(
  store: EventStore,
  aggregate: Aggregate<State, Event>,
  { loaded, conflictedAt }: { loaded: Loaded<State>; conflictedAt: number | undefined },
): Promise<EventStoreUnavailable | undefined> {
  try {
    await loadTail(store, aggregate, loaded);
    if (loaded.revision !== conflictedAt) return undefined;
    Object.assign(loaded, atStart(aggregate));
    // A log that contradicts its own events must not be asked without a pause.
    await sleep(readRetryMs);
    await loadTail(store, aggregate, loaded);
    return undefined;
  } catch (error) {
    if (!(error instanceof EventStoreUnavailable)) throw error;
    await sleep(readRetryMs);
    return error;
  }
}

/** @throws {EventStoreUnavailable} */
export async function load<State, Event extends DomainEvent>(
  store: EventStore,
  aggregate: Aggregate<State, Event>,
): Promise<Loaded<State>> {
  const loaded = knownAtFirst(aggregate);
  await loadTail(store, aggregate, loaded);
  return loaded;
}

/** Folds the events after the loaded state. */
async function loadTail<State, Event extends DomainEvent>(
  store: EventStore,
  { stream, parse, evolve }: Aggregate<State, Event>,
  loaded: Loaded<State>,
): Promise<void> {
  for (const recorded of await store.read(stream, loaded.revision + 1)) {
    const { event, metadata, revision, id } = parse(recorded);
    loaded.state = evolve(loaded.state, event, { revision, id, time: metadata.time, actor: metadata.actor });
    loaded.revision = revision;
    loaded.lastHash = metadata.hash;
    loaded.lastTime = metadata.time;
  }
}
