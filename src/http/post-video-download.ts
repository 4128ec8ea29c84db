import { z } from 'zod';
import { hasIdempotencyKeyForm } from '../commands/ids/idempotency-key-hash.ts';
import { queueDownload } from '../commands/queue-download.ts';
import { outcomesOf, recordPendingVoid } from '../commands/record-pending-void.ts';
import { formatCents } from '../domain/cents.ts';
import {
  audioFormats,
  defaultOptions,
  type DownloadOptions,
  formats,
  type ItemKind,
  maxItem,
  misfit,
  qualities,
} from '../domain/download-options.ts';
import type { Refusal } from '../domain/refusals.ts';
import type { UsagePeriod } from '../domain/usage-state.ts';
import { summariseUsage } from '../domain/usage-summary.ts';
import { noPlatformRules } from '../ports/platform-rules.ts';
import { readJsonBody } from '../requests/json-body.ts';
import { callerOf, causeOf, idempotencyKeyOf, unansweredOf } from './caller.ts';
import type { Endpoint } from './endpoint.ts';
import { cutConnection, sendData } from './envelope.ts';
import { ApiError, errorOfAccount } from './errors.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';
import { NotLookedUp, platform, readInput, readVideoUrl, urlParameter, videoId } from './request-input.ts';
import { showCredits } from './usage-headers.ts';

/** From the request's head to the answer (or the cut connection). */
const downloadBudgetMs = 10_000;

const headers = z.object({
  'Idempotency-Key': z
    .string()
    .refine(hasIdempotencyKeyForm, 'must be 1 to 255 visible ASCII characters')
    .optional()
    .describe(
      '1 to 255 visible ASCII characters of your choice, such as a UUID. A request that repeats the key for the same download gets the same answer, and the download is charged once, however often and however late the request is repeated. A key belongs to the account.',
    )
    .meta({ minLength: 1, maxLength: 255, pattern: '^[!-~]+$' }),
});

const body = z.object(
  {
    url: urlParameter,
    format: z
      .enum(formats)
      .default(defaultOptions.format)
      .describe(
        '`video` yields an MP4 file, or a JPG for an image post; `audio` yields the sound alone, in `audio_format`. On platforms of sound alone, such as SoundCloud, `video` yields the sound too.',
      ),
    quality: z
      .enum(qualities)
      .default(defaultOptions.quality)
      .describe(
        "The picture's smaller side in pixels, or `best`. If the video does not have that size, the next smaller one is delivered, or its smallest.",
      ),
    audio_format: z
      .enum(audioFormats)
      .default(defaultOptions.audioFormat)
      .describe('File type of the sound: MP3 or M4A.'),
    item: z
      .int(`must be a whole number from 1 to ${String(maxItem)}`)
      .min(1)
      .max(maxItem)
      .default(defaultOptions.item)
      .describe('Number of the still in an image post, from 1. Everything else has only number 1.'),
  },
  'a JSON object with a url is required',
);

const queuedDownload = z
  .strictObject({
    request_token: z.string().describe('Identifies the download in status requests.'),
    status: z.literal('queued'),
    platform,
    video_id: videoId,
    format: z.enum(formats),
    quality: z.enum(qualities),
    overage: z.boolean().describe('True if the download is charged beyond the allowance.'),
  })
  .meta({ id: 'QueuedDownload' });

export const videoDownloadReference: EndpointReference = {
  operationId: 'queueDownload',
  tag: 'Videos',
  summary: 'Queue the download of a video',
  description:
    'Takes one download credit, or the overage price of the plan once the allowance is used up. ' +
    'The charge and the download are recorded together or not at all. Any answer other than `202` means that the request is not charged: ' +
    'if that is not certain in time, the answer is `502`, and a charge that turns out to be recorded is given back. ' +
    'If the service cannot guarantee even that, it closes the connection without an answer; with an `Idempotency-Key`, the request can be repeated until it is answered.',
  headers,
  body: { schema: body, required: true },
  success: { status: 202, description: 'The download is queued and charged.', data: queuedDownload },
  errors: ['unsupported_platform', 'download_quota_exceeded', 'overage_cap_reached', 'enqueue_failed'],
};

