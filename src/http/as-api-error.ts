import type { FastifyError, FastifyRequest } from 'fastify';
import { ClockIsWrong } from '../ports/clock.ts';
import { RequestRefused } from '../requests/request-refused.ts';
import { ApiError } from './errors.ts';
import { bodyLimitBytes } from './listener.ts';

/** Fastify's own refusals are all of malformed input; the contract has one code for these. */
export function asApiError(error: FastifyError | Error, request: FastifyRequest): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (error instanceof RequestRefused) return new ApiError('invalid_request', error.message);
  if (error instanceof ClockIsWrong) {
    const { whenUnavailable = 'unavailable' } = request.routeOptions.config;
    // An Idempotency-Key may have a queued download already: "not queued" might not be true.
    return new ApiError(request.idempotencyKeyHash === undefined ? whenUnavailable : 'unavailable');
  }
  const { code, statusCode } = error as Partial<FastifyError>;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new ApiError('invalid_request', `body: is larger than ${String(bodyLimitBytes)} bytes`);
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return new ApiError('invalid_request');
  return undefined;
}
