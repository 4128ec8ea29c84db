import type { FastifyReply, FastifyRequest } from 'fastify';
import { windowMs } from '../../projections/admission/admission-statement.ts';
import { type NotBelieved, notBelieved } from '../../projections/credits-macs.ts';
import { termsAt } from '../domain/usage-periods.ts';
import type { UsagePeriod, UsageSnapshot } from '../domain/usage-state.ts';
import type { OwnerSessions } from '../ports/console-sessions.ts';
import type { EndpointDependencies } from './endpoint.ts';
import { ApiError } from './errors.ts';
import { rateLimitRetryAfterSeconds } from './retry-after.ts';
import { creditsRemainingOf } from './usage-headers.ts';
import { admitFromLog } from './usage-without-valid-mac.ts';

export interface SessionDependencies extends Pick<
  EndpointDependencies,
  'writers' | 'store' | 'newUuid' | 'now' | 'realNowMs'
> {
  ownerSessions: OwnerSessions;
  /** The newest credits row of an account. */
  readUsage: (accountId: string) => Promise<UsageSnapshot | NotBelieved | undefined>;
}

/** Asked of every request, and so without a wait: few can. */
export const mayCarrySession = ({ headers, routeOptions }: FastifyRequest): boolean =>
  routeOptions.config.takesSession === true && headers.authorization === undefined && headers.cookie !== undefined;

/**
 * Admits a request with a session of the console instead of a key, where its endpoint takes one (contract §4.5, §5). A key wins
 * over a cookie, and a cookie on any other endpoint is ignored. Cookie, `Origin` and `X-CSRF-Token` must belong together.
 *
 * @returns false where the request has no such session: it is treated as one without
 * @throws {ApiError} rate_limited, beyond the account's one window for sessions
 */
export async function admitSession(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: SessionDependencies,
): Promise<boolean> {
  const { cookie, origin, 'x-csrf-token': token } = request.headers;
  const { ownerSessions, readUsage, now, realNowMs } = dependencies;
  const unavailable = () => new ApiError('unavailable', { away: 'postgres' });
  const formToken = typeof token === 'string' ? token : undefined;
  const session = await ownerSessions.find({ cookie, origin, formToken }).catch(() => Promise.reject(unavailable()));
  if (!session) return false;
  const { accountId, personId } = session;
  const row = await readUsage(accountId).catch(() => Promise.reject(unavailable()));
  if (row === undefined) throw new ApiError('unavailable', { away: 'read_models' });
  const actor = { type: 'owner', id: personId } as const;
  const known = { actor, keyHash: '', accountId, job: undefined, keyed: undefined };
  const isBelieved = row !== notBelieved && row.usage.phase !== 'absent';
  if (isBelieved) request.caller = { ...known, usage: row };
  const usage = isBelieved ? (row.usage as UsagePeriod) : await admitFromLog(request, known, dependencies);
  const limit = termsAt(usage, now()).hourly_limit;
  const admission = await ownerSessions.admit(accountId, limit).catch(() => Promise.reject(unavailable()));
  const resetAtSeconds = Math.ceil((admission.oldestMs + windowMs + 1) / 1000);
  request.usageHeaders = {
    window: { limit, remaining: Math.max(limit - admission.counted, 0), resetAtSeconds },
    creditsRemaining: creditsRemainingOf(accountId, isBelieved ? row : undefined, dependencies),
  };
  if (admission.isAdmitted) return true;
  reply.header('retry-after', String(rateLimitRetryAfterSeconds(resetAtSeconds, realNowMs())));
  throw new ApiError('rate_limited');
}
