import { parseUsageEvent } from '../domain/recorded-event.ts';
import type { Refused } from '../domain/refusals.ts';
import { decideSettlement, evolveSettlement, newSettlement } from '../domain/settlement.ts';
import type { Settlement, SettlementCommand } from '../domain/settlement.ts';
import type { UsageEvent } from '../domain/usage-events.ts';
import { handle, load } from './handle.ts';
import type { Aggregate, Handled } from './handle.ts';
import type { EventStore } from './ports.ts';
import type { Cause } from './seal.ts';

export interface SettlementRequest {
  /** Name of the period's usage stream. */
  stream: string;
  command: SettlementCommand;
  cause: Cause;
  /** How long the caller waits, in milliseconds. */
  timeoutMs: number;
}

/**
 * What comes after a charge, in its own period's stream whether that is the newest one or not: the stream is read whole, and
 * the decision appended at its exact revision.
 *
 * @throws {NotStored} @throws {OutcomeUnknown}
 */
export function settlePeriod(
  { store, now }: { store: EventStore; now: () => string },
  { stream, command, cause, timeoutMs }: SettlementRequest,
): Promise<Handled<Settlement, UsageEvent> | Refused> {
  return handle(store, settlement(stream), {
    decide: (state, at) => decideSettlement(state, command, at),
    ...{ cause, now, timeoutMs },
  });
}

/** @throws {EventStoreUnavailable} */
export async function readSettlement(store: EventStore, stream: string): Promise<Settlement> {
  return (await load(store, settlement(stream))).state;
}

const settlement = (stream: string): Aggregate<Settlement, UsageEvent> => ({
  stream,
  initial: newSettlement,
  parse: parseUsageEvent,
  evolve: evolveSettlement,
});