/** @throws {ApiError} invalid_request */
function mustFit(kind: ItemKind, options: DownloadOptions): void {
  const wrong = misfit(kind, options);
  if (wrong) throw new ApiError('invalid_request', `${wrong.option}: ${wrong.why}`);
}

/** Contract §4.2: queues a download and charges for it, or does neither. */
export const postVideoDownload: Endpoint['handler'] = (dependencies) => async (request, reply) => {
  const { tokens, newUuid, now, serviceParts, partsAway } = dependencies;
  const caller = callerOf(request);
  readInput(headers, { 'Idempotency-Key': idempotencyKeyOf(request) });
  const asked = readInput(body, readJsonBody(request.body, request.raw.headers['content-type']));
  const { format, quality, audio_format: audioFormat, item } = asked;
  const options: DownloadOptions = { format, quality, audioFormat, item };
  // A repetition gets the answer of its first time. The download itself fails by the rules, and costs nothing.
  const rules = caller.keyed?.voided === false ? noPlatformRules : dependencies.rules;
  const linked = { ...dependencies, rules, whenUnanswered: 'enqueue_failed' } as const;
  const named = await readVideoUrl(asked.url, linked).catch((error: unknown) => {
    // The key has a download already: "not queued" would not be true.
    if (error instanceof NotLookedUp && caller.keyed?.voided === false) return undefined;
    throw error;
  });
  if (!named) return cutConnection(request, reply);
  const { kind, ...video } = named;
  mustFit(kind, options);
  // Read before anything is stored: a clock that turns wrong later must not keep back the answer.
  const askedAt = now();
  const token = tokens.issue();
  const answer = await queueDownload(dependencies, {
    accountId: caller.accountId,
    token,
    video,
    options,
    keyHash: request.idempotencyKeyHash,
    keyed: caller.keyed,
    snapshot: caller.usage,
    cause: causeOf(request, newUuid()),
    deadlineMs: request.arrivedMs + downloadBudgetMs,
  });
  if (
    answer.outcome === 'unknown' &&
    !(await recordPendingVoid(unansweredOf(request), dependencies, answer.compensation))
  ) {
    // Neither "queued" nor "not queued" is known to be true, so there is no answer.
    return cutConnection(request, reply);
  }
  if (answer.outcome === 'unknown' || answer.outcome === 'not_stored')
    throw new ApiError('enqueue_failed', { away: 'event_store' });
  partsAway.works('event_store');
  outcomesOf(serviceParts).works();
  if (answer.outcome === 'refused') {
    if (answer.refusal === 'idempotency_key_reused') {
      throw new ApiError(
        'invalid_request',
        'Idempotency-Key: was used for another download; use a fresh key for this one',
      );
    }
    throw errorOfAccount(answer.refusal) ?? errorOfQuota(answer, caller.actor.id);
  }
  // Directly after this charge, whatever was charged together with it.
  if (answer.token === token) showCredits(request, summariseUsage(answer.usage, askedAt).downloads.remaining);
  return sendData(reply, 202, {
    request_token: answer.token,
    status: 'queued',
    platform: video.platform,
    video_id: video.videoId,
    format,
    quality,
    overage: answer.overage,
  } satisfies z.infer<typeof queuedDownload>);
};

/** @param keyId the key that has asked */
function errorOfQuota({ refusal, usage }: { refusal: Refusal; usage: UsagePeriod }, keyId: string): ApiError {
  const limit = usage.terms.key_limits?.[keyId];
  const ofKey = (amount: string) =>
    `The limit that the account's owner has set for this API key is reached: ${amount} in this billing period`;
  if (refusal === 'key_downloads_reached')
    return new ApiError('download_quota_exceeded', ofKey(`${String(limit?.downloads)} downloads`));
  if (refusal === 'key_overage_reached')
    return new ApiError('overage_cap_reached', ofKey(`${formatCents(limit?.overage_cents ?? 0)} of overage`));
  return new ApiError(refusal === 'overage_cap_reached' ? 'overage_cap_reached' : 'download_quota_exceeded');
}
