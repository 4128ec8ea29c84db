import { decideClosing, evolveClosing, initialClosing } from '../domain/closing-grace.ts';
import { later, plusSeconds } from '../domain/instant.ts';
import type { InvoiceIssued } from '../domain/invoice-events.ts';
import { type Actor, parseUsageEvent } from '../domain/parse-event.ts';
import { isRefused } from '../domain/refusals.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import type { PeriodClosings } from '../ports/billing.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { ownCause } from './handler/event-metadata.ts';
import { handle } from './handler/handle-command.ts';

export interface ClosingDependencies extends CommandDependencies {
  closings: PeriodClosings;
}

export interface ClosingRequest {
  /** The read model's state of a period that has ended, from which the stream is read on. */
  snapshot: UsageSnapshot;
  /** How long after its end a period still takes corrections. */
  graceSeconds: number;
  actor: Actor;
  timeoutMs: number;
}

/**
 * - `closed`: the period is closed, by this command or an earlier one.
 * - `not_yet`: the grace is not over before `notBefore` (UTC ISO-8601).
 * - `held_up`: a pending void may still give back a charge of the period.
 */
export type ClosingOutcome = { outcome: 'closed' } | { outcome: 'not_yet'; notBefore: string } | { outcome: 'held_up' };

/** The results of one round over all accounts. */
export interface ClosingRound {
  /** Usage streams of periods after which the next one was opened. */
  rolledOver: string[];
  /** Usage streams of periods whose books were closed. */
  closed: string[];
  issued: InvoiceIssued[];
  /** Usage streams of periods that may still have to give back a charge whose outcome is not known. */
  heldUp: string[];
  /** Periods that still take corrections, and the instant until which they do, UTC ISO-8601. */
  inGrace: { stream: string; until: string }[];
  failed: { stream: string; error: unknown }[];
}

/**
 * Closes a period that has ended, once its grace is over and no pending void can change a charge of it. First it shuts the gate,
 * after which no charge of the period can become a pending void. A crash leaves the gate shut, and the next attempt goes on from
 * there. Periods come here in their order: one waits for the invoice of the one before (`due-periods.ts`).
 *
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function closePeriod(
  { store, now, newUuid, closings }: ClosingDependencies,
  { snapshot, graceSeconds, actor, timeoutMs }: ClosingRequest,
): Promise<ClosingOutcome> {
  const { stream, usage, ...known } = snapshot;
  const endedAt = await readEnd(store, snapshot);
  const notBefore = plusSeconds(endedAt, graceSeconds);
  // Before the gate: until the grace is over, a charge whose outcome nobody knows must be able to become a pending void.
  if (later(now(), snapshot.lastTime) < notBefore) return { outcome: 'not_yet', notBefore };
  if (!(await closings.begin(stream))) return { outcome: 'held_up' };
  const closed = await handle(
    store,
    {
      stream,
      initial: () => initialClosing,
      parse: parseUsageEvent,
      evolve: evolveClosing,
      known: { ...known, state: { usage, endedAt } },
    },
    {
      decide: (state, at) => decideClosing(state, graceSeconds, at),
      cause: ownCause(newUuid(), actor),
      now,
      timeoutMs,
    },
  );
  if (!isRefused(closed)) return { outcome: 'closed' };
  // The clock has stepped back since.
  if (closed.refusal === 'grace_not_over') return { outcome: 'not_yet', notBefore };
  throw new Error(`${stream} could not be closed: ${closed.refusal}`);
}

/** UsagePeriodEnded is among the last events of a stream, which may be very long: the last ones are read first. */
const tailEvents = 64;

/** @returns the time of the period's UsagePeriodEnded */
async function readEnd(store: EventStore, { stream, revision }: UsageSnapshot): Promise<string> {
  for (const from of [Math.max(0, revision - tailEvents), 0]) {
    for (const recorded of await store.read(stream, from)) {
      const { event, metadata } = parseUsageEvent(recorded);
      if (event.type === 'UsagePeriodEnded') return metadata.time;
    }
  }
  throw new Error(`${stream} has not ended`);
}
