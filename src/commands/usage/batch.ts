import { decideUsage } from '../../domain/decide-usage.ts';
import type { KeyedDownload, PriorDownload, UsageCommand } from '../../domain/decide-usage.ts';
import { later } from '../../domain/instant.ts';
import { isRefused } from '../../domain/refusals.ts';
import type { Refusal } from '../../domain/refusals.ts';
import type { UsageEvent } from '../../domain/usage-events.ts';
import { evolveUsage } from '../../domain/usage.ts';
import type { OpenUsage, UsageSnapshot } from '../../domain/usage-state.ts';
import type { KnownUsage } from './usage-cache.ts';
import type { ChargeToVoid, UnknownAppend } from '../../ports/billing.ts';
import type { EventToAppend, RecordedEvent } from '../../ports/event-store.ts';
import type { Cause } from '../event-metadata.ts';

/** The requests that one append answers, and what is decided for each: the inside of `account-writer.ts`. */

export type UsageAnswer =
  | {
      outcome: 'accepted';
      events: readonly UsageEvent[];
      time: string;
      revision: number;
      usage: OpenUsage;
      /** The download that the request repeats: it was accepted before, and is not charged again. */
      repeated?: PriorDownload | undefined;
    }
  | { outcome: 'refused'; refusal: Refusal; usage: OpenUsage }
  /** A download of an earlier period has the request's idempotency key: what becomes of it is decided in its own stream. */
  | { outcome: 'found_earlier'; prior: KeyedDownload; usage: OpenUsage }
  /** The budget ended and nothing was, or will be, stored. */
  | { outcome: 'not_stored' }
  /** The budget ended with the request charged, or not: nobody knows yet. */
  | { outcome: 'unknown'; withdrawal?: Withdrawal | undefined };

/** What may be stored of a request, so that it can be taken back. */
export interface Withdrawal {
  append: UnknownAppend;
  charge: ChargeToVoid;
}

/**
 * `observe` appends nothing: it only asks for the state of now. `roll_over` appends what the calendar asks for and nothing
 * else: it ends the periods whose time is over, and opens the one of now.
 */
export type LaneCommand = UsageCommand | { kind: 'observe' } | { kind: 'roll_over' };

