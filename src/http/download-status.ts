import { z } from 'zod';
import type { ChargeLeft } from '../../projections/charge-left.ts';
import type { PolledJob } from '../../projections/jobs.ts';
import type { FileLinkDependencies } from '../commands/link-to-file.ts';
import { failureReasonNames, failureReasons } from '../domain/failure-reasons.ts';
import { contractTimestamp } from '../domain/instant.ts';
import type { EndpointDependencies } from './endpoint.ts';
import { dataEnvelope, errorEnvelope, timestamp } from './envelope.ts';
import { ApiError, apiErrors } from './errors.ts';
import { fileLink, fileLinkOf } from './files/link-fields.ts';
import { videoId } from './request-input.ts';

/** The status of a download, for every answer that has one: its schemas, and the status by the download's row. */

export const times = {
  queued_at: timestamp.describe('When it was queued, in UTC.'),
  started_at: timestamp.describe('When its latest attempt began, in UTC; absent before the first.').optional(),
  finished_at: timestamp.describe('When it ended, in UTC; absent before that.').optional(),
};
const charge = z
  .strictObject({
    credits: z
      .int()
      .min(0)
      .max(1)
      .describe('Credits of the allowance that it holds: 1; or 0 for overage, and for a credit that was given back.'),
    cents: z.int().min(0).describe('Its price beyond the allowance, in US cents, whatever was given back since.'),
    given_back_cents: z
      .int()
      .min(0)
      .describe(
        'How much of that was given back since, in US cents: by voids, waivers and credit notes that name the download. A credit note about a whole line of an invoice names none, and is not divided among them.',
      ),
  })
  .meta({ id: 'DownloadCharge' })
  .describe(
    'What it was charged, and what was given back of it. For display: it may be a moment behind. Absent in the first moment after the `202`.',
  );
export const chargeField = charge.optional();
const common = {
  request_token: z.string().describe('The token of the request.'),
  video_id: videoId,
  ...times,
  charge: chargeField,
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

const done = inStatus('done', 'DownloadDone', fileLink.shape);
const failed = inStatus('failed', 'DownloadFailed', {
  error: z.enum(failureReasonNames).meta({ 'x-enumDescriptions': reasonTexts }),
  message: z.string().describe('The reason, as text for people.'),
});
export const videoStatus = z
  .discriminatedUnion('status', [
    inStatus('queued', 'DownloadInQueue', {}),
    inStatus('claimed', 'DownloadClaimed', {}),
    inStatus('running', 'DownloadRunning', { progress: progress.optional() }),
    done,
    failed,
  ])
  .meta({ id: 'DownloadStatus' });
export type VideoStatus = z.infer<typeof videoStatus>;

const undelivered = z
  .strictObject({
    status: z.literal('done'),
    ...common,
    error: z.literal('delivery_failed'),
    message: z.string().describe('Why there is no link, as text for people.'),
  })
  .meta({ id: 'DownloadWithoutFile', title: 'done, and the file is no longer available' });
/** A download that is done, and whose file is no longer given out. */
type Undelivered = z.infer<typeof undelivered>;

/** A download that has ended, as it stands in a list. */
export const endedDownload = z.union([done, undelivered, failed]).meta({ id: 'EndedDownload' });

type StatusDependencies = FileLinkDependencies & Pick<EndpointDependencies, 'progress'>;

/** What a client that polls now would be answered, for somebody who is no client: it is admitted by no key and counts for none. */
export async function pollAnswerOf(
  job: PolledJob,
  dependencies: StatusDependencies,
): Promise<{ status: number; body: object }> {
  try {
    const status = await statusOfRow(job, dependencies);
    if (!isUndelivered(status)) return { status: 200, body: dataEnvelope(status) };
    const { error: code, message } = status;
    return { status: apiErrors[code].status, body: errorEnvelope({ code, message }) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { status: error.status, body: errorEnvelope(error) };
  }
}

export const isUndelivered = (status: VideoStatus | Undelivered): status is Undelivered =>
  status.status === 'done' && 'error' in status;

/** @throws {ApiError} unavailable while the file of a download that is done cannot be asked for */
export async function statusOfRow(
  job: PolledJob,
  dependencies: StatusDependencies,
): Promise<VideoStatus | Undelivered> {
  const { status } = job;
  const common = { request_token: job.token, video_id: job.video_id, ...timesOf(job), ...chargeOf(job) };
  switch (status) {
    case 'done': {
      const link = await fileLinkOf(job, dependencies);
      if ('whyNone' in link) return { status, ...common, error: 'delivery_failed', message: link.whyNone };
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

type JobTimes = Pick<PolledJob, 'queued_at' | 'started_at' | 'finished_at'>;

export function timesOf({ queued_at, started_at, finished_at }: JobTimes): Pick<VideoStatus, keyof typeof times> {
  return {
    queued_at: contractTimestamp(queued_at),
    ...(started_at !== null && { started_at: contractTimestamp(started_at) }),
    ...(finished_at !== null && { finished_at: contractTimestamp(finished_at) }),
  };
}

/** A row of an earlier version may not know its charge. */
export function chargeOf({
  credits,
  cents,
  given_back_cents,
}: Pick<PolledJob, 'cents'> & Partial<ChargeLeft>): Pick<VideoStatus, 'charge'> {
  if (cents === null || credits === undefined || given_back_cents === undefined) return {};
  return { charge: { credits, cents, given_back_cents } };
}
