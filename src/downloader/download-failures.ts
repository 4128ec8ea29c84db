import type { Fault } from '../domain/download-job-events.ts';
import type { FailureReason } from '../domain/failure-reasons.ts';
import type { DownloadFailure, WantedFile } from '../ports/videos.ts';
import type { ProcessEnding, ProcessResult } from './sandbox/run-sandboxed.ts';
import type { DownloaderLimits } from './yt-dlp/arguments.ts';
import { cleanDetail, ytDlpFailure } from './yt-dlp/failure-phrases.ts';
import type { DownloadOutput } from './yt-dlp/output.ts';
import { type Refusal, refusalFailure } from './yt-dlp/refusal.ts';

/** The limits are the same for all items, so reaching one of them is the item's fault. */
const endingReasons: Record<
  Exclude<ProcessEnding, 'exited'>,
  Pick<DownloadFailure, 'reason' | 'detail'> & { fault?: Fault }
> = {
  aborted: { reason: 'internal_error', fault: 'service', detail: 'The attempt was stopped from outside.' },
  timed_out: { reason: 'timed_out', detail: 'The downloader ran into its time limit.' },
  directory_full: { reason: 'too_large', detail: 'The attempt filled its directory.' },
  too_many_files: { reason: 'platform_error', detail: 'The downloader made too many files.' },
  too_many_processes: { reason: 'internal_error', detail: 'The downloader started too many processes.' },
  memory_full: { reason: 'internal_error', detail: 'The downloader wanted too much memory.' },
  output_flood: { reason: 'platform_error', detail: 'The downloader printed too much.' },
  traffic_spent: { reason: 'too_large', detail: 'The downloader wanted more bytes than an attempt may carry.' },
  route_failed: {
    reason: 'internal_error',
    fault: 'service',
    detail: 'The outgoing proxy or address could not be used.',
  },
  cut_off: { reason: 'internal_error', fault: 'service', detail: 'The downloader was cut off.' },
  not_started: { reason: 'internal_error', fault: 'service', detail: 'The downloader could not be started.' },
};

export function failure(reason: FailureReason, detail: string, fault: Fault = 'video'): DownloadFailure {
  return { ok: false, reason, fault, detail: cleanDetail(detail) };
}

/**
 * The failure that a downloader's ending, the refusal that it told and its error output stand for; undefined if it exited with 0.
 */
export function processFailure(result: ProcessResult, refusal?: Refusal): DownloadFailure | undefined {
  if (result.ending !== 'exited') {
    const { reason, fault, detail } = endingReasons[result.ending];
    return failure(
      reason,
      ['not_started', 'cut_off'].includes(result.ending) ? `${detail} ${result.stderr}` : detail,
      fault,
    );
  }
  if (result.exitCode === 0) return undefined;
  return { ok: false, ...(refusal ? refusalFailure(refusal) : ytDlpFailure(result.stderr)) };
}

/**
 * yt-dlp also exits with 0 if it downloaded nothing because a filter refused the item or the announced size is too large. Its
 * messages about that are for people; the metadata that it printed before tells the cases apart.
 */
export function silentRefusal(
  output: DownloadOutput,
  wanted: WantedFile,
  limits: DownloaderLimits,
): DownloadFailure | undefined {
  if (output.done) return undefined;
  if (wanted.output === 'jpg' && output.metadata === undefined) {
    return failure('unsupported_media', `The post has no still ${wanted.item}.`);
  }
  if (output.metadata?.isLive) return failure('live_stream', 'The platform says that this is live.');
  if ((output.metadata?.durationSeconds ?? 0) > limits.maxDurationSeconds) {
    return failure('too_long', `The platform announces ${output.metadata?.durationSeconds} s.`);
  }
  if (output.chosen) return failure('too_large', 'The platform announces more bytes than are allowed.');
  return failure('platform_error', 'The downloader ended without a file and without a reason.');
}
