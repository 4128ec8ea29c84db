import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Admission, RateWindow } from '../../projections/admission/admission.ts';
import { notBelieved } from '../../projections/credits-macs.ts';
import type { PolledJob } from '../../projections/jobs.ts';
import { hasApiKeyForm, hashApiKey } from '../commands/ids/api-key.ts';
import type { RequestTokens } from '../commands/ids/request-token.ts';
import { clientAddress } from '../requests/client-address.ts';
import { admitSession, mayCarrySession, type SessionDependencies } from './authenticate-session.ts';
import { callerOf, idempotencyKeyHashOf } from './caller.ts';
import { currentUsage, errorOfRequest } from './current-usage.ts';
import type { EndpointDependencies } from './endpoint.ts';
import { ApiError } from './errors.ts';
import type { AddressWindows } from './limit-of-callers-without-key.ts';
import { preferredWait } from './prefer.ts';
import { rateLimitRetryAfterSeconds } from './retry-after.ts';
import { creditsRemainingOf, noCredits, type UsageHeaders } from './usage-headers.ts';
import { admitFromLog } from './usage-without-valid-mac.ts';

export interface AuthenticateDependencies
  extends SessionDependencies, Pick<EndpointDependencies, 'admissions' | 'tokens' | 'serviceParts' | 'partsAway'> {
  addresses: AddressWindows;
}

const admissionPart = 'the admission of requests';

/** The request's key, then its rate (contract §5, §8.1): both in the one round trip. */
export function createAuthenticate(dependencies: AuthenticateDependencies) {
  const { admissions, addresses, tokens, serviceParts, partsAway, now, realNowMs } = dependencies;
  const part = serviceParts.of(admissionPart);
  /** The window to show for a key while Postgres cannot be asked. */
  const lastKnown = new LRUCache<string, UsageHeaders>({ max: 50_000 });

  const refuseUnauthenticated = (request: FastifyRequest, reply: FastifyReply): never => {
    const { window, exhausted } = addresses.count(clientAddress(request));
    request.usageHeaders = { window, creditsRemaining: noCredits };
    if (exhausted) reply.header('connection', 'close');
    throw new ApiError('unauthorized');
  };

  const admit = async (request: FastifyRequest, keyHash: string): Promise<Admission | undefined> => {
    const token = tokenOf(request, tokens);
    request.pollToken = token;
    const idempotencyKeyHash = idempotencyKeyHashOf(request);
    request.idempotencyKeyHash = idempotencyKeyHash;
    try {
      request.isPlaceOpen = waitsForEnd(request);
      const takesNoPlace = request.isPlaceOpen;
      const admission = await admissions.admit({ keyHash, token, idempotencyKeyHash, takesNoPlace });
      part.works();
      partsAway.works('postgres');
      return admission;
    } catch (error) {
      part.failed('a request', error);
      request.usageHeaders = lastKnown.get(keyHash) ?? {
        window: { limit: 0, remaining: 0, resetAtSeconds: Math.ceil(realNowMs() / 1000) },
        creditsRemaining: noCredits,
      };
      throw new ApiError(request.routeOptions.config.whenUnavailable ?? 'unavailable', { away: 'postgres' });
    }
  };

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (mayCarrySession(request) && (await admitSession(request, reply, dependencies))) return;
    const key = bearerKey(request);
    if (key === undefined || !hasApiKeyForm(key)) return refuseUnauthenticated(request, reply);
    const keyHash = hashApiKey(key);
    const admission = await admit(request, keyHash);
    if (!admission) return refuseUnauthenticated(request, reply);
    const { window, keyId, accountId, job, keyed } = admission;
    const usage = admission.usage === notBelieved ? undefined : admission.usage;
    // The rows may be those of another log: they neither decide nor are shown.
    const shown = admission.outcome === 'reader_refused' ? undefined : usage;
    request.usageHeaders = { window, creditsRemaining: creditsRemainingOf(accountId, shown, dependencies) };
    lastKnown.set(keyHash, request.usageHeaders);
    // The row of the key has no valid MAC, so nobody knows whose key it is: 503 for every endpoint (decision 29).
    if (admission.outcome === 'not_believed') throw new ApiError('unavailable');
    request.place = admission.place;
    if (admission.outcome === 'reader_refused') throw new ApiError('unavailable', { away: 'read_models' });
    request.countedKey = { accountId, keyId };
    if (admission.outcome === 'rate_limited') refuseBeyondLimit(reply, window, realNowMs());
    if (keyed === notBelieved) throw new ApiError(request.routeOptions.config.whenUnavailable ?? 'unavailable');
    // While the clock is wrong nothing is decided.
    const at = now();
    // The account is so new that it has no credits row yet. No endpoint can serve it, so each answers 503.
    if (!admission.usage) throw new ApiError('unavailable', { away: 'read_models' });
    const caller = { actor: { type: 'api_key', id: keyId } as const, keyHash, accountId, job, keyed };
    if (usage) request.caller = { ...caller, usage };
    const read = usage?.usage ?? (await admitFromLog(request, caller, dependencies));
    // The row may be behind the end of a suspension: only the log refuses.
    if (errorOfRequest(read, { id: keyId, at })) await currentUsage(request, dependencies);
  };
}

