import { withDeadline } from '../async/deadline.ts';
import type { PendingVoids } from '../ports/billing.ts';
import type { ServicePart, ServiceParts } from '../ports/service-parts.ts';
import type { Compensation } from './usage/decide-batch.ts';

/** How long a pending void may take to become durable. */
const recordTimeoutMs = 3_000;
/**
 * Well within the time that a period's books stay open. A process that was suspended for longer cuts the connection, even if the
 * pending void is stored.
 */
const maxAgeMs = 60_000;

export interface UnansweredRequest {
  accountId: string;
  requestId: string;
  /** When it arrived, in milliseconds of `performance.now()`. */
  arrivedMs: number;
}

/**
 * Records a pending void for a request whose append is still unknown at the end of its budget: if the append turns out to be
 * stored, its charge is voided.
 *
 * @returns true once the pending void is durable, so that the client may be told; otherwise no answer is known to be true, and
 *   the connection is to be cut
 */
export async function recordPendingVoid(
  { accountId, requestId, arrivedMs }: UnansweredRequest,
  { pendingVoids, serviceParts }: { pendingVoids: PendingVoids; serviceParts: ServiceParts },
  compensation: Compensation | undefined,
): Promise<boolean> {
  const part = outcomesOf(serviceParts);
  const facts = { account: accountId, reqId: requestId, ...compensation?.charge };
  const isStored = compensation !== undefined && (await addInTime(pendingVoids, compensation, { part, facts }));
  const isRecorded = isStored && performance.now() - arrivedMs < maxAgeMs;
  // No line for each request: `Outage` logs the first at warn and the rest at debug. The row is in `pending_voids`.
  part.failed(isRecorded ? 'a pending void is recorded' : 'a connection is cut', undefined, facts);
  return isRecorded;
}

/** The part that is lost while a request's budget ends with its append unknown. */
export const outcomesOf = (serviceParts: ServiceParts): ServicePart => serviceParts.of('the outcomes of requests');

async function addInTime(
  pendingVoids: PendingVoids,
  { append, charge }: Compensation,
  { part, facts }: { part: ServicePart; facts: object },
): Promise<boolean> {
  const added = pendingVoids.add(append, charge).catch((error: unknown) => {
    part.failed('recording a pending void', error, facts);
    return false;
  });
  return await withDeadline(added, recordTimeoutMs, () => false);
}
