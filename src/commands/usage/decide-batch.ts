import { decideUsage, type KeyedDownload, type PriorDownload, type UsageCommand } from '../../domain/decide-usage.ts';
import { evolveUsage } from '../../domain/evolve-usage.ts';
import { later } from '../../domain/instant.ts';
import type { AskingKey } from '../../domain/key-limits.ts';
import { requireReadable } from '../../domain/parse-event.ts';
import { isRefused, type Refusal } from '../../domain/refusals.ts';
import type { UsageEvent } from '../../domain/usage-events.ts';
import type { UsagePeriod, UsageSnapshot } from '../../domain/usage-state.ts';
import type { ChargeToVoid, UnknownAppend } from '../../ports/billing.ts';
import type { EventToAppend, RecordedEvent } from '../../ports/event-store.ts';
import type { Cause } from '../handler/event-metadata.ts';
import type { UsageCache } from './usage-cache.ts';

/** The requests that one append of an account writer answers, and how each of them is decided. */

export type UsageAnswer<Name extends Refusal = Refusal> =
  | {
      outcome: 'accepted';
      events: readonly UsageEvent[];
      time: string;
      revision: number;
      usage: UsagePeriod;
      /** The download that the request repeats: it was accepted before, and is not charged again. */
      repeated?: PriorDownload | undefined;
    }
  | { outcome: 'refused'; refusal: Name; usage: UsagePeriod }
  /** A download of an earlier period has the request's idempotency key. The stream of that period decides about it. */
  | { outcome: 'found_earlier'; prior: KeyedDownload; usage: UsagePeriod }
  /** The deadline has passed, and nothing was or will be stored. */
  | { outcome: 'not_stored' }
  /** The deadline has passed with an unknown outcome. Without a compensation, there is no charge of the request's own to void. */
  | { outcome: 'unknown'; compensation?: Compensation | undefined };

/** Takes a charge back if its append turns out to be stored: the content of a pending void. */
export interface Compensation {
  append: UnknownAppend;
  charge: ChargeToVoid;
}

/**
 * `query` asks for the current state and appends nothing. `roll_over` ends the periods whose time is over and opens the current
 * one, and does nothing else.
 */
export type WriterCommand = UsageCommand | { kind: 'query' } | { kind: 'roll_over' };

export interface WriterRequest {
  command: WriterCommand;
  cause: Cause;
  /** The newest state that the caller knows of, usually the read model's row. */
  snapshot: UsageSnapshot;
  /** The download that the read model has for the command's idempotency key, as of the same point as `snapshot`. */
  keyed?: KeyedDownload | undefined;
  /** Token of a download of an earlier period that is known to be voided. */
  voidedToken?: string | undefined;
  /** When the caller stops waiting, in milliseconds of `performance.now()`. */
  deadlineMs: number;
}

export interface PendingRequest extends WriterRequest {
  answer: (answer: UsageAnswer) => void;
  fail: (error: unknown) => void;
  isAnswered: boolean;
  /** Set while its events are in an append whose outcome is not known. */
  inFlight: { compensation: Compensation | undefined } | undefined;
}

/** @param onDeadline called at the request's deadline unless it is answered by then */
export function startPending(
  request: WriterRequest,
  onDeadline: (pending: PendingRequest) => void,
): { pending: PendingRequest; answered: Promise<UsageAnswer> } {
  const { promise: answered, resolve, reject } = Promise.withResolvers<UsageAnswer>();
  const timer = setTimeout(() => {
    onDeadline(pending);
  }, request.deadlineMs - performance.now());
  const ending =
    <Value>(end: (value: Value) => void) =>
    (value: Value) => {
      pending.isAnswered = true;
      clearTimeout(timer);
      end(value);
    };
  const pending: PendingRequest = {
    ...request,
    answer: ending(resolve),
    fail: ending(reject),
    isAnswered: false,
    inFlight: undefined,
  };
  return { pending, answered };
}

const maxAppendEvents = 500;
const maxAppendBytes = 256 * 1024;
/** Upper bound of the metadata, id and framing around an event's data. */
const eventOverheadBytes = 700;

export interface CausedEvent {
  event: UsageEvent;
  cause: Cause;
}

export interface DecidedRequest {
  request: PendingRequest;
  events: readonly UsageEvent[];
  refusal?: Refusal;
  repeated?: PriorDownload | undefined;
  /** The state after this request and those before it. */
  usage: UsagePeriod;
}

/**
 * Decides requests in order of arrival, each on the state that the ones before it leave. One request per idempotency key may
 * append in a batch. The others are left over: were its outcome unknown, theirs would be too.
 *
 * @param usage the cache's state, of the current period
 * @param now UTC ISO-8601
 */