type ReadAgainDependencies = Pick<AuthenticateDependencies, 'admissions' | 'serviceParts' | 'writers' | 'realNowMs'>;

/**
 * Reads key, window and job again for a request that has waited since it was admitted; it takes no further place.
 *
 * @returns its job as it is now
 * @throws {ApiError} unauthorized where the key was revoked meanwhile
 */
export async function readAgain(
  request: FastifyRequest,
  dependencies: ReadAgainDependencies,
): Promise<PolledJob | undefined> {
  return (await admitAgain(request, dependencies, { takesNoPlace: true })).job;
}

/**
 * Counts a request whose place was open until now; any other is counted already.
 *
 * @throws {ApiError} rate_limited where the window has no place for it
 */
export async function takeOpenPlace(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: ReadAgainDependencies,
): Promise<void> {
  if (!request.isPlaceOpen) return;
  request.isPlaceOpen = false;
  const { outcome, place, window } = await admitAgain(request, dependencies, { takesNoPlace: false });
  request.place = place;
  if (outcome === 'rate_limited') refuseBeyondLimit(reply, window, dependencies.realNowMs());
}

async function admitAgain(
  request: FastifyRequest,
  { admissions, serviceParts, writers }: ReadAgainDependencies,
  { takesNoPlace }: { takesNoPlace: boolean },
): Promise<Admission> {
  const { keyHash, accountId } = callerOf(request);
  const admission = await admissions
    .admit({ keyHash, token: request.pollToken, takesNoPlace })
    .catch((error: unknown) => {
      serviceParts.of(admissionPart).failed('a request', error);
      throw new ApiError('unavailable', { away: 'postgres' });
    });
  if (!admission) throw new ApiError('unauthorized');
  if (admission.outcome === 'not_believed') throw new ApiError('unavailable');
  if (admission.outcome === 'reader_refused') throw new ApiError('unavailable', { away: 'read_models' });
  const { usage, window } = admission;
  if (usage && usage !== notBelieved) writers.newest.takeRow(accountId, usage);
  if (request.usageHeaders) request.usageHeaders.window = window;
  return admission;
}

function refuseBeyondLimit(reply: FastifyReply, { resetAtSeconds }: RateWindow, nowMs: number): never {
  reply.header('retry-after', String(rateLimitRetryAfterSeconds(resetAtSeconds, nowMs)));
  throw new ApiError('rate_limited');
}

/** A poll that waits for the end takes no place if it tells it, so that a full window keeps nobody from a film (decision 59). */
function waitsForEnd({ headers, pollToken, routeOptions: { config } }: FastifyRequest): boolean {
  const wait = preferredWait(headers['prefer']);
  if (wait === undefined || wait.seconds === 0) return false;
  return config.waitsForEnds === true || (pollToken !== undefined && wait.untilEnded);
}

function bearerKey({ headers }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/** Only a token that passes its own check is worth a look-up. */
function tokenOf(request: FastifyRequest, tokens: RequestTokens): string | undefined {
  if (!request.routeOptions.config.polls) return undefined;
  const { token } = request.query as { token?: unknown };
  return typeof token === 'string' && tokens.verify(token) ? token : undefined;
}
