import { z } from 'zod';
import type { Fault } from '../../domain/download-job-events.ts';
import type { FailureReason } from '../../domain/failure-reasons.ts';
import { cleanDetail, failureRow } from './failure-phrases.ts';
import { reasonOfPlatformWords } from './platform-phrases.ts';

/** An error of an extractor, as our plugin `refusals.py` tells it. */
const refusalSchema = z.object({
  kind: z.enum(['geo', 'not_live', 'unsupported', 'drm', 'login', 'other']),
  /** The extractor recognised a refusal of the platform; otherwise it met what it does not know. */
  expected: z.boolean(),
  words: z.string(),
  /** The words are yt-dlp's own, about a request that failed. */
  of_request: z.boolean(),
  /** The HTTP status of a request that led to this. */
  status: z.int().nullable(),
  failed_request: z.boolean(),
  availability: z.string().nullish(),
  live_status: z.string().nullish(),
  age_limit: z.number().nullish(),
});

export type Refusal = z.infer<typeof refusalSchema>;

/** @returns undefined if the line is none of `refusals.py` */
export function parseRefusal(json: string): Refusal | undefined {
  try {
    return refusalSchema.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

const kindReasons: Partial<Record<Refusal['kind'], FailureReason>> = {
  drm: 'drm_protected',
  geo: 'geo_blocked',
  not_live: 'live_stream',
  unsupported: 'unsupported_media',
};

const statusReasons: Readonly<Record<number, FailureReason>> = {
  401: 'login_required',
  404: 'video_unavailable',
  408: 'timed_out',
  410: 'video_unavailable',
  // Bilibili's answer to too many requests.
  412: 'rate_limited_by_platform',
  429: 'rate_limited_by_platform',
  451: 'geo_blocked',
  504: 'timed_out',
};

/** A platform that asks for a login may say more precisely why. */
const finerThanLogin: readonly (FailureReason | undefined)[] = [
  ...(['age_restricted', 'private_video', 'geo_blocked', 'rate_limited_by_platform', 'drm_protected'] as const),
];

const statusReason = (status: number | null): FailureReason | undefined =>
  status === null ? undefined : (statusReasons[status] ?? (status >= 400 ? 'platform_error' : undefined));

/** Every extractor error ends in words. No words of a platform stand for a fault of the service. */
function wordsReason(words: string): FailureReason | undefined {
  const reason = reasonOfPlatformWords(words) ?? failureRow(`ERROR: [x] x: ${words}`)?.reason;
  return reason === 'internal_error' ? undefined : reason;
}

/** What the extractor said of an item that has no formats. */
function factsReason({
  availability,
  live_status: liveStatus,
  age_limit: ageLimit,
}: Refusal): FailureReason | undefined {
  if (liveStatus === 'is_upcoming' || liveStatus === 'is_live' || liveStatus === 'post_live') return 'live_stream';
  if (availability === 'private') return 'private_video';
  if (availability === 'needs_auth') return (ageLimit ?? 0) >= 18 ? 'age_restricted' : 'login_required';
  return availability === 'premium_only' || availability === 'subscriber_only' ? 'login_required' : undefined;
}

function reasonOf(refusal: Refusal): FailureReason | undefined {
  const { kind, words, status } = refusal;
  const known = kindReasons[kind] ?? factsReason(refusal);
  if (known !== undefined) return known;
  const said = wordsReason(words);
  if (kind === 'login') return finerThanLogin.includes(said) ? said : 'login_required';
  // Where yt-dlp itself tells of a request, its status says more than its words.
  if (refusal.of_request) return statusReason(status) ?? said ?? 'platform_error';
  return said ?? statusReason(status) ?? (refusal.failed_request ? 'platform_error' : undefined);
}

/**
 * The failure that an extractor's error stands for: by its structure, and by its words where that says nothing.
 *
 * A refusal that the extractor expected is about the item: without any known kind or word it is `video_unavailable`, and its words
 * are kept for people. An error that the extractor did not expect means that it is too old for the platform.
 */
export function refusalFailure(refusal: Refusal): { reason: FailureReason; fault: Fault; detail: string } {
  const { expected, words } = refusal;
  const detail = cleanDetail(words);
  const reason = reasonOf(refusal);
  if (expected) return { reason: reason ?? 'video_unavailable', fault: 'video', detail };
  const isOurs = !refusal.failed_request && (reason === undefined || reason === 'platform_error');
  return { reason: reason ?? 'platform_error', fault: isOurs ? 'service' : 'video', detail };
}
