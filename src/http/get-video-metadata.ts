import { z } from 'zod';
import { lookUpMetadata } from '../commands/look-up-metadata.ts';
import { outcomesOf, recordPendingVoid } from '../commands/record-pending-void.ts';
import { failureReasonNames } from '../domain/failure-reasons.ts';
import { callerOf, causeOf, unansweredOf } from './caller.ts';
import type { Endpoint } from './endpoint.ts';
import { cutConnection, sendData } from './envelope.ts';
import { ApiError, errorOfAccount } from './errors.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';
import { canonicalUrl, platform, readInput, readVideoUrl, urlParameter, videoId } from './request-input.ts';

const query = z.object({ url: urlParameter });

const videoMetadata = z
  .strictObject({
    platform,
    video_id: videoId,
    title: z.string(),
    duration: z.int().min(0).describe('Length in seconds.'),
    thumbnail: z.string().describe('Address of an image.'),
    url: canonicalUrl,
    download: z
      .strictObject({
        possible: z.boolean().describe('False if the platform already says what a download would fail for.'),
        reason: z
          .enum(failureReasonNames)
          .nullable()
          .describe('What it would fail for, as in `error` of a status; null if a download is possible.'),
      })
      .describe('Whether a download can succeed, as far as the metadata and the limits of this service say.'),
  })
  .meta({ id: 'VideoMetadata' });

export const videoMetadataReference: EndpointReference = {
  operationId: 'getVideoMetadata',
  tag: 'Videos',
  summary: 'Title, duration and thumbnail of a video',
  description:
    'Takes one metadata credit if it succeeds, and nothing otherwise. It never takes a download credit. ' +
    'Where the platform gives no metadata, `reason` and `retryable` beside the code say why, and whether the same request may succeed soon.',
  query,
  success: { status: 200, description: 'The metadata that the platform gives for the video.', data: videoMetadata },
  errors: ['unsupported_platform', 'metadata_quota_exceeded', 'metadata_unavailable'],
};

/** For each of the two decisions on the log; the probe between them has its own limit. */
const decisionBudgetMs = 5_000;

/** Contract §4.1: a lookup that succeeds takes one metadata credit, any other nothing. */
export const getVideoMetadata: Endpoint['handler'] = (dependencies) => async (request, reply) => {
  const { newUuid, now, serviceParts, partsAway } = dependencies;
  const caller = callerOf(request);
  const { url } = readInput(query, request.query);
  const video = await readVideoUrl(url, { ...dependencies, whenUnanswered: 'metadata_unavailable' });
  const commandId = newUuid();
  // Before anything is stored: what is stored is answered, whatever the clock says by then.
  const askedAt = now();
  const answer = await lookUpMetadata(dependencies, {
    accountId: caller.accountId,
    lookupId: commandId,
    video,
    snapshot: caller.usage,
    cause: causeOf(request, commandId),
    decisionBudgetMs,
    now: askedAt,
  });
  switch (answer.outcome) {
    case 'unknown':
      if (!(await recordPendingVoid(unansweredOf(request), dependencies, answer.compensation)))
        return cutConnection(request, reply);
      throw new ApiError('metadata_unavailable', { away: 'event_store' });
    case 'not_stored':
      throw new ApiError('metadata_unavailable', { away: 'event_store' });
    case 'probe_failed':
      partsAway.works('event_store');
      request.log.info({ platform: video.platform, video: video.videoId, detail: answer.detail }, 'a probe failed');
      if (answer.nobodyAnswered) throw new ApiError('metadata_unavailable', { away: 'workers' });
      partsAway.works('workers');
      throw new ApiError('metadata_unavailable', { reason: answer.reason });
    case 'refused':
      partsAway.works('event_store');
      throw errorOfAccount(answer.refusal) ?? new ApiError('metadata_quota_exceeded');
    case 'found':
      outcomesOf(serviceParts).works();
      partsAway.works('event_store');
      partsAway.works('workers');
  }
  return sendData(reply, 200, {
    platform: video.platform,
    video_id: video.videoId,
    title: answer.metadata.title,
    duration: answer.metadata.durationSeconds,
    thumbnail: answer.metadata.thumbnail,
    url: video.canonicalUrl,
    download: { possible: answer.metadata.downloadRefusal === null, reason: answer.metadata.downloadRefusal },
  } satisfies z.infer<typeof videoMetadata>);
};
