import { periodOfUsageStream } from '../domain/billing-period.ts';
import { jobStream } from '../domain/download-job-events.ts';
import { isServiceFailure } from '../domain/failed-job-keeps-charge.ts';
import { parseJobEvent } from '../domain/parse-event.ts';
import { isRefused, type Refusal } from '../domain/refusals.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import type { EventStore } from '../ports/event-store.ts';
import { changeCharge, readCharges } from './change-charge.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import type { Cause } from './handler/event-metadata.ts';
import { issueCreditNotes } from './issue-credit-note.ts';

export interface ReturnDependencies extends CommandDependencies {
  /** The read model's state of a usage stream; undefined if it has none that is believed. */
  readCredits: (stream: string) => Promise<UsageSnapshot | undefined>;
}

/**
 * - `waived`, `credit_returned`, `credit_note`: this command has given the charge back.
 * - `nothing`: nothing is left to give back, the terms exclude it, or the log has no failure of the service.
 * - `not_invoiced`: the period is closed and not invoiced yet; the credit note comes after the invoice.
 */
export type Returned = 'waived' | 'credit_returned' | 'credit_note' | 'nothing' | 'not_invoiced';

const actor = { type: 'system', id: 'service-failures' } as const;
const outcomes = { ChargeWaived: 'waived', DownloadCreditReturned: 'credit_returned' } as const;

/**
 * Gives back the charge of a download that the service has failed, as the job's stream says: before the period is closed by an
 * event of the period, afterwards by a credit note. Repeated, the command gives back nothing more.
 *
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function returnServiceFailure(
  dependencies: ReturnDependencies,
  { token, timeoutMs }: { token: string; timeoutMs: number },
): Promise<Returned> {
  const { store, newUuid, readCredits } = dependencies;
  const failure = await readServiceFailure(store, token);
  if (!failure) return 'nothing';
  const { stream, charge: fromRevision, ...caused } = failure;
  const snapshot = await readCredits(stream);
  // Without a row as new as the charge the whole stream is read, which takes longer.
  const known = snapshot && snapshot.revision >= fromRevision ? { fromRevision, snapshot } : {};
  const cause = { ...caused, commandId: newUuid(), actor };
  const reference = `service-failure-${token}`;
  const corrected = await changeCharge(dependencies, {
    stream,
    cause,
    timeoutMs,
    ...known,
    command: { kind: 'return_service_failure', token, reference },
  });
  if (!isRefused(corrected)) {
    const returned = corrected.events[0]?.type;
    return returned === 'ChargeWaived' || returned === 'DownloadCreditReturned' ? outcomes[returned] : 'nothing';
  }
  if (corrected.refusal !== 'period_closed') throw refusedError(token, corrected.refusal);
  return creditNote(dependencies, { token, reference, failure, cause, timeoutMs });
}

interface ServiceFailure extends Pick<Cause, 'correlationId' | 'causationId' | 'traceparent'> {
  /** The usage stream, and the revision of the charge in it. */
  stream: string;
  charge: number;
}

/** @returns undefined if the job has not failed by the service's fault */
async function readServiceFailure(store: EventStore, token: string): Promise<ServiceFailure | undefined> {
  const events = (await store.read(jobStream(token), 0)).map(parseJobEvent);
  const claimed = events.map(({ event }) => event).find(({ type }) => type === 'JobClaimed');
  const failed = events.find(({ event }) => isServiceFailure(event));
  if (!failed || claimed?.type !== 'JobClaimed') return undefined;
  const { id: causationId, metadata } = failed;
  return {
    stream: claimed.data.usage_stream,
    // The event before its DownloadQueued.
    charge: claimed.data.usage_revision - 1,
    correlationId: metadata.$correlationId,
    causationId,
    traceparent: metadata.$traceparent,
  };
}

/** Gives back the remaining cents. A credit of a closed period has no value any more. */
async function creditNote(
  dependencies: ReturnDependencies,
  of: { token: string; reference: string; failure: ServiceFailure; cause: Cause; timeoutMs: number },
): Promise<Returned> {
  const { token, reference, failure, cause, timeoutMs } = of;
  const { stream, charge: revision } = failure;
  const { accountId } = periodOfUsageStream(stream);
  const cents = (await readCharges(dependencies.store, stream, revision)).charges.get(token)?.cents;
  if (!cents) return 'nothing';
  const credit = { accountId, reference, stream, charges: [{ token, revision, cents }] };
  const handled = await issueCreditNotes(dependencies, { credit, cause, timeoutMs });
  if (!isRefused(handled)) return handled.events.length > 0 ? 'credit_note' : 'nothing';
  if (handled.refusal === 'nothing_to_give_back') return 'nothing';
  if (handled.refusal === 'invoice_not_found') return 'not_invoiced';
  throw refusedError(token, handled.refusal);
}

const refusedError = (token: string, refusal: Refusal) =>
  new Error(`the charge of ${token} could not be given back: ${refusal}`);
