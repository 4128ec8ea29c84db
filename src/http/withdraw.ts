import type { FastifyRequest } from 'fastify';
import type { PendingVoids } from '../ports/billing.ts';
import type { Outage, Outages } from '../ports/outage.ts';
import type { Compensation } from '../commands/usage/batch.ts';
import { callerOf } from './caller.ts';
import { withDeadline } from '../async/deadline.ts';

/** How long a pending void may take to become durable. */
const promiseTimeoutMs = 3_000;
/** Well within the time that a period's books stay open: a process that was suspended for longer records nothing. */
const maxAgeMs = 60_000;

/**
 * Records a pending void for a request whose append is still unknown at the end of its budget: if the append turns out to be
 * stored, its charge is voided.
 *
 * @returns true once the pending void is durable, so that the client may be told; otherwise no answer is known to be true, and
 *   the connection is to be cut
 */
export async function withdraw(
  request: FastifyRequest,
  { pendingVoids, outages }: { pendingVoids: PendingVoids; outages: Outages },
  compensation: Compensation | undefined,
): Promise<boolean> {
  const outage = outcomesOf(outages);
  const facts = { account: callerOf(request).accountId, reqId: request.id, ...compensation?.charge };
  const isPromised = compensation !== undefined && (await promise(pendingVoids, compensation, { outage, facts }));
  const isYoung = performance.now() - request.arrivedMs < maxAgeMs;
  const isWithdrawn = isPromised && isYoung;
  // Debug, because the row is in `pending_voids` and requests are counted: an outage would log a line for each.
  outage.failed(isWithdrawn ? 'a request is withdrawn' : 'a request is cut', undefined, facts);
  return isWithdrawn;
}

/** The outages in which a request's budget ends with its append unknown. */
export const outcomesOf = (outages: Outages): Outage => outages.of('the outcomes of requests');

async function promise(
  pendingVoids: PendingVoids,
  { append, charge }: Compensation,
  { outage, facts }: { outage: Outage; facts: object },
): Promise<boolean> {
  const added = pendingVoids.add(append, charge).catch((error: unknown) => {
    outage.failed('the promise of a void', error, facts);
    return false;
  });
  return await withDeadline(added, promiseTimeoutMs, () => false);
}
