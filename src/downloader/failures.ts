import type { DownloadFailure, WantedFile } from '../ports/videos.ts';
import type { Fault } from '../domain/download-job-events.ts';
import type { FailureReason } from '../domain/failure-reasons.ts';
import type { ProcessEnding, ProcessResult } from './sandbox/process.ts';
import type { DownloadOutput } from './yt-dlp/output.ts';
import type { EngineLimits } from './yt-dlp/arguments.ts';
import { cleanDetail, ytDlpFailure } from './yt-dlp/failures.ts';

interface EndingReason {
  reason: FailureReason;
  fault?: Fault;
  detail: string;
}

/** The limits are the same for every item, so that one which runs into them is itself to blame. */
const endingReasons: Record<Exclude<ProcessEnding, 'exited'>, EndingReason> = {
  aborted: { reason: 'internal_error', fault: 'service', detail: 'The attempt was stopped from outside.' },
  timed_out: { reason: 'timed_out', detail: 'The engine ran into its time limit.' },
  directory_full: { reason: 'too_large', detail: 'The attempt filled its directory.' },
  too_many_files: { reason: 'platform_error', detail: 'The engine made too many files.' },
  too_many_processes: { reason: 'internal_error', detail: 'The engine started too many processes.' },
  memory_full: { reason: 'internal_error', detail: 'The engine wanted too much memory.' },
  output_flood: { reason: 'platform_error', detail: 'The engine printed too much.' },
  traffic_spent: { reason: 'too_large', detail: 'The engine wanted more bytes than an attempt may carry.' },
  not_started: { reason: 'internal_error', fault: 'service', detail: 'The engine could not be started.' },
};

export function failure(reason: FailureReason, detail: string, fault: Fault = 'video'): DownloadFailure {
  return { ok: false, reason, fault, detail: cleanDetail(detail) };
}

/** What an engine that did not do what it was asked to says about why; undefined when it exited with 0. */
export function processFailure(result: ProcessResult): DownloadFailure | undefined {
  if (result.ending !== 'exited') {
    const { reason, fault, detail } = endingReasons[result.ending];
    return failure(reason, result.ending === 'not_started' ? `${detail} ${result.stderr}` : detail, fault);
  }
  return result.exitCode === 0 ? undefined : { ok: false, ...ytDlpFailure(result.stderr) };
}

/**
 * The engine exits with 0 also where it downloaded nothing, because a filter said no or the announced size is too large. It
 * says so only to people, but what it had announced by then tells the cases apart.
 */
export function silentRefusal(
  output: DownloadOutput,
  wanted: WantedFile,
  limits: EngineLimits,
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
  return failure('platform_error', 'The engine ended without a file and without a reason.');
}
