import type { FastifyRequest } from 'fastify';
import type { UsagePeriod } from '../domain/usage-state.ts';
import { callerOf, causeOf } from './caller.ts';
import type { EndpointDependencies } from './endpoint.ts';
import { ApiError } from './errors.ts';

const readBudgetMs = 5_000;

/**
 * The caller's newest billing period, from the read model's row and the stream's tail: never behind a change that a client
 * has been told of.
 *
 * @throws {ApiError} while the log cannot be read
 */
export async function currentUsage(
  request: FastifyRequest,
  { writers, newUuid, partsAway }: Pick<EndpointDependencies, 'writers' | 'newUuid' | 'partsAway'>,
): Promise<UsagePeriod> {
  const { accountId, usage: snapshot } = callerOf(request);
  const answer = await writers.ask(accountId, {
    command: { kind: 'query' },
    snapshot,
    cause: causeOf(request, newUuid()),
    deadlineMs: performance.now() + readBudgetMs,
  });
  if (answer.outcome !== 'accepted') throw new ApiError('unavailable', { away: 'event_store' });
  partsAway.works('event_store');
  return answer.usage;
}
