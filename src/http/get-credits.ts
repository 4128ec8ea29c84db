import { summariseUsage } from '../domain/usage-summary.ts';
import { actorOf, callerOf } from './caller.ts';
import type { Endpoint } from './endpoints.ts';
import { contractTimestamp, sendData } from './envelope.ts';
import { ApiError } from './errors.ts';

const readBudgetMs = 5_000;

/** Contract §4.4: the row and the stream's tail, so never behind a charge that any client has been told of. */
export const getCredits: Endpoint['handler'] =
  ({ lanes, newUuid, now }) =>
  async (request, reply) => {
    const caller = callerOf(request);
    const commandId = newUuid();
    const answer = await lanes.ask(caller.accountId, {
      command: { kind: 'observe' },
      snapshot: caller.usage,
      cause: { commandId, correlationId: request.id, causationId: commandId, actor: actorOf(caller) },
      deadlineMs: performance.now() + readBudgetMs,
    });
    if (answer.outcome !== 'accepted') throw new ApiError('unavailable');
    const { plan, downloads, metadata, overage, period } = summariseUsage(answer.usage, now());
    if (request.usageHeaders) request.usageHeaders.creditsRemaining = downloads.remaining;
    return sendData(reply, 200, {
      plan,
      downloads,
      metadata,
      overage,
      period_start: contractTimestamp(period.start),
      period_end: contractTimestamp(period.end),
    });
  };
