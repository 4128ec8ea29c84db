import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { PolledJob } from '../../projections/jobs.ts';
import type { FileLinkDependencies } from '../commands/link-to-file.ts';
import { failureReasonNames, failureReasons } from '../domain/failure-reasons.ts';
import { endOfAnswer } from '../requests/end-of-answer.ts';
import { readAgain, takeOpenPlace } from './authenticate.ts';
import { type Caller, callerOf, causeOf } from './caller.ts';
import type { Endpoint, EndpointDependencies } from './endpoint.ts';
import { contractTimestamp, dataEnvelope, errorEnvelope, sendData, timestamp } from './envelope.ts';
import { ApiError } from './errors.ts';
import { fileLink, fileLinkOf } from './files/link-fields.ts';
import { appliedWait, longestWaitSeconds, preferredWait } from './prefer.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';
import { readInput, videoId } from './request-input.ts';
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

const times = {
  queued_at: timestamp.describe('When it was queued, in UTC.'),
  started_at: timestamp.describe('When its latest attempt began, in UTC; absent before the first.').optional(),
  finished_at: timestamp.describe('When it ended, in UTC; absent before that.').optional(),
};
const common = {
  request_token: z.string().describe('The token of the request.'),
  video_id: videoId,
  ...times,
};
const progress = z
  .strictObject({
    percent: z
      .number()
      .min(0)
      .max(100)
      .nullable()
      .describe('Share of the file that is downloaded, if its size is known.'),
    speed: z.number().min(0).nullable().describe('Bytes a second.'),
    eta: z.number().min(0).nullable().describe('Seconds left.'),
  })
  .describe('The last report of the worker; absent before the first. For display only.');

const reasonTexts = Object.fromEntries(failureReasonNames.map((name) => [name, failureReasons[name].message]));

const inStatus = <Status extends string, More extends z.ZodRawShape>(status: Status, id: string, more: More) =>
  z.strictObject({ status: z.literal(status), ...common, ...more }).meta({ id, title: status });

const videoStatus = z
  .discriminatedUnion('status', [
    inStatus('queued', 'DownloadInQueue', {}),
    inStatus('claimed', 'DownloadClaimed', {}),
    inStatus('running', 'DownloadRunning', { progress: progress.optional() }),
    inStatus('done', 'DownloadDone', fileLink.shape),
    inStatus('failed', 'DownloadFailed', {
      error: z.enum(failureReasonNames).meta({ 'x-enumDescriptions': reasonTexts }),
      message: z.string().describe('The reason, as text for people.'),
    }),
  ])
  .meta({ id: 'DownloadStatus' });
type VideoStatus = z.infer<typeof videoStatus>;

