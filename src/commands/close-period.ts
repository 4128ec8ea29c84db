import { later } from '../domain/instant.ts';
import { parseUsageEvent } from '../domain/recorded-event.ts';
import type { Actor } from '../domain/recorded-event.ts';
import { isRefused } from '../domain/refusals.ts';
import { decideSettlement, newSettlement } from '../domain/settlement.ts';
import { evolveUsage } from '../domain/usage.ts';
import { initialUsage } from '../domain/usage-state.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import { handle } from './handle.ts';
import type { PeriodClosings } from '../ports/billing.ts';
import type { EventStore } from '../ports/event-store.ts';

export interface ClosingDependencies {
  store: EventStore;
  now: () => string;
  newUuid: () => string;
  closings: PeriodClosings;
}

export interface ClosingRequest {
  /** What the read model knows of a period that has ended: the stream is read on from there, however long it is. */
  snapshot: UsageSnapshot;
  /** How long after its end a period still takes corrections. */
  graceSeconds: number;
  actor: Actor;
  timeoutMs: number;
}

/**
 * - `closed`: the books are closed, by this command or an earlier one.
 * - `not_yet`: the grace is not over before `notBefore` (UTC ISO-8601).
 * - `held_up`: a pending void may still give back a charge of the period.
 */
export type Closing = { outcome: 'closed' } | { outcome: 'not_yet'; notBefore: string } | { outcome: 'held_up' };

/**
 * Closes the books of an ended period. First the gate is shut, behind which no charge of the period can become a pending void
 * any more; a crash behind it leaves it shut, and the next attempt goes on from there.
 *
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then it may be asked again
 */
export async function closePeriod(
  { store, now, newUuid, closings }: ClosingDependencies,
  { snapshot, graceSeconds, actor, timeoutMs }: ClosingRequest,
): Promise<Closing> {
  const { stream, usage: state, ...known } = snapshot;
  const endedAt = await readEnd(store, snapshot);
  const notBefore = new Date(Date.parse(endedAt) + graceSeconds * 1_000).toISOString();
  // Before the gate: until the grace is over, a charge whose outcome nobody knows must be able to become a pending void.
  if (later(now(), snapshot.lastTime) < notBefore) return { outcome: 'not_yet', notBefore };
  if (!(await closings.begin(stream))) return { outcome: 'held_up' };
  const commandId = newUuid();
  const usage = { stream, initial: () => initialUsage, parse: parseUsageEvent, evolve: evolveUsage };
  const closed = await handle(
    store,
    { ...usage, known: { state, ...known } },
    {
      decide: (current, at) =>
        decideSettlement({ ...newSettlement(), usage: current, endedAt }, { kind: 'close_period', graceSeconds }, at),
      cause: { commandId, correlationId: commandId, causationId: commandId, actor },
      ...{ now, timeoutMs },
    },
  );
  if (!isRefused(closed)) return { outcome: 'closed' };
  // The clock has stepped back since.
  if (closed.refusal === 'grace_not_over') return { outcome: 'not_yet', notBefore };
  throw new Error(`${stream} could not be closed: ${closed.refusal}`);
}

/** Little follows the end of a period: it is looked for near the end of the stream, which may be very long. */
const tailEvents = 64;

/** When a period ended, as its event says. */
async function readEnd(store: EventStore, { stream, revision }: UsageSnapshot): Promise<string> {
  for (const from of [Math.max(0, revision - tailEvents), 0]) {
    for (const recorded of await store.read(stream, from)) {
      const { event, metadata } = parseUsageEvent(recorded);
      if (event.type === 'UsagePeriodEnded') return metadata.time;
    }
  }
  throw new Error(`${stream} has not ended`);
}
