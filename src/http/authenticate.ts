import { LRUCache } from 'lru-cache';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission, Admissions } from '../../projections/admission.ts';
import { hashApiKey, hasApiKeyForm } from '../commands/api-key.ts';
import { ClockIsWrong } from '../commands/ports.ts';
import type { RequestTokens } from '../commands/request-token.ts';
import { summariseUsage } from '../domain/usage-summary.ts';
import type { UsageSnapshot } from '../domain/usage.ts';
import type { AddressWindows } from './address-window.ts';
import { idempotencyKeyHashOf } from './caller.ts';
import { cutConnection } from './envelope.ts';
import { ApiError } from './errors.ts';
import type { PartsAway } from './parts-away.ts';
import type { UsageHeaders } from './usage-headers.ts';

export interface AuthenticateDependencies {
  admissions: Admissions;
  addresses: AddressWindows;
  tokens: RequestTokens;
  partsAway: PartsAway;
  now: () => string;
  realNowMs: () => number;
}

/** The request's key, then its rate (contract §5, §8.1): both in the one round trip. */
export function createAuthenticate({
  admissions,
  addresses,
  tokens,
  partsAway,
  now,
  realNowMs,
}: AuthenticateDependencies) {
  /** What to say of a key's window while Postgres cannot be asked. */
  const lastKnown = new LRUCache<string, UsageHeaders>({ max: 10_000 });

  const refuseStranger = (request: FastifyRequest, reply: FastifyReply): never => {
    const { window, exhausted } = addresses.count(request.ip);
    request.usageHeaders = { window, creditsRemaining: 0 };
    if (exhausted) reply.header('connection', 'close');
    throw new ApiError('unauthorized');
  };

  const admit = async (request: FastifyRequest, keyHash: string): Promise<Admission | undefined> => {
    const token = tokenOf(request, tokens);
    request.pollToken = token;
    const idempotencyKeyHash = idempotencyKeyHashOf(request);
    request.idempotencyKeyHash = idempotencyKeyHash;
    try {
      return await admissions.admit({ keyHash, token, idempotencyKeyHash });
    } catch (error) {
      request.log.error({ err: error }, 'Postgres could not be asked to admit a request');
      request.usageHeaders = lastKnown.get(keyHash) ?? {
        window: { limit: 0, remaining: 0, resetAtSeconds: Math.ceil(realNowMs() / 1000) },
        creditsRemaining: 0,
      };
      throw new ApiError(request.routeOptions.config.whenUnavailable ?? 'unavailable', { away: 'postgres' });
    }
  };

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const key = bearerKey(request);
    if (key === undefined || !hasApiKeyForm(key)) return refuseStranger(request, reply);
    const keyHash = hashApiKey(key);
    const admission = await admit(request, keyHash);
    if (!admission) return refuseStranger(request, reply);
    partsAway.works('postgres');
    const { window, usage, keyId, accountId, job, keyed } = admission;
    const time = timeIfKnown(now);
    request.usageHeaders = { window, creditsRemaining: creditsRemaining(usage, time ?? usage?.lastTime ?? '') };
    lastKnown.set(keyHash, request.usageHeaders);
    if (admission.outcome === 'rate_limited') {
      reply.header('retry-after', String(Math.max(1, window.resetAtSeconds - Math.floor(realNowMs() / 1000))));
      throw new ApiError('rate_limited');
    }
    request.place = admission.place;
    if (time === undefined) {
      // A download that its Idempotency-Key has already is queued: that nothing is would not be true.
      if (keyed?.voided === false) return void cutConnection(request, reply);
      throw new ApiError(request.routeOptions.config.whenUnavailable ?? 'unavailable');
    }
    if (!usage) throw new ApiError('unavailable', { away: 'read_models' });
    request.caller = { keyId, accountId, usage, job, keyed };
  };
}

/** @returns undefined while the clock is wrong */
function timeIfKnown(now: () => string): string | undefined {
  try {
    return now();
  } catch (error) {
    if (!(error instanceof ClockIsWrong)) throw error;
    return undefined;
  }
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

function creditsRemaining(snapshot: UsageSnapshot | undefined, now: string): number {
  return snapshot && snapshot.usage.phase !== 'absent' ? summariseUsage(snapshot.usage, now).downloads.remaining : 0;
}
