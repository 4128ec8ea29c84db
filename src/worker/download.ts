import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { sleep } from '../async/sleep.ts';
import { type JobDependencies, type QueuedJob, readJob, recordJobProgress } from '../commands/record-job-progress.ts';
import type { ClaimProof, JobCommand } from '../domain/download-job.ts';
import { type ItemKind, outputOf } from '../domain/download-options.ts';
import { isKnownBeforehand } from '../domain/failure-reasons.ts';
import { isRefused } from '../domain/refusals.ts';
import { ClockIsWrong } from '../ports/clock.ts';
import { type FileStore, FileStoreUnavailable } from '../ports/files.ts';
import type { ProgressChannel } from '../ports/job-queue.ts';
import type { DownloadObserver } from '../ports/observers.ts';
import { inSpan } from '../ports/tracing.ts';
import type {
  DownloadedFile,
  DownloadFailure,
  DownloadProgress,
  VideoReference,
  VideoSource,
} from '../ports/videos.ts';
import { wasCalledPossible } from './was-called-possible.ts';

export interface DownloadDependencies extends JobDependencies {
  workerId: string;
  source: VideoSource;
  files: FileStore;
  progress: ProgressChannel;
  downloads?: DownloadObserver;
  logger: Logger;
  /** Limit of one attempt with all its steps: fetch, verify, store. The sweeper ends attempts that last longer. */
  attemptTimeoutMs: number;
  /** Under it, each attempt gets a fresh directory of its own. */
  workDirectory: string;
  /** The kind of an item; undefined if it is not served here. Its stored address, read again, must give the same item. */
  kindOf: (video: VideoReference) => ItemKind | undefined;
}

const shutDown = { kind: 'shut_down' } as const;
const timedOut = { kind: 'give_up', reason: 'timed_out', fault: 'video' } as const;
const internalError = { kind: 'give_up', reason: 'internal_error', fault: 'service' } as const;

/** Each step waits this long for the log; a step without an outcome is settled by the lease. */
const stepTimeoutMs = 60_000;
const clockRetryMs = 1_000;
const storePausesMs = [1_000, 2_000, 4_000, 8_000, 15_000, 25_000];

/** One job, from its claim to its end: done, failed, or queued again. Never throws: a failure is a step of the job too. */
export async function downloadJob(
  dependencies: DownloadDependencies,
  { job, claim }: { job: QueuedJob; claim: ClaimProof },
  stopping: AbortSignal,
): Promise<void> {
  const { token } = job;
  const logger = dependencies.logger.child({ token, claimRevision: claim.revision });
  const directory = join(dependencies.workDirectory, `${token}-${String(claim.revision)}`);
  const record = (command: JobCommand) => onceClockIsRight(() => recordStep(dependencies, job, command), stopping);
  const late = AbortSignal.timeout(dependencies.attemptTimeoutMs);
  const signal = AbortSignal.any([stopping, late]);
  // An attempt that a shutdown cut short has not failed.
  const cutShort = () => (stopping.aborted ? shutDown : late.aborted ? timedOut : undefined);
  try {
    if (!(await record({ kind: 'start', token, claim }))) return;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const earlier = claim.revision === 0 ? [] : await triedBefore(dependencies, token);
    const result = await fetchFile(dependencies, job, { directory, signal, tried: earlier });
    const cut = cutShort();
    if (cut) {
      await record({ ...cut, token, claim });
    } else if (result.ok) {
      const completed = await finish({ ...dependencies, logger }, { claim, file: result, record, job, signal });
      if (completed) logger.info({ sizeBytes: result.sizeBytes }, 'a download is done');
    } else {
      const failed = await withWhatMetadataSaid(dependencies, job, result);
      const { reason, fault, title, detail, tried, isFinal } = failed;
      logger.info({ reason, fault, detail }, 'a download failed');
      await record({ kind: 'give_up', token, claim, reason, fault, title, detail, tried, isFinal });
    }
  } catch (error) {
    const cut = cutShort();
    if (!cut) logger.error({ err: error }, 'a download failed inside the service');
    await record({ ...(cut ?? internalError), token, claim }).catch((second: unknown) => {
      logger.error({ err: second }, 'the failure could not be recorded; the job is released when its lease ends');
    });
  } finally {
    await rm(directory, { recursive: true, force: true }).catch((error: unknown) => {
      logger.warn({ err: error }, 'the directory of an attempt could not be removed');
    });
  }
}

/** With a wrong clock nothing is recorded. The download is kept until the clock is right again, or this process is stopped. */
async function onceClockIsRight<Value>(work: () => Promise<Value>, stopping: AbortSignal): Promise<Value> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ClockIsWrong) || stopping.aborted) throw error;
      await sleep(clockRetryMs, stopping);
    }
  }
}

