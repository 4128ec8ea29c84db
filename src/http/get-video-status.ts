import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { contractTimestamp } from '../domain/instant.ts';
import { readAgain } from './authenticate.ts';
import { type Caller, callerOf, causeOf } from './caller.ts';
import { isUndelivered, statusOfRow, type VideoStatus, videoStatus } from './download-status.ts';
import type { Endpoint, EndpointDependencies } from './endpoint.ts';
import { sendData } from './envelope.ts';
import { ApiError } from './errors.ts';
import { countPolls, type Polled, waitIfPreferred } from './poll-places.ts';
import { longestWaitSeconds } from './prefer.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';
import { readInput } from './request-input.ts';
import { hasEnded } from './waiting-polls.ts';

const query = z.object({
  token: z
    .string('is required, and must be a string')
    .min(1, 'is required')
    .describe('The `request_token` that `POST /video/download` answered.'),
});

const headers = z.object({
  Prefer: z
    .string()
    .optional()
    .describe(
      `\`wait=N\` (RFC 7240): answer when the status changes, or after N seconds, at most ${String(longestWaitSeconds)}; a download that has ended is answered at once. \`wait=N, until=ended\`: answer only when it is \`done\` or \`failed\`, or after N seconds. \`Preference-Applied\` confirms both; if too many polls are waiting already, in all or of this account, the answer comes at once and without that header. The poll counts as one request of the hour. With \`until=ended\` it does not if it is the first to tell the end, or has waited ${String(longestWaitSeconds)} seconds in vain; nor does a full hour refuse it then.`,
    ),
});

export const videoStatusReference: EndpointReference = {
  operationId: 'getDownloadStatus',
  tag: 'Videos',
  summary: 'Status of a download, and the link to its file',
  description:
    'Costs nothing. A download goes from `queued` through `claimed` and `running` to `done` or `failed`, and returns to `queued` when an attempt is repeated. ' +
    'Each poll of a finished download returns a new link. A poll of a failed download succeeds: its data holds the reason, and `charge` whether it was given back: it stays where the video or its platform is at fault, and is given back where the service is.',
  query,
  headers,
  success: {
    status: 200,
    description: 'The current status of the download.',
    headers: ['Preference-Applied'],
    data: videoStatus,
  },
  errors: ['not_found', 'delivery_failed'],
};

const missBudgetMs = 5_000;

/** Contract §4.3. If the read model does not have the job yet, the log decides, so an answer never lags a 202. */
export const getVideoStatus: Endpoint['handler'] = (dependencies) => {
  const counted = countPolls(dependencies);
  return async (request, reply) => {
    const status = await counted(request, reply, {
      poll: () => poll(request, reply, dependencies),
      answer: (data) => data,
    });
    return status === 'gone' ? reply.hijack() : sendData(reply, 200, status);
  };
};

async function poll(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: EndpointDependencies,
): Promise<Polled<VideoStatus> | 'gone'> {
  const caller = callerOf(request);
  const { token } = readInput(query, request.query);
  // A token that fails its check, a foreign one and one without a job are the same to the caller.
  if (request.pollToken !== token) throw new ApiError('not_found');
  if (caller.job && caller.job.account_id !== caller.accountId) throw new ApiError('not_found');
  const queued = caller.job ? undefined : await statusFromLog(token, { caller, request, dependencies });
  const { status } = caller.job ?? { status: 'queued' };
  const waited = await waitIfPreferred(request, reply, {
    // A job that has ended never has anything new.
    isAnswered: hasEnded({ status }),
    wait: (options) => dependencies.waitingPolls.wait([{ token, status }], options),
  });
  if (waited === 'gone') return 'gone';
  const job = waited === 'not' ? caller.job : await readAgain(request, dependencies);
  const data = job ? await statusOfRow(job, dependencies) : queued;
  // A row is gone only while its table is made anew.
  if (!data) throw new ApiError('unavailable', { away: 'read_models' });
  if (isUndelivered(data)) throw new ApiError(data.error, data.message);
  return { data, toldEnd: hasEnded(data) ? token : undefined, waited };
}

async function statusFromLog(
  token: string,
  { caller, request, dependencies }: { caller: Caller; request: FastifyRequest; dependencies: EndpointDependencies },
): Promise<VideoStatus> {
  const commandId = dependencies.newUuid();
  const queued = await dependencies.writers.findQueued(caller.accountId, token, {
    snapshot: caller.usage,
    cause: causeOf(request, commandId),
    deadlineMs: performance.now() + missBudgetMs,
  });
  if (queued === 'unavailable') throw new ApiError('unavailable', { away: 'event_store' });
  dependencies.partsAway.works('event_store');
  if (!queued) throw new ApiError('not_found');
  return {
    status: 'queued',
    request_token: token,
    video_id: queued.video_id,
    queued_at: contractTimestamp(queued.queuedAt),
  };
}
