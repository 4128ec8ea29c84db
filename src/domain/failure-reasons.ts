/**
 * The closed set of reasons for a failed download, which clients see in `error`, with the text that they see in `message`.
 * A job that fails for a `retryable` reason is retried while it has attempts left.
 */
export const failureReasons = {
  video_unavailable: { retryable: false, message: 'The video does not exist or has been removed.' },
  private_video: { retryable: false, message: 'The video is private.' },
  login_required: { retryable: false, message: 'The platform shows this video only to signed-in users.' },
  age_restricted: { retryable: false, message: 'The platform restricts this video by age.' },
  geo_blocked: { retryable: false, message: 'The platform does not offer this video from where it was requested.' },
  live_stream: { retryable: false, message: 'Live streams cannot be downloaded before they have ended.' },
  too_large: { retryable: false, message: 'The file is larger than this service downloads.' },
  too_long: { retryable: false, message: 'The video is longer than this service downloads.' },
  drm_protected: { retryable: false, message: 'The video is protected against copying.' },
  unsupported_media: { retryable: false, message: 'The address holds no media that can be delivered in this format.' },
  platform_error: { retryable: true, message: 'The video platform could not be reached or answered with an error.' },
  rate_limited_by_platform: { retryable: true, message: 'The video platform is limiting requests for now.' },
  timed_out: { retryable: true, message: 'The download took longer than this service allows.' },
  voided: { retryable: false, message: 'The request was withdrawn and is not charged.' },
  internal_error: { retryable: true, message: 'The download failed inside the service.' },
} as const satisfies Record<string, { retryable: boolean; message: string }>;

export type FailureReason = keyof typeof failureReasons;

/** Metadata may name these before a download is queued. Every other reason can change, or shows only with the bytes. */
const reasonsKnownBeforehand = [
  'live_stream',
  'too_long',
  'too_large',
  'drm_protected',
] as const satisfies FailureReason[];

export type ReasonKnownBeforehand = (typeof reasonsKnownBeforehand)[number];

export const isKnownBeforehand = (reason: FailureReason): reason is ReasonKnownBeforehand =>
  reasonsKnownBeforehand.some((known) => known === reason);

export const failureReasonNames = Object.keys(failureReasons) as [FailureReason, ...FailureReason[]];
