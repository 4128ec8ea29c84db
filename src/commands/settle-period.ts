import { parseUsageEvent } from '../domain/recorded-event.ts';
import type { Refused } from '../domain/refusals.ts';
import { decideSettlement, evolveSettlement, newSettlement } from '../domain/settlement.ts';
import type { Settlement, SettlementCommand } from '../domain/settlement.ts';
import type { UsageEvent } from '../domain/usage-events.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import { handle, load } from './handle.ts';
import type { Aggregate, Handled } from './handle.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Cause } from './event-metadata.ts';

export interface SettlementRequest {
  /** Name of the period's usage stream. */
  stream: string;
  command: SettlementCommand;
  cause: Cause;
  /**
   * Revision from which the stream is read: of the charge or the warning that the command is about, or before it. Without it,
   * the whole stream, which takes long in a large period.
   */
  fromRevision?: number;
  /** The read model's state of the period, for a command that needs its `usage` but reads only from the charge on. */
  snapshot?: UsageSnapshot;
  /** How long the caller waits, in milliseconds. */
  timeoutMs: number;
}

/**
 * What comes after a charge, in its own period's stream whether that is the newest one or not: the stream is read to its end,
 * and the decision appended at its exact revision.
 *
 * @throws {NotStored} @throws {OutcomeUnknown}
 */
export function settlePeriod(
  { store, now }: { store: EventStore; now: () => string },
  { stream, command, cause, fromRevision, snapshot, timeoutMs }: SettlementRequest,
): Promise<Handled<Settlement, UsageEvent> | Refused> {
  return handle(store, settlement(stream, fromRevision, snapshot), {
    decide: (state, at) => decideSettlement(state, command, at),
    ...{ cause, now, timeoutMs },
  });
}

/** @param fromRevision see `SettlementRequest` @throws {EventStoreUnavailable} */
export async function readSettlement(store: EventStore, stream: string, fromRevision: number): Promise<Settlement> {
  return (await load(store, settlement(stream, fromRevision))).state;
}

/** @see SettlementRequest */
export function settlement(
  stream: string,
  fromRevision = 0,
  snapshot?: UsageSnapshot,
): Aggregate<Settlement, UsageEvent> {
  const whole = { stream, initial: newSettlement, parse: parseUsageEvent, evolve: evolveSettlement };
  if (fromRevision === 0) return whole;
  // Hash and time come from the events that are read. Where there are none there is no charge, and nothing is appended.
  const known = { revision: fromRevision - 1, lastHash: '', lastTime: '' };
  if (!snapshot) return { ...whole, known: { ...known, state: newSettlement() } };
  if (snapshot.stream !== stream || snapshot.revision < fromRevision)
    throw new Error(`the snapshot of ${snapshot.stream} is not one of ${stream} behind its charge`);
  return {
    ...whole,
    known: { ...known, state: { ...newSettlement(), usage: snapshot.usage } },
    evolve: (state, event, at) => {
      const evolved = evolveSettlement(state, event, at);
      // The snapshot has these already.
      return at.revision <= snapshot.revision ? { ...evolved, usage: snapshot.usage } : evolved;
    },
  };
}
