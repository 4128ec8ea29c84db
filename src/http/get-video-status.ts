import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { JobRow } from '../../projections/jobs.ts';
import { failureReasons } from '../domain/failure-reasons.ts';
import type { Caller } from './caller.ts';
import { actorOf, callerOf } from './caller.ts';
import type { Endpoint, EndpointDependencies } from './endpoints.ts';
import { contractTimestamp, sendData } from './envelope.ts';
import { ApiError } from './errors.ts';
import { readInput } from './request-input.ts';

const query = z.object({ token: z.string('is required, and must be a string').min(1, 'is required') });

/** A link's life (contract §3): from the poll that it was issued for. */
const linkSeconds = 3_600;
const missBudgetMs = 5_000;

/** Contract §4.3. What the read model does not know yet is settled in the log, so that an answer never lags a 202. */
export const getVideoStatus: Endpoint['handler'] = (dependencies) => async (request, reply) => {
  const caller = callerOf(request);
  const { token } = readInput(query, request.query);
  // A token that fails its check, a foreign one and one without a job are the same to the caller.
  if (request.pollToken !== token) throw new ApiError('not_found');
  if (caller.job && caller.job.account_id !== caller.accountId) throw new ApiError('not_found');
  const data = caller.job
    ? await statusOfRow(caller.job, dependencies)
    : await statusFromLog(token, { caller, request, dependencies });
  return sendData(reply, 200, data);
};

async function statusOfRow(job: JobRow, { files, progress, realNowMs }: EndpointDependencies): Promise<object> {
  const common = { status: job.status, request_token: job.token, video_id: job.video_id, ...timesOf(job) };
  switch (job.status) {
    case 'done': {
      const link = await linkOf(job, { files, realNowMs });
      return { ...common, ...link };
    }
    case 'failed': {
      const reason = job.failure_reason ?? 'internal_error';
      return { ...common, error: reason, message: failureReasons[reason].message };
    }
    case 'running': {
      const now = progress(job.token);
      return now
        ? { ...common, progress: { percent: now.percent, speed: now.bytesPerSecond, eta: now.etaSeconds } }
        : common;
    }
    case 'queued':
    case 'claimed':
      return common;
  }
}

/** A link is given only for a file that is there. */
async function linkOf(
  job: JobRow,
  { files, realNowMs }: Pick<EndpointDependencies, 'files' | 'realNowMs'>,
): Promise<object> {
  const {
    token,
    file_claim_revision: claimRevision,
    file_name: name,
    file_mime: mime,
    file_size_bytes: sizeBytes,
  } = job;
  if (claimRevision === null || name === null) throw new Error(`job ${token} is done without a file`);
  const file = { token, claimRevision, name };
  if ((await files.sizeBytes(file)) === undefined) throw new ApiError('delivery_failed');
  const extension = name.slice(name.lastIndexOf('.'));
  const downloadName = `${job.platform}-${job.video_id.replaceAll(/[^\w-]/g, '_').slice(0, 80)}${extension}`;
  const expiresAtSeconds = Math.floor(realNowMs() / 1000) + linkSeconds;
  return {
    download_url: files.link(file, { expiresAtSeconds, downloadName }),
    expires_in: linkSeconds,
    file_size_bytes: sizeBytes,
    file_mime: mime,
  };
}

function timesOf(job: JobRow): object {
  const times = { queued_at: job.queued_at, started_at: job.started_at, finished_at: job.finished_at };
  return Object.fromEntries(
    Object.entries(times).flatMap(([name, time]) => (time === null ? [] : [[name, contractTimestamp(time)]])),
  );
}

async function statusFromLog(
  token: string,
  { caller, request, dependencies }: { caller: Caller; request: FastifyRequest; dependencies: EndpointDependencies },
): Promise<object> {
  const commandId = dependencies.newUuid();
  const queued = await dependencies.lanes.findQueued(caller.accountId, token, {
    snapshot: caller.usage,
    cause: { commandId, correlationId: request.id, causationId: commandId, actor: actorOf(caller) },
    deadlineMs: performance.now() + missBudgetMs,
  });
  if (queued === 'unavailable') throw new ApiError('unavailable');
  if (!queued) throw new ApiError('not_found');
  return {
    status: 'queued',
    request_token: token,
    video_id: queued.video_id,
    queued_at: contractTimestamp(queued.queuedAt),
  };
}
