import type { FastifyRequest } from 'fastify';
import type { PendingVoids } from '../ports/billing.ts';
import type { Outage, Outages } from '../ports/outage.ts';
import type { Withdrawal } from '../commands/usage/batch.ts';
import { callerOf } from './caller.ts';
import { withDeadline } from '../async/deadline.ts';

/** How long a promise may take to become durable. */
const promiseTimeoutMs = 3_000;
/** Well within the time that a period's books stay open: a process that was suspended for longer promises nothing. */
const maxAgeMs = 60_000;

/**
 * Promises that a request, whose append is still unknown at the end of its budget, is not charged: whatever of it turns out
 * to be stored is taken back.
 *
 * @returns whether the promise is durable, so that the client may be told; otherwise nothing that could be said is known to
 *   be true, and the connection is to be cut
 */
export async function withdraw(
  request: FastifyRequest,
  { pendingVoids, outages }: { pendingVoids: PendingVoids; outages: Outages },
  withdrawal: Withdrawal | undefined,
): Promise<boolean> {
  const outage = outcomesOf(outages);
  const facts = { account: callerOf(request).accountId, reqId: request.id, ...withdrawal?.charge };
  const isPromised = withdrawal !== undefined && (await promise(pendingVoids, withdrawal, { outage, facts }));
  const isYoung = performance.now() - request.arrivedMs < maxAgeMs;
  const isWithdrawn = isPromised && isYoung;
  // Debug, since `pending_voids` has the promise and requests are counted: an outage would bring a line for each.
  outage.failed(isWithdrawn ? 'a request is withdrawn' : 'a request is cut', undefined, facts);
  return isWithdrawn;
}

/** The outages in which a request's budget ends with its append unknown. */
export const outcomesOf = (outages: Outages): Outage => outages.of('the outcomes of requests');

async function promise(
  pendingVoids: PendingVoids,
  { append, charge }: Withdrawal,
  { outage, facts }: { outage: Outage; facts: object },
): Promise<boolean> {
  const added = pendingVoids.add(append, charge).catch((error: unknown) => {
    outage.failed('the promise of a void', error, facts);
    return false;
  });
  return await withDeadline(added, promiseTimeoutMs, () => false);
}
