import type { FastifyRequest } from 'fastify';
import type { PendingVoids } from '../commands/billing-ports.ts';
import type { Withdrawal } from '../commands/usage-group.ts';
import { callerOf } from './caller.ts';

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
  pendingVoids: PendingVoids,
  withdrawal: Withdrawal | undefined,
): Promise<boolean> {
  const logger = request.log.child({ account: callerOf(request).accountId, ...withdrawal?.charge });
  const isPromised = withdrawal !== undefined && (await promise(pendingVoids, withdrawal, logger));
  const isYoung = performance.now() - request.arrivedMs < maxAgeMs;
  if (isPromised && isYoung)
    logger.warn('a request is withdrawn: its append is still unknown at the end of its budget');
  else logger.error('a request is cut: whether it is charged is still unknown at the end of its budget');
  return isPromised && isYoung;
}

async function promise(
  pendingVoids: PendingVoids,
  { append, charge }: Withdrawal,
  logger: FastifyRequest['log'],
): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => {
    resolve(false);
  }, promiseTimeoutMs);
  const added = pendingVoids.add(append, charge).catch((error: unknown) => {
    logger.error({ err: error }, 'a void could not be promised');
    return false;
  });
  try {
    return await Promise.race([added, late]);
  } finally {
    clearTimeout(timer);
  }
}
