import { type FailureReason, failureReasons } from '../domain/failure-reasons.ts';
import type { Refusal } from '../domain/refusals.ts';
import type { ApiPart } from './retry-after.ts';

/** Every error that the API answers: the contract's table (§7), then what it leaves open. */
export const apiErrors = {
  invalid_request: { status: 400, message: 'A parameter is missing or malformed' },
  unsupported_platform: { status: 400, message: 'The URL does not point to a video on a supported platform' },
  unauthorized: { status: 401, message: 'The API key is missing, invalid or revoked' },
  download_quota_exceeded: { status: 402, message: 'The download allowance of this billing period is used up' },
  metadata_quota_exceeded: { status: 402, message: 'The metadata allowance of this billing period is used up' },
  overage_cap_reached: { status: 402, message: "The account owner's cap on overage charges is reached" },
  not_found: { status: 404, message: 'There is nothing here' },
  method_not_allowed: { status: 405, message: 'This endpoint does not accept that method' },
  rate_limited: { status: 429, message: 'The hourly request limit of this key is reached' },
  internal_error: { status: 500, message: 'Something went wrong here; the request was not completed' },
  metadata_unavailable: { status: 502, message: 'The video platform did not return metadata; try again' },
  enqueue_failed: { status: 502, message: 'The download could not be queued and is not charged; try again' },
  delivery_failed: { status: 502, message: 'The file is no longer available; request a fresh download' },
  unavailable: { status: 503, message: 'The service is temporarily unavailable; try again' },
} as const;

export type ApiErrorCode = keyof typeof apiErrors;

/** Errors that give the request's place in the hourly window back: they tell the client to send the same request again. */
export const errorsThatGiveBack: ReadonlySet<ApiErrorCode> = new Set(['enqueue_failed', 'unavailable']);

/** Errors after which the same request may succeed soon, unless a platform's reason says otherwise: `Retry-After` says when. */
export const errorsThatMayPass: ReadonlySet<ApiErrorCode> = new Set([
  'metadata_unavailable',
  'enqueue_failed',
  'unavailable',
]);

/** Errors that the pipeline of `server.ts` and `authenticate.ts` may answer for any endpoint. */
export const errorsOfEveryEndpoint = [
  'invalid_request',
  'unauthorized',
  'rate_limited',
  'internal_error',
  'unavailable',
] as const satisfies readonly ApiErrorCode[];

/** Ends a request with one of the errors above. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  /** The part of the service that is away. */
  readonly away: ApiPart | undefined;
  /** Why the platform gave nothing, and whether the same request may succeed soon. */
  readonly failure: { reason: FailureReason; retryable: boolean } | undefined;

  /** @param about a more precise text for the client than the error's own; the part that is away; or why a platform gave nothing */
  constructor(code: ApiErrorCode, about?: string | { away: ApiPart } | { reason: FailureReason }) {
    super(
      typeof about === 'string' ? about : about && 'reason' in about ? textOf(about.reason) : apiErrors[code].message,
    );
    this.code = code;
    if (typeof about !== 'object') return;
    if ('away' in about) this.away = about.away;
    else this.failure = { reason: about.reason, retryable: failureReasons[about.reason].retryable };
  }

  get status(): number {
    return apiErrors[this.code].status;
  }
}

/** Where the text of a reason is about a download, which nobody has asked for. */
const textsOfMetadata: Partial<Record<FailureReason, string>> = {
  live_stream: 'The platform gives no metadata of this live stream before it has ended.',
  unsupported_media: 'The address holds no media that can be delivered.',
  timed_out: 'The metadata took longer than this service allows.',
  internal_error: 'The metadata request failed inside the service.',
};

/** @returns what a client is told of the reason why there is no metadata, and whether it helps to ask again */
function textOf(reason: FailureReason): string {
  const { message, retryable } = failureReasons[reason];
  const help = reason === 'live_stream' ? 'does not help now' : 'does not help';
  return `${textsOfMetadata[reason] ?? message} ${retryable ? 'Try again' : `Repeating the request ${help}`}`;
}

/** Texts for a key that is not in force although it is not revoked. */
export const textsOfAccount = {
  account_suspended:
    "This account is suspended: its keys are refused, and nothing is charged. Its owner can ask the service's support to lift that",
  account_closed: 'The account of this API key is closed',
  key_expired: "This API key is no longer valid: its last day, which the account's owner has set, is over",
};

/** @returns the error for a request of an account or a key that is not in force; undefined for any other refusal */
export function errorOfAccount(refusal: Refusal): ApiError | undefined {
  if (!(refusal in textsOfAccount)) return undefined;
  return new ApiError('unauthorized', textsOfAccount[refusal as keyof typeof textsOfAccount]);
}