export const videoStatusReference: EndpointReference = {
  operationId: 'getDownloadStatus',
  summary: 'Status of a download, and the link to its file',
  description:
    'Costs nothing. A download goes from `queued` through `claimed` and `running` to `done` or `failed`, and returns to `queued` when an attempt is repeated. ' +
    'Each poll of a finished download returns a new link. A poll of a failed download succeeds: its data holds the reason, and the download keeps its charge.',
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

/** Of so many downloads a process remembers that it has told their end. One that is forgotten may be told once more. */
const maxEndsTold = 100_000;

/** Contract §4.3. If the read model does not have the job yet, the log decides, so an answer never lags a 202. */
export const getVideoStatus: Endpoint['handler'] = (dependencies) => {
  const endsTold = new LRUCache<string, true>({ max: maxEndsTold });
  const isFree = ({ data, waited }: Polled): boolean => {
    if (!hasEnded(data)) return waited === 'a_minute';
    const isFirst = !endsTold.has(data.request_token);
    endsTold.set(data.request_token, true);
    return isFirst;
  };
  return async (request, reply) => {
    const polled = await poll(request, reply, dependencies).catch(async (error: unknown) => {
      await takeOpenPlace(request, reply, dependencies);
      throw error;
    });
    if (polled === 'gone') {
      // Nobody is told that it was refused.
      await takeOpenPlace(request, reply, dependencies).catch(() => undefined);
      return reply.hijack();
    }
    // Decided for every poll: one that did not wait for the end has told it too.
    if (!isFree(polled)) await takeOpenPlace(request, reply, dependencies);
    return sendData(reply, 200, polled.data);
  };
};

interface Polled {
  data: VideoStatus;
  waited: 'not' | 'some_time' | 'a_minute';
}

async function poll(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: EndpointDependencies,
): Promise<Polled | 'gone'> {
  const caller = callerOf(request);
  const { token } = readInput(query, request.query);
  // A token that fails its check, a foreign one and one without a job are the same to the caller.
  if (request.pollToken !== token) throw new ApiError('not_found');
  if (caller.job && caller.job.account_id !== caller.accountId) throw new ApiError('not_found');
  const queued = caller.job ? undefined : await statusFromLog(token, { caller, request, dependencies });
  const waited = await waitIfPreferred(request, reply, dependencies);
  if (waited === 'gone') return 'gone';
  const job = waited === 'not' ? caller.job : await readAgain(request, dependencies);
  const data = job ? await statusOfRow(job, dependencies) : queued;
  // A row is gone only while its table is made anew.
  if (!data) throw new ApiError('unavailable', { away: 'read_models' });
  return { data, waited };
}

/**
 * RFC 7240 section 4.3: with `Prefer: wait=N` an answer may come when there is something new to say, or after N seconds. A job
 * that has ended never has anything new.
 */
async function waitIfPreferred(
  request: FastifyRequest,
  reply: FastifyReply,
  { waitingPolls }: EndpointDependencies,
): Promise<Polled['waited'] | 'gone'> {
  const wait = preferredWait(request.headers['prefer']);
  if (wait === undefined) return 'not';
  const { seconds, untilEnded } = wait;
  const { job, keyHash, accountId } = callerOf(request);
  const { status } = job ?? { status: 'queued' };
  const applied = () => reply.header('Preference-Applied', appliedWait(wait));
  if (hasEnded({ status }) || seconds === 0) {
    applied();
    return 'not';
  }
  const gone = endOfAnswer(request, reply, { halfClosed: 'ends' });
  const startedMs = performance.now();
  const waiting = waitingPolls.wait([{ token: request.pollToken ?? '', status }], {
    seconds,
    untilEnded,
    gone,
    keyHash,
    holder: accountId,
  });
  if (!waiting) return 'not';
  applied();
  await waiting;
  if (request.raw.socket.destroyed) return 'gone';
  // The client asked for this wait: it is no time that the answer took.
  request.arrivedMs += performance.now() - startedMs;
  return seconds === longestWaitSeconds && !gone.aborted ? 'a_minute' : 'some_time';
}

type StatusDependencies = FileLinkDependencies & Pick<EndpointDependencies, 'progress'>;

/** What a client that polls now would be answered, for somebody who is no client: it is admitted by no key and counts for none. */
export async function pollAnswerOf(
  job: PolledJob,
  dependencies: StatusDependencies,
): Promise<{ status: number; body: object }> {
  try {
    return { status: 200, body: dataEnvelope(await statusOfRow(job, dependencies)) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { status: error.status, body: errorEnvelope(error) };
  }
}

async function statusOfRow(job: PolledJob, dependencies: StatusDependencies): Promise<VideoStatus> {
  const { status } = job;
  const common = { request_token: job.token, video_id: job.video_id, ...timesOf(job) };
  switch (status) {
    case 'done': {
      const link = await fileLinkOf(job, dependencies);
      return { status, ...common, ...link };
    }
    case 'failed': {
      const reason = job.failure_reason ?? 'internal_error';
      return { status, ...common, error: reason, message: failureReasons[reason].message };
    }
    case 'running': {
      const now = dependencies.progress(job.token);
      return {
        status,
        ...common,
        ...(now && { progress: { percent: now.percent, speed: now.bytesPerSecond, eta: now.etaSeconds } }),
      };
    }
    case 'queued':
    case 'claimed':
      return { status, ...common };
  }
}

function timesOf({ queued_at, started_at, finished_at }: PolledJob): Pick<VideoStatus, keyof typeof times> {
  return {
    queued_at: contractTimestamp(queued_at),
    ...(started_at !== null && { started_at: contractTimestamp(started_at) }),
    ...(finished_at !== null && { finished_at: contractTimestamp(finished_at) }),
  };
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