export function decideBatch(
  cache: UsageCache,
  { usage, now }: { usage: UsagePeriod; now: string },
  batch: readonly PendingRequest[],
) {
  const at = timeOfAppend(cache.snapshot, now);
  const decided: DecidedRequest[] = [];
  const events: CausedEvent[] = [];
  const leftOver: PendingRequest[] = [];
  const keysWritten = new Set<string>();
  let sizeBytes = 0;
  for (const [index, request] of batch.entries()) {
    const { command } = request;
    const keyHash = keyHashOf(request);
    if (keyHash !== undefined && keysWritten.has(keyHash)) {
      leftOver.push(request);
      continue;
    }
    const prior = livePriorOf(cache, request);
    const decision =
      command.kind === 'query' || command.kind === 'roll_over'
        ? []
        : decideUsage(usage, command, {
            key: keyOf(request, at),
            prior,
            isByOwner: request.cause.actor.type === 'owner',
          });
    if (isRefused(decision)) {
      decided.push({ request, events: [], refusal: decision.refusal, usage });
      continue;
    }
    if (!requireStorable(request, decision)) continue;
    sizeBytes += decision.reduce((sum, event) => sum + eventOverheadBytes + JSON.stringify(event.data).length, 0);
    if (events.length + decision.length > maxAppendEvents || (sizeBytes > maxAppendBytes && events.length > 0)) {
      leftOver.push(...batch.slice(index));
      break;
    }
    for (const event of decision) {
      events.push({ event, cause: request.cause });
      usage = evolveUsage(usage, event) as UsagePeriod;
    }
    if (keyHash !== undefined && decision.length > 0) keysWritten.add(keyHash);
    decided.push({ request, events: decision, repeated: prior, usage });
  }
  return { decided, events, leftOver };
}

/** A value that no event can have fails its own request, and no other of the batch. @returns false once it has failed */
function requireStorable(request: PendingRequest, events: readonly UsageEvent[]): boolean {
  try {
    events.forEach(requireReadable);
    return true;
  } catch (error) {
    request.fail(error);
    return false;
  }
}

function keyOf({ cause: { actor } }: PendingRequest, at: string): AskingKey | undefined {
  return actor.type === 'api_key' ? { id: actor.id, at } : undefined;
}

export function answerAll(decided: readonly DecidedRequest[], { lastTime: time, revision }: UsageSnapshot): void {
  for (const { request, events, refusal, repeated, usage } of decided) {
    if (refusal) request.answer({ outcome: 'refused', refusal, usage });
    else request.answer({ outcome: 'accepted', events, time, revision, usage, repeated });
  }
}

export const mayAppend = ({ command }: WriterRequest) => command.kind !== 'query';

/** The hash of the request's idempotency key, if it has one. */
export function keyHashOf({ command }: WriterRequest): string | undefined {
  return command.kind === 'queue_download' ? command.idempotency?.keyHash : undefined;
}

/** The download that a request repeats, unless that download was voided. */
export function livePriorOf(
  cache: UsageCache,
  { command, keyed, voidedToken }: WriterRequest,
): KeyedDownload | undefined {
  if (command.kind !== 'queue_download' || !command.idempotency) return undefined;
  const prior = cache.keyed(command.idempotency.keyHash, keyed);
  return prior?.voided === false && prior.token !== voidedToken ? prior : undefined;
}

/** The charge among a request's events, which a compensation would void; a confirmation has none. */
export function chargeOf({ request: { command }, events }: DecidedRequest): ChargeToVoid | undefined {
  if (command.kind === 'debit_metadata') return { kind: 'lookup', lookup_id: command.lookupId };
  if (command.kind !== 'queue_download' || !events.some(({ type }) => type === 'DownloadQueued')) return undefined;
  return { kind: 'download', token: command.token };
}

/** Answers the requests whose idempotency key has a download of an earlier period: this stream cannot decide about those. */
export function withoutFoundEarlier(
  cache: UsageCache,
  usage: UsagePeriod,
  batch: readonly PendingRequest[],
): PendingRequest[] {
  return batch.filter((request) => {
    const prior = livePriorOf(cache, request);
    if (!prior || prior.stream >= cache.snapshot.stream) return true;
    request.answer({ outcome: 'found_earlier', prior, usage });
    return false;
  });
}

/**
 * The time that events appended now carry. Whatever the clock says, time never goes back in a stream, and no event is older than
 * its period.
 *
 * @param caused the events; the first of them may open the period
 */
export function timeOfAppend(
  { usage, lastTime }: UsageSnapshot,
  now: string,
  [first]: readonly CausedEvent[] = [],
): string {
  const time = later(now, lastTime);
  if (usage.phase !== 'absent') return later(time, usage.period.start);
  return first?.event.type === 'UsagePeriodOpened' ? later(time, first.event.data.period_start) : time;
}

/** Events that were just stored, as if they had been read. */
export function asRecorded(stream: string, firstRevision: number, events: readonly EventToAppend[]): RecordedEvent[] {
  return events.map((event, index) => ({
    ...event,
    stream,
    revision: firstRevision + index,
    position: -1n,
    created: new Date(0),
  }));
}
