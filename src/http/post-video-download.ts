import { z } from 'zod';
import { queueDownload } from '../commands/queue-download.ts';
import { defaultFormat, defaultQuality, formats, qualities } from '../domain/download-options.ts';
import { summariseUsage } from '../domain/usage-summary.ts';
import type { Endpoint } from './endpoints.ts';
import { actorOf, callerOf } from './caller.ts';
import { cutConnection, sendData } from './envelope.ts';
import { ApiError } from './errors.ts';
import { readInput, readJsonBody, readVideoUrl, urlParameter } from './request-input.ts';

/** From the request's head to the answer (or the cut connection). */
export const downloadBudgetMs = 10_000;

const body = z.object(
  {
    url: urlParameter,
    format: z.enum(formats).default(defaultFormat),
    quality: z.enum(qualities).default(defaultQuality),
  },
  'a JSON object with a url is required',
);

/** Contract §4.2: queues a download and charges for it, or does neither. */
export const postVideoDownload: Endpoint['handler'] =
  ({ lanes, tokens, newUuid, now, samplePlatformOrigin }) =>
  async (request, reply) => {
    const caller = callerOf(request);
    const { url, format, quality } = readInput(body, readJsonBody(request.body, request.raw.headers['content-type']));
    const video = readVideoUrl(url, samplePlatformOrigin);
    const commandId = newUuid();
    const token = tokens.issue();
    const answer = await queueDownload(lanes, {
      accountId: caller.accountId,
      token,
      video,
      format,
      quality,
      snapshot: caller.usage,
      cause: { commandId, correlationId: request.id, causationId: commandId, actor: actorOf(caller) },
      deadlineMs: request.arrivedMs + downloadBudgetMs,
    });
    if (answer.outcome === 'unknown') {
      // Neither "queued" nor "not queued" would be true, so nothing is said.
      request.log.error({ token, account: caller.accountId }, 'an append is still unknown at the end of its budget');
      return cutConnection(request, reply);
    }
    if (answer.outcome === 'not_stored') throw new ApiError('enqueue_failed');
    if (request.usageHeaders)
      request.usageHeaders.creditsRemaining = summariseUsage(answer.usage, now()).downloads.remaining;
    if (answer.outcome === 'refused') {
      throw new ApiError(answer.refusal === 'overage_cap_reached' ? 'overage_cap_reached' : 'download_quota_exceeded');
    }
    return sendData(reply, 202, {
      request_token: token,
      status: 'queued',
      platform: video.platform,
      video_id: video.videoId,
      format,
      quality,
      overage: answer.events.some(({ type }) => type === 'OverageCharged'),
    });
  };
