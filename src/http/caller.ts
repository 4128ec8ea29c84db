import type { FastifyRequest } from 'fastify';
import type { AdmittedPlace } from '../../projections/admission/admission-statement.ts';
import type { PolledJob } from '../../projections/jobs.ts';
import { hashIdempotencyKey, hasIdempotencyKeyForm } from '../commands/idempotency.ts';
import type { KeyedDownload } from '../domain/decide-usage.ts';
import type { Cause } from '../commands/event-metadata.ts';
import type { Actor } from '../domain/recorded-event.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import type { ApiErrorCode } from './errors.ts';
import type { UsageHeaders } from './usage-headers.ts';

/** An admitted request's key and account, and what the one round trip to Postgres told of them. */
export interface Caller {
  keyId: string;
  /** SHA-256 of the raw key, hexadecimal. */
  keyHash: string;
  accountId: string;
  usage: UsageSnapshot;
  job: PolledJob | undefined;
  /** What the read model has for the request's Idempotency-Key. */
  keyed: KeyedDownload | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `authenticate`, before any handler of an endpoint runs. */
    caller: Caller | null;
    /** Its place in the hourly window, until that is given back. */
    place: AdmittedPlace | undefined;
    /** What the four headers will say; handlers may correct it. */
    usageHeaders: UsageHeaders | null;
    /** When the request's head arrived, in milliseconds of `performance.now()`. */
    arrivedMs: number;
    /** The token of a status poll, where it passed its check. */
    pollToken: string | undefined;
    /** SHA-256 of its Idempotency-Key, where its endpoint takes one and the key is well-formed. */
    idempotencyKeyHash: string | undefined;
    /** Code of the error that it is answered with. */
    errorCode: ApiErrorCode | undefined;
    /** Its span, for what it leads to, where it is traced. */
    traceparent: string | undefined;
  }
}

export function callerOf({ caller }: FastifyRequest): Caller {
  if (!caller) throw new Error('a handler ran without an admitted caller');
  return caller;
}

/** Why a command comes of a request, and which trace it is part of. */
export function causeOf(
  request: FastifyRequest,
  commandId: string,
  caller: Pick<Caller, 'keyId'> = callerOf(request),
): Cause {
  const { id: correlationId, traceparent } = request;
  return { commandId, correlationId, causationId: commandId, actor: actorOf(caller), traceparent };
}

/** As it was sent; several of the header are one, with commas and spaces between. */
export function idempotencyKeyOf({ raw }: FastifyRequest): string | undefined {
  const value = raw.headers['idempotency-key'];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Only a key that is well-formed is worth a look-up; what is wrong with another is said once its endpoint reads it. */
export function idempotencyKeyHashOf(request: FastifyRequest): string | undefined {
  if (!request.routeOptions.config.takesIdempotencyKey) return undefined;
  const key = idempotencyKeyOf(request);
  return key !== undefined && hasIdempotencyKeyForm(key) ? hashIdempotencyKey(key) : undefined;
}

export const actorOf = ({ keyId }: Pick<Caller, 'keyId'>): Actor => ({ type: 'api_key', id: keyId });
