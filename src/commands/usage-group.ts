import { decideUsage } from '../domain/decide-usage.ts';
import type { UsageCommand } from '../domain/decide-usage.ts';
import { isRefused } from '../domain/refusals.ts';
import type { Refusal } from '../domain/refusals.ts';
import type { UsageEvent } from '../domain/usage-events.ts';
import { evolveUsage } from '../domain/usage.ts';
import type { OpenUsage, UsageSnapshot } from '../domain/usage.ts';
import { EventStoreClosed } from './ports.ts';
import type { Cause } from './seal.ts';

/** The requests that one append answers, and what is decided for each: the inside of `usage-lane.ts`. */

export type UsageAnswer =
  | { outcome: 'accepted'; events: readonly UsageEvent[]; time: string; revision: number; usage: OpenUsage }
  | { outcome: 'refused'; refusal: Refusal; usage: OpenUsage }
  /** The budget ended and nothing was, or will be, stored. */
  | { outcome: 'not_stored' }
  /** The budget ended with the append under way: it may be stored. */
  | { outcome: 'unknown' };

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
  /** When the caller stops waiting, in milliseconds of `performance.now()`. */
  deadlineMs: number;
}

export interface Waiting extends LaneRequest {
  settle: (answer: UsageAnswer) => void;
  fail: (error: unknown) => void;
  settled: boolean;
  /** Its events are in an append whose outcome is not known yet. */
  inFlight: boolean;
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
  /** The state after this request and those before it. */
  usage: OpenUsage;
}

/** Decides requests in the order of their arrival, each on the state that the ones before it leave. */
export function decideGroup(known: OpenUsage, group: readonly Waiting[]) {
  const members: Member[] = [];
  const events: CausedEvent[] = [];
  let usage = known;
  let sizeBytes = 0;
  for (const waiting of group) {
    const { command } = waiting;
    const decision = command.kind === 'observe' || command.kind === 'roll_over' ? [] : decideUsage(usage, command);
    if (isRefused(decision)) {
      members.push({ waiting, events: [], refusal: decision.refusal, usage });
      continue;
    }
    sizeBytes += decision.reduce((sum, event) => sum + eventOverheadBytes + JSON.stringify(event.data).length, 0);
    if (events.length + decision.length > maxAppendEvents || (sizeBytes > maxAppendBytes && events.length > 0)) break;
    for (const event of decision) {
      events.push({ event, cause: waiting.cause });
      usage = evolveUsage(usage, event) as OpenUsage;
    }
    members.push({ waiting, events: decision, usage });
  }
  const writers = members.filter((member) => member.events.length > 0).map(({ waiting }) => waiting);
  return { members, events, writers, leftOver: group.slice(members.length) };
}

export function answer(members: readonly Member[], { lastTime: time, revision }: UsageSnapshot): void {
  for (const { waiting, events, refusal, usage } of members) {
    if (refusal) waiting.settle({ outcome: 'refused', refusal, usage });
    else waiting.settle({ outcome: 'accepted', events, time, revision, usage });
  }
}

export function giveUp(waiting: Waiting, error: unknown): void {
  if (waiting.inFlight) waiting.settle({ outcome: 'unknown' });
  else if (error instanceof EventStoreClosed) waiting.settle({ outcome: 'not_stored' });
  else waiting.fail(error);
}

export const isWriter = ({ command }: Waiting) => command.kind !== 'observe';
