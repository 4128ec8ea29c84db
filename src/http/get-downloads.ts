import { z } from 'zod';
import { listChargesLeft } from '../../projections/charge-left.ts';
import type { JobRow } from '../../projections/jobs.ts';
import { type DownloadCursor, listAccountDownloads } from '../../projections/queries/account-downloads.ts';
import { jobStatuses } from '../domain/download-job.ts';
import { formats, qualities } from '../domain/download-options.ts';
import { failureReasonNames } from '../domain/failure-reasons.ts';
import { callerOf } from './caller.ts';
import { chargeField, chargeOf, times, timesOf } from './download-status.ts';
import type { Endpoint } from './endpoint.ts';
import { sendData } from './envelope.ts';
import { afterField, day, nextField } from './paging.ts';
import { readFor } from './read-for.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';
import { canonicalUrl, platform, readInput, videoId } from './request-input.ts';

const perPage = 100;

const query = z.object({
  after: afterField,
  status: z.enum(jobStatuses).optional().describe('Only downloads in this state.'),
  key_id: z.string('must be a string').max(60, 'is too long').optional().describe('Only downloads of this API key.'),
  from: day.optional().describe('Only those queued on this day (UTC) or later.'),
  to: day.optional().describe('Only those queued before this day (UTC).'),
});

const download = z
  .strictObject({
    request_token: z.string().describe('Identifies the download in status requests, which have the link to its file.'),
    status: z.enum(jobStatuses),
    platform,
    video_id: videoId,
    url: canonicalUrl,
    format: z.enum(formats),
    quality: z.enum(qualities),
    key_id: z.string().nullable().describe('The API key that queued it; null if a person did, in the console.'),
    ...times,
    file_size_bytes: z.int().min(1).optional().describe('Size of the file; absent unless it is `done`.'),
    file_mime: z.string().optional().describe('Media type of the file; absent unless it is `done`.'),
    error: z.enum(failureReasonNames).optional().describe('Why it has failed; absent unless it has.'),
    charge: chargeField,
  })
  .meta({ id: 'Download' });

const downloads = z
  .strictObject({ downloads: z.array(download).max(perPage).describe('The newest first.'), next: nextField })
  .meta({ id: 'Downloads' });

export const downloadsReference: EndpointReference = {
  operationId: 'listDownloads',
  tag: 'Account',
  summary: "The account's downloads",
  description:
    'Costs nothing. The newest first, by any key of the account. A download appears a moment after its `202`. ' +
    'With a filter that matches rarely, a page may have few downloads or none while `next` goes on.',
  query,
  success: { status: 200, description: 'A page of downloads.', data: downloads },
  errors: [],
};

export const getDownloads: Endpoint['handler'] = (dependencies) => async (request, reply) => {
  const { accountId } = callerOf(request);
  const { after, status, key_id: keyId, from, to } = readInput(query, request.query);
  const list = { list: 'downloads', accountId } as const;
  const wanted = {
    accountId,
    after: after === undefined ? undefined : placeOf(dependencies.cursors.read(list, after)),
    filter: {
      ...(status && { status }),
      ...(keyId !== undefined && { keyId }),
      ...(from !== undefined && { from: `${from}T00:00:00.000Z` }),
      ...(to !== undefined && { to: `${to}T00:00:00.000Z` }),
    },
    limit: perPage,
  };
  const { page, left } = await readFor(dependencies, async (pool) => {
    const page = await listAccountDownloads(pool, wanted);
    const tokens = page.downloads.map(({ token }) => token);
    return { page, left: await listChargesLeft(pool, tokens) };
  });
  return sendData(reply, 200, {
    downloads: page.downloads.map((job) => ({ ...factsOf(job), ...chargeOf({ ...job, ...left.get(job.token) }) })),
    next: page.next ? dependencies.cursors.write(list, textOf(page.next)) : null,
  } satisfies z.infer<typeof downloads>);
};

const textOf = ({ queuedAt, token }: DownloadCursor): string => `${queuedAt}~${token}`;

function placeOf(text: string): DownloadCursor {
  const [queuedAt = '', token = ''] = text.split('~');
  return { queuedAt, token };
}

function factsOf(job: JobRow): Omit<z.infer<typeof download>, 'charge'> {
  const { file_size_bytes: sizeBytes, file_mime: mime, failure_reason: reason } = job;
  return {
    request_token: job.token,
    status: job.status,
    platform: job.platform,
    video_id: job.video_id,
    url: job.url,
    format: job.format,
    quality: job.quality,
    key_id: job.key_id,
    ...timesOf(job),
    ...(sizeBytes !== null && { file_size_bytes: sizeBytes }),
    ...(mime !== null && { file_mime: mime }),
    ...(reason !== null && { error: reason }),
  };
}
