import type { FastifyRequest } from 'fastify';
import { usageFromLog } from '../commands/usage/usage-from-log.ts';
import type { UsagePeriod } from '../domain/usage-state.ts';
import { couldNotBeRead } from '../ports/event-store.ts';
import { type Caller, causeOf } from './caller.ts';
import type { EndpointDependencies } from './endpoint.ts';
import { ApiError } from './errors.ts';

const readBudgetMs = 5_000;

/**
 * Admits a request whose account has a row without a valid MAC: usage is read from the log, and the row decides and shows
 * nothing.
 *
 * @returns the newest billing period
 * @throws {ApiError} while the log cannot be read
 */
export async function admitFromLog(
  request: FastifyRequest,
  caller: Omit<Caller, 'usage'>,
  { writers, store, newUuid }: Pick<EndpointDependencies, 'writers' | 'store' | 'newUuid'>,
): Promise<UsagePeriod> {
  const cause = causeOf(request, newUuid(), caller);
  const read = await usageFromLog({ writers, store }, caller.accountId, {
    cause,
    deadlineMs: performance.now() + readBudgetMs,
  }).catch((error: unknown) => {
    if (couldNotBeRead(error)) return undefined;
    throw error;
  });
  if (!read) throw new ApiError(request.routeOptions.config.whenUnavailable ?? 'unavailable');
  request.caller = { ...caller, usage: read.origin };
  return read.usage;
}
