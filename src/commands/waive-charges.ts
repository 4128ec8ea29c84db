import { decideCharge } from '../domain/charges.ts';
import type { Actor } from '../domain/parse-event.ts';
import { isRefused, type Refused } from '../domain/refusals.ts';
import type { UsageEventOf } from '../domain/usage-events.ts';
import type { EventStore } from '../ports/event-store.ts';
import { chargesIn } from './change-charge.ts';
import { handle } from './handle-command.ts';

export interface ChargesToWaive {
  /** The usage stream of a period. */
  stream: string;
  /** Downloads with the revisions of their charges, in the order of these. */
  charges: readonly { token: string; revision: number }[];
  reference: string;
  actor: Extract<Actor, { type: 'staff' }>;
  /** For each append. */
  timeoutMs: number;
}

export type Waived = UsageEventOf<'ChargeWaived'>['data'];

const maxAppendEvents = 500;
const maxAppendBytes = 512 * 1024;
/** Upper bound of an event's bytes besides its actor and reference: ids, hash, token, field names, framing. */
const eventBytes = 1_000;

/**
 * Waives all that is left of each charge, one event for each, in as many appends as necessary: an append holds at most 500 events
 * and 512 KiB, half the limit of an event store. The stream is read once, from the first charge on. An interrupted command can be
 * repeated: it skips the charges of which nothing is left.
 *
 * @param progress called after each append with the number of charges processed so far
 * @returns the waivers of this command, and a refusal if the period was closed before all charges were waived
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function waiveCharges(
  { store, now, newUuid }: { store: EventStore; now: () => string; newUuid: () => string },
  { stream, charges, reference, actor, timeoutMs }: ChargesToWaive,
  progress: (done: number) => void = () => undefined,
): Promise<{ waived: Waived[]; refused?: Refused }> {
  const waived: Waived[] = [];
  const correlationId = newUuid();
  let aggregate = chargesIn(stream, charges[0]?.revision);
  const perAppend = eventsPerAppend({ actor, reference });
  for (let first = 0; first < charges.length; first += perAppend) {
    const tokens = charges.slice(first, first + perAppend).map(({ token }) => token);
    const handled = await handle(store, aggregate, {
      decide: (state) => decideCharge(state, { kind: 'waive_charges', tokens, reference }),
      cause: { commandId: newUuid(), correlationId, causationId: correlationId, actor },
      now,
      timeoutMs,
    });
    if (isRefused(handled)) return { waived, refused: handled };
    waived.push(...handled.events.flatMap(({ type, data }) => (type === 'ChargeWaived' ? [data] : [])));
    aggregate = { ...aggregate, known: handled.loaded };
    progress(first + tokens.length);
  }
  return { waived };
}

/** A reason may have 500 characters of any script, with which fewer events fit. */
export function eventsPerAppend(says: { actor: object; reference: string }): number {
  const bytes = eventBytes + Buffer.byteLength(JSON.stringify(says));
  return Math.min(maxAppendEvents, Math.floor(maxAppendBytes / bytes));
}
