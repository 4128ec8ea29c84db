import type { FastifyRequest } from 'fastify';
import type { Admissions } from '../../projections/admission/admission.ts';
import { windowMs } from '../../projections/admission/admission-statement.ts';
import { withDeadline } from '../async/deadline.ts';

/** An answer waits no longer than this. */
const giveBackMs = 1_000;

/**
 * Gives a request's place in the hourly window back, because its client is told to send it again: otherwise the
 * repeats of an outage would use up the hour. It happens at most once per request, and not while Postgres is away.
 */
export async function giveBack(request: FastifyRequest, admissions: Admissions): Promise<void> {
  const { place, usageHeaders } = request;
  request.place = undefined;
  if (!place || !usageHeaders) return;
  const giving = admissions.giveBack(place).catch((error: unknown) => {
    request.log.debug({ err: error }, 'the place of a request could not be given back');
    return false;
  });
  const isGiven = await withDeadline(giving, giveBackMs, () => false);
  if (!isGiven) return;
  const { limit, remaining, resetAtSeconds } = usageHeaders.window;
  // Where nothing else was counted, the window is empty now: an hour before this request would have left it, and what the
  // request has taken since. The clock of this machine may be what is wrong.
  const tookMs = performance.now() - request.arrivedMs;
  const nowSeconds = resetAtSeconds + Math.ceil((tookMs - windowMs) / 1000);
  usageHeaders.window = {
    limit,
    remaining: remaining + 1,
    resetAtSeconds: remaining + 1 === limit ? nowSeconds : resetAtSeconds,
  };
}
