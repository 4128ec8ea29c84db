import { z } from 'zod';
import { accountId } from './account-events.ts';
import type { EventOf } from './event-of.ts';
import { failureReasonNames } from './failure-reasons.ts';
import { instant } from './instant.ts';
import { plainText, visibleLine } from './plain-text.ts';
import { jobToken } from './usage-events.ts';

/** Stream `job-{token}`: the events of a download after it was queued. */
export const jobStream = (token: string) => `job-${token}`;

const workerId = z.string().regex(/^wrk_[a-z0-9]{16,32}$/);
const failureReason = z.enum(failureReasonNames);

export const releaseReasons = ['shutdown', 'lease_expired', ...failureReasonNames] as const;
export type ReleaseReason = (typeof releaseReasons)[number];

/** The party at fault for a failure (`failed-job-keeps-charge.ts`); `video` stands for the video and its platform. */
const fault = z.enum(['service', 'video']);
export type Fault = z.infer<typeof fault>;

/** Notes on a step for people at the service: the platform's own words, or the chosen formats. One line, cut and cleaned. */
const detail = z.string().max(500).optional();
const longestTitle = 200;
/** The item's title, as the platform gave it. Missing if it gave none, and in older events. */
const title = plainText(longestTitle).optional();
/** @param given by the platform, in whatever form */
export function titleField(given: string | undefined): { title?: string } {
  const line = visibleLine(given ?? '', longestTitle);
  return line === '' ? {} : { title: line };
}
/** The formats that an attempt has fetched and that failed their verification. */
const tried = z.array(z.string().max(200)).max(16).optional();

export const jobEventSchemas = {
  JobClaimed: z.strictObject({
    token: jobToken,
    account_id: accountId,
    worker_id: workerId,
    /** From 1; a claim released by a shutdown is not counted. */
    attempt: z.int().min(1),
    /** The stream and revision of the download's DownloadQueued. */
    usage_stream: z.string().min(1),
    usage_revision: z.int().min(0),
  }),
  JobStarted: z.strictObject({ token: jobToken, worker_id: workerId }),
  /** The job is queued again, and may be claimed from `not_before` on. */
  JobReleased: z.strictObject({ token: jobToken, reason: z.enum(releaseReasons), not_before: instant, detail, tried }),
  JobCompleted: z.strictObject({
    token: jobToken,
    /** The key of the finished file is made of the token and this revision. */
    claim_revision: z.int().min(0),
    file_name: z.string().regex(/^media\.[a-z0-9]{2,4}$/),
    file_mime: z.string().min(3).max(64),
    file_size_bytes: z.int().min(1),
    file_sha256: z.string().regex(/^[0-9a-f]{64}$/),
    duration_seconds: z.number().min(0),
    title,
    detail,
  }),
  /** Older events have no `fault`: they give nothing back. */
  JobFailed: z.strictObject({ token: jobToken, reason: failureReason, fault: fault.default('video'), title, detail }),
  /** No further link to the file is issued. Its bytes are removed once the issued links have ended. */
  FileExpired: z.strictObject({ token: jobToken, claim_revision: z.int().min(0) }),
};

export type JobEvent = EventOf<typeof jobEventSchemas>;
