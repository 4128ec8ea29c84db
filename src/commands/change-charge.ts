import { type ChargeCommand, type Charges, decideCharge, evolveCharges, newCharges } from '../domain/change-charge.ts';
import { parseUsageEvent } from '../domain/parse-event.ts';
import type { Refused } from '../domain/refusals.ts';
import type { UsageEvent } from '../domain/usage-events.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import type { Cause } from './handler/event-metadata.ts';
import { type Aggregate, beforeRevision, handle, type Handled, load } from './handler/handle-command.ts';

export interface ChargeChange {
  /** Name of the period's usage stream. */
  stream: string;
  command: ChargeCommand;
  cause: Cause;
  /** Revision from which the stream is read: that of the charge or an earlier one. Default: 0, which is slow in a large period. */
  fromRevision?: number;
  /** The read model's state of the period, from which `return_service_failure` knows the terms when it reads from a charge on. */
  snapshot?: UsageSnapshot;
  /** How long the caller waits, in milliseconds. */
  timeoutMs: number;
}

/**
 * Changes a charge in the stream of its own period, which need not be the account's newest one.
 *
 * @throws {NotStored} @throws {OutcomeUnknown}
 */
export function changeCharge(
  { store, now }: Pick<CommandDependencies, 'store' | 'now'>,
  { stream, command, cause, fromRevision, snapshot, timeoutMs }: ChargeChange,
): Promise<Handled<Charges, UsageEvent> | Refused> {
  return handle(store, chargesIn(stream, fromRevision, snapshot), {
    decide: (state) => decideCharge(state, command),
    cause,
    now,
    timeoutMs,
  });
}

/** @param fromRevision see `ChargeChange` @throws {EventStoreUnavailable} */
export async function readCharges(store: EventStore, stream: string, fromRevision: number): Promise<Charges> {
  return (await load(store, chargesIn(stream, fromRevision))).state;
}

/** The charges in a stream of usage, from a revision on. @see ChargeChange */
function chargesIn(stream: string, fromRevision = 0, snapshot?: UsageSnapshot): Aggregate<Charges, UsageEvent> {
  const whole = { stream, initial: newCharges, parse: parseUsageEvent, evolve: evolveCharges };
  if (fromRevision === 0) return whole;
  // A snapshot from before the charge would miss the changes of plan between the two.
  if (snapshot && (snapshot.stream !== stream || snapshot.revision < fromRevision))
    throw new Error(`the snapshot of ${snapshot.stream} is not one of ${stream} behind its charge`);
  const usage = snapshot?.usage;
  const returnsServiceFailures =
    usage === undefined || usage.phase === 'absent' ? null : usage.terms.service_failures_returned;
  const state = { ...newCharges(), returnsServiceFailures };
  return { ...whole, known: beforeRevision(fromRevision, state) };
}