/** @returns true once the step is in the log; false if this worker no longer holds the job */
async function recordStep(dependencies: DownloadDependencies, job: QueuedJob, command: JobCommand): Promise<boolean> {
  const recorded = await recordJobProgress(dependencies, command, {
    correlationId: job.correlationId,
    causationId: job.eventId,
    actor: { type: 'system', id: dependencies.workerId },
    timeoutMs: stepTimeoutMs,
    traceparent: job.traceparent,
  });
  if (isRefused(recorded)) {
    dependencies.logger.warn({ token: job.token, step: command.kind }, 'the claim is no longer held');
    return false;
  }
  for (const event of recorded.events) dependencies.downloads?.stepOfPlatform(job.platform, event);
  return true;
}

/** The service is at fault where metadata had just called a download possible that is refused before a byte was fetched. */
async function withWhatMetadataSaid(
  { store }: DownloadDependencies,
  job: QueuedJob,
  failed: DownloadFailure,
): Promise<DownloadFailure> {
  const { reason, fault, nothingFetched = false, detail } = failed;
  if (fault === 'service' || !nothingFetched || !isKnownBeforehand(reason)) return failed;
  if (!(await wasCalledPossible(store, job))) return failed;
  return {
    ...failed,
    fault: 'service',
    detail: `Metadata had called this possible. ${detail}`.slice(0, 500).toWellFormed(),
  };
}

/** A log that does not say what was tried keeps no attempt back. */
async function triedBefore({ store, logger }: DownloadDependencies, token: string): Promise<readonly string[]> {
  try {
    return (await readJob(store, token)).tried;
  } catch (error) {
    logger.warn({ err: error, token }, 'what earlier attempts have tried could not be read');
    return [];
  }
}

async function fetchFile(
  { source, kindOf, progress }: DownloadDependencies,
  job: QueuedJob,
  { directory, signal, tried }: { directory: string; signal: AbortSignal; tried: readonly string[] },
): Promise<DownloadedFile | DownloadFailure> {
  const video = { platform: job.platform, videoId: job.video_id, canonicalUrl: job.url };
  const kind = kindOf(video);
  if (!kind)
    return { ok: false, reason: 'unsupported_media', fault: 'video', detail: 'the platform is not served here' };
  const { format, quality, audio_format: audioFormat, item } = job;
  return await source.download(
    video,
    { output: outputOf(kind, { format, audioFormat }), quality, item },
    {
      directory,
      signal,
      tried,
      traceparent: job.traceparent,
      onProgress: (now) => progress.report(job.token, now),
    },
  );
}

/**
 * The file is in place before the log says so; if the claim was lost meanwhile, it is removed again.
 *
 * @returns whether the job is completed with it
 */
async function finish(
  { files, tracer, progress, logger }: DownloadDependencies,
  attempt: {
    claim: ClaimProof;
    file: DownloadedFile;
    record: (command: JobCommand) => Promise<boolean>;
    job: QueuedJob;
    signal: AbortSignal;
  },
): Promise<boolean> {
  const { claim, file, record, job, signal } = attempt;
  const { token, traceparent: parent } = job;
  const key = { token, claimRevision: claim.revision, name: file.name };
  const { name, mime, sizeBytes, sha256, durationSeconds, title, detail } = file;
  const onProgress = uploadProgress(sizeBytes, (now) => progress.report(token, now));
  await inSpan(tracer, { name: 'store file', parent }, () =>
    withRetries(() => files.put(key, file.path, mime, { sha256, signal, onProgress }), signal),
  );
  const completed = await record({
    kind: 'complete',
    token,
    claim,
    file: { name, mime, sizeBytes, sha256, durationSeconds, title, detail },
  });
  // The step is in the log, or refused: a file that stays behind changes neither.
  await (completed ? files.purge(token, key) : files.remove(key)).catch((error: unknown) => {
    logger.warn({ err: error }, 'unused files of a job could not be removed; the dispatcher removes them later');
  });
  return completed;
}

/** A file that is fetched and verified is not given up because the file store is away for a minute. */
async function withRetries(put: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (const pauseMs of storePausesMs) {
    try {
      await put();
      return;
    } catch (error) {
      if (!(error instanceof FileStoreUnavailable)) throw error;
      await sleep(pauseMs, signal);
      signal.throwIfAborted();
    }
  }
  await put();
}

/** The fetch is complete: speed and remaining time are those of the upload into the file store. */
function uploadProgress(
  sizeBytes: number,
  report: (progress: DownloadProgress) => void,
): (storedBytes: number) => void {
  const startedMs = performance.now();
  return (storedBytes) => {
    const bytesPerSecond = storedBytes / Math.max((performance.now() - startedMs) / 1000, 0.001);
    const etaSeconds = bytesPerSecond > 0 ? Math.round((sizeBytes - storedBytes) / bytesPerSecond) : null;
    report({ percent: 100, bytesPerSecond: Math.round(bytesPerSecond), etaSeconds });
  };
}