export interface LaneRequest {
  command: LaneCommand;
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

export interface Waiting extends LaneRequest {
  settle: (answer: UsageAnswer) => void;
  fail: (error: unknown) => void;
  settled: boolean;
  /** Its events are in an append whose outcome is not known yet. */
  inFlight: { withdrawal: Withdrawal | undefined } | undefined;
}

/** @param onLate told at the request's deadline, if it is not settled by then */
export function startWaiting(
  request: LaneRequest,
  onLate: (waiting: Waiting) => void,
): { waiting: Waiting; answered: Promise<UsageAnswer> } {
  const { promise: answered, resolve, reject } = Promise.withResolvers<UsageAnswer>();
  const timer = setTimeout(() => {
    onLate(waiting);
  }, request.deadlineMs - performance.now());
  const once =
    <Value>(end: (value: Value) => void) =>
    (value: Value) => {
      waiting.settled = true;
      clearTimeout(timer);
      end(value);
    };
  const waiting: Waiting = {
    ...request,
    settle: once(resolve),
    fail: once(reject),
    settled: false,
    inFlight: undefined,
  };
  return { waiting, answered };
}

const maxAppendEvents = 500;
const maxAppendBytes = 256 * 1024;
/** What metadata, ids and framing add to an event's data, generously. */
const eventOverheadBytes = 700;

export interface CausedEvent {
  event: UsageEvent;
  cause: Cause;
}

export interface Member {
  waiting: Waiting;
  events: readonly UsageEvent[];
  refusal?: Refusal;
  repeated?: PriorDownload | undefined;
  /** The state after this request and those before it. */
  usage: OpenUsage;
}

/**
 * Decides requests in the order of their arrival, each on the state that the ones before it leave. Of those with the same
 * idempotency key one may write: the others are left over, because should its outcome be unknown, theirs would be too.
 *
 * @param usage the state of the open period that `known` stands at
 */
export function decideGroup(known: KnownUsage, usage: OpenUsage, group: readonly Waiting[]) {
  const members: Member[] = [];
  const events: CausedEvent[] = [];
  const leftOver: Waiting[] = [];
  const keysWritten = new Set<string>();
  let sizeBytes = 0;
  for (const [index, waiting] of group.entries()) {
    const { command } = waiting;
    const keyHash = keyHashOf(waiting);
    if (keyHash !== undefined && keysWritten.has(keyHash)) {
      leftOver.push(waiting);
      continue;
    }
    const prior = livePriorOf(known, waiting);
    const decision =
      command.kind === 'observe' || command.kind === 'roll_over' ? [] : decideUsage(usage, command, prior);
    if (isRefused(decision)) {
      members.push({ waiting, events: [], refusal: decision.refusal, usage });
      continue;
    }
    sizeBytes += decision.reduce((sum, event) => sum + eventOverheadBytes + JSON.stringify(event.data).length, 0);
    if (events.length + decision.length > maxAppendEvents || (sizeBytes > maxAppendBytes && events.length > 0)) {
      leftOver.push(...group.slice(index));
      break;
    }
    for (const event of decision) {
      events.push({ event, cause: waiting.cause });
      usage = evolveUsage(usage, event) as OpenUsage;
    }
    if (keyHash !== undefined && decision.length > 0) keysWritten.add(keyHash);
    members.push({ waiting, events: decision, repeated: prior, usage });
  }
  return { members, events, leftOver };
}

export function answer(members: readonly Member[], { lastTime: time, revision }: UsageSnapshot): void {
  for (const { waiting, events, refusal, repeated, usage } of members) {
    if (refusal) waiting.settle({ outcome: 'refused', refusal, usage });
    else waiting.settle({ outcome: 'accepted', events, time, revision, usage, repeated });
  }
}

export const isWriter = ({ command }: Waiting) => command.kind !== 'observe';

/** The hash of the request's idempotency key, if it has one. */
export function keyHashOf({ command }: LaneRequest): string | undefined {
  return command.kind === 'queue_download' ? command.idempotency?.keyHash : undefined;
}

/** The download that a request repeats, unless that was voided. */
export function livePriorOf(
  known: KnownUsage,
  { command, keyed, voidedToken }: LaneRequest,
): KeyedDownload | undefined {
  if (command.kind !== 'queue_download' || !command.idempotency) return undefined;
  const prior = known.keyed(command.idempotency.keyHash, keyed);
  return prior?.voided === false && prior.token !== voidedToken ? prior : undefined;
}

/** What a member's events charge, to be named if they must be taken back; a confirmation charges nothing. */
export function chargeOf({ waiting: { command }, events }: Member): ChargeToVoid | undefined {
  if (command.kind === 'debit_metadata') return { kind: 'lookup', lookup_id: command.lookupId };
  if (command.kind !== 'queue_download' || !events.some(({ type }) => type === 'DownloadQueued')) return undefined;
  return { kind: 'download', token: command.token };
}

/** Requests whose idempotency key has a download of an earlier period are not for this stream to decide. */
export function withoutFoundEarlier(known: KnownUsage, usage: OpenUsage, group: readonly Waiting[]): Waiting[] {
  return group.filter((waiting) => {
    const prior = livePriorOf(known, waiting);
    if (!prior || prior.stream >= known.snapshot.stream) return true;
    waiting.settle({ outcome: 'found_earlier', prior, usage });
    return false;
  });
}

/**
 * The time of events that are appended now: time never goes back in a stream, and no event is older than its period, whatever the
 * clock says.
 *
 * @param caused the events themselves, of which the first may open the period
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
