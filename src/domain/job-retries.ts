import { type Fault, type JobEvent, type ReleaseReason, titleField } from './download-job-events.ts';
import { type FailureReason, failureReasons } from './failure-reasons.ts';

/** How often a job is tried, and when again. Which failures may pass: `failure-reasons.ts`. */
export const maxAttempts = 3;

/** Why an attempt has failed. `title` is as the platform gave it, `detail` is for people, and `tried` for the next attempt. */
export interface AttemptFailure {
  reason: FailureReason;
  fault: Fault;
  title?: string | undefined;
  detail?: string | undefined;
  tried?: readonly string[] | undefined;
  /** Another attempt cannot help, although the reason is one that is tried again. */
  isFinal?: boolean | undefined;
}

/** Nobody has said why the attempt ended: the service has lost its worker. */
export const lostLease = { reason: 'internal_error', fault: 'service', releasedFor: 'lease_expired' } as const;

/** @param attempts so far @param releasedFor default: the failure's reason @param now instant of the decision, UTC ISO-8601 */
export function retriedOrFailed(
  attempts: number,
  why: AttemptFailure & { token: string; releasedFor?: ReleaseReason },
  now: string,
): JobEvent {
  const { token, reason, fault, isFinal = false, releasedFor = reason } = why;
  const detail = why.detail ? { detail: why.detail } : {};
  const isRetried = failureReasons[reason].retryable && !isFinal && attempts < maxAttempts;
  if (!isRetried) return { type: 'JobFailed', data: { token, reason, fault, ...titleField(why.title), ...detail } };
  const notBefore = new Date(Date.parse(now) + retryDelayMs(attempts, reason)).toISOString();
  const tried = why.tried?.length ? { tried: [...why.tried] } : {};
  return { type: 'JobReleased', data: { token, reason: releasedFor, not_before: notBefore, ...detail, ...tried } };
}

/** 2 s after the first attempt, 8 s after the second; four times as long if the platform limits requests. */
const retryDelayMs = (attempts: number, reason: FailureReason) =>
  (reason === 'rate_limited_by_platform' ? 8_000 : 2_000) * 4 ** (attempts - 1);
