import type { FastifyRequest } from 'fastify';
import { refuseRequest } from '../domain/decide-usage.ts';
import type { AskingKey } from '../domain/key-limits.ts';
import type { Usage, UsagePeriod } from '../domain/usage-state.ts';
import { callerOf, causeOf } from './caller.ts';
import type { EndpointDependencies } from './endpoint.ts';
import { ApiError, errorOfAccount } from './errors.ts';

const readBudgetMs = 5_000;

/**
 * The caller's newest billing period, from the read model's row and the stream's tail: never behind a change that a client
 * has been told of.
 *
 * @throws {ApiError} while the log cannot be read; unauthorized where the caller's key is not in force by now
 */
export async function currentUsage(
  request: FastifyRequest,
  { writers, newUuid, now, partsAway }: Pick<EndpointDependencies, 'writers' | 'newUuid' | 'now' | 'partsAway'>,
): Promise<UsagePeriod> {
  const { accountId, actor, usage: snapshot } = callerOf(request);
  const answer = await writers.ask(accountId, {
    command: { kind: 'query' },
    snapshot,
    cause: causeOf(request, newUuid()),
    deadlineMs: performance.now() + readBudgetMs,
  });
  if (answer.outcome !== 'accepted') throw new ApiError('unavailable', { away: 'event_store' });
  partsAway.works('event_store');
  const error = actor.type === 'api_key' && errorOfRequest(answer.usage, { id: actor.id, at: now() });
  if (error) throw error;
  return answer.usage;
}

/** The error for whatever a key that is not in force asks for. What is charged, the append decides by the same rule. */
export function errorOfRequest(usage: Usage, key: AskingKey): ApiError | undefined {
  const refused = usage.phase === 'absent' ? undefined : refuseRequest(usage, key);
  return refused && errorOfAccount(refused.refusal);
}
