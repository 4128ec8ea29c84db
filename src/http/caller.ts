import type { FastifyRequest } from 'fastify';
import type { AdmittedPlace } from '../../projections/admission/admission-statement.ts';
import type { PolledJob } from '../../projections/jobs.ts';
import type { Cause } from '../commands/handler/event-metadata.ts';
import { hashIdempotencyKey, hasIdempotencyKeyForm } from '../commands/ids/idempotency-key-hash.ts';
import type { UnansweredRequest } from '../commands/record-pending-void.ts';
import type { KeyedDownload } from '../domain/decide-usage.ts';
import type { Actor } from '../domain/parse-event.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import type { ApiErrorCode } from './errors.ts';
import type { UsageHeaders } from './usage-headers.ts';

/** An admitted request's actor and account, and what the one round trip to Postgres told of them. */
export interface Caller {
  /** The key, or the person whose session it is. */
  actor: Actor;
  /** SHA-256 of the raw key, hexadecimal; empty for a session. */
  keyHash: string;
  accountId: string;
  usage: UsageSnapshot;
  job: PolledJob | undefined;
  /** The read model's download for the request's Idempotency-Key. */
  keyed: KeyedDownload | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `authenticate`, before any handler of an endpoint runs. */
    caller: Caller | null;
    /** Its place in the hourly window, until that is given back. */
    place: AdmittedPlace | undefined;
    /** True while its answer has yet to show if it takes a place: a poll that waits for the end takes none if it tells it. */
    isPlaceOpen: boolean;
    /** Values of the four usage headers; handlers may correct them. */
    usageHeaders: UsageHeaders | null;
    /** When the request's head arrived, in milliseconds of `performance.now()`. */
    arrivedMs: number;
    /** The token of a status poll, where it passed its check. */
    pollToken: string | undefined;
    /** SHA-256 of its Idempotency-Key, where its endpoint takes one and the key is well-formed. */
    idempotencyKeyHash: string | undefined;
    /** Code of the error that it is answered with. */
    errorCode: ApiErrorCode | undefined;
    /** The key that it counts for, once key and account are known. */
    countedKey: { accountId: string; keyId: string } | undefined;
    /** Its span, for what it leads to, where it is traced. */
    traceparent: string | undefined;
  }
}

export function callerOf({ caller }: FastifyRequest): Caller {
  if (!caller) throw new Error('a handler ran without an admitted caller');
  return caller;
}

/** The cause of a command: its request, and the trace that it is part of. */
export function causeOf(
  request: FastifyRequest,
  commandId: string,
  { actor }: Pick<Caller, 'actor'> = callerOf(request),
): Cause {
  const { id: correlationId, traceparent } = request;
  return { commandId, correlationId, causationId: commandId, actor, traceparent };
}

/** The facts of a request that its pending void needs. */
export function unansweredOf(request: FastifyRequest): UnansweredRequest {
  const { id: requestId, arrivedMs } = request;
  return { accountId: callerOf(request).accountId, requestId, arrivedMs };
}

/** The header as it was sent; repeated headers are joined by commas. */
export function idempotencyKeyOf({ raw }: FastifyRequest): string | undefined {
  const value = raw.headers['idempotency-key'];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Only a well-formed key is looked up; its endpoint refuses a malformed one later. */
export function idempotencyKeyHashOf(request: FastifyRequest): string | undefined {
  if (!request.routeOptions.config.takesIdempotencyKey) return undefined;
  const key = idempotencyKeyOf(request);
  return key !== undefined && hasIdempotencyKeyForm(key) ? hashIdempotencyKey(key) : undefined;
}
