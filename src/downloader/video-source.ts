import { chmod, lchown, mkdir, readdir, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Output } from '../domain/download-options.ts';
import type { ChildObserver } from '../ports/observers.ts';
import { inSpan, type Tracer } from '../ports/tracing.ts';
import type {
  DownloadedFile,
  DownloadFailure,
  ProbeResult,
  VideoReference,
  VideoSource,
  WantedFile,
} from '../ports/videos.ts';
import { makeTemporaryFolder } from '../system/disk.ts';
import { withCookies } from './cookies.ts';
import { failure, processFailure, silentRefusal } from './download-failures.ts';
import type { Egress } from './egress/credentials.ts';
import { fileSha256 } from './file-sha256.ts';
import { knownRefusal, refusalOfFormats } from './known-beforehand.ts';
import type { Reaper } from './sandbox/child-reaper.ts';
import { hasAll, type Namespaces } from './sandbox/launch.ts';
import type { ProcessResult } from './sandbox/run-sandboxed.ts';
import { type Arrived, finishFilm } from './verify/finish-file.ts';
import { finishStill } from './verify/still.ts';
import { finishedFiles, onlyFiles, type Verdict } from './verify/tools.ts';
import {
  downloadArguments,
  type DownloaderLimits,
  type ExtractorRun,
  marks,
  metadataArguments,
} from './yt-dlp/arguments.ts';
import { cleanDetail } from './yt-dlp/failure-phrases.ts';
import {
  type AnnouncedMetadata,
  type DownloadOutput,
  followDownload,
  parseFormatBytes,
  parseMetadata,
} from './yt-dlp/output.ts';
import type { DownloaderPrograms } from './yt-dlp/programs.ts';
import { parseRefusal, type Refusal } from './yt-dlp/refusal.ts';
import { runYtDlp, type YtDlpContext } from './yt-dlp/run-yt-dlp.ts';
import { prepareYtDlp, type YtDlpCommand } from './yt-dlp/unpack.ts';
import { fingerprintOf, keepWarm, startWarmParent, tryFork } from './yt-dlp/warm-parent.ts';

export interface VideoSourceOptions extends DownloaderPrograms {
  /** The folder of plugin packages. */
  pluginsDirectory: string;
  /** Name of the one extractor that may read an item, or several where one hands over. Items without one are refused. */
  extractorOf: (video: VideoReference) => string | undefined;
  limits: DownloaderLimits;
  /** The way out for all of the downloader's traffic. */
  egress: Egress;
  /** The operator's cookies for a platform, in Netscape's format; default: none. @throws if they cannot be read */
  cookiesOf?: (platform: string) => string | undefined;
  /** The namespaces of children, as far as this machine allows them. */
  namespaces?: Namespaces | undefined;
  /** For files that outlive an attempt, and for metadata requests; made if it is not there. */
  workDirectory: string;
  /** yt-dlp is unpacked here once, and kept. */
  unpackedDirectory: string;
  /** Ends the children when it is closed. */
  reaper: Reaper;
  logger?: { warn(details: object, message: string): void };
  observer?: ChildObserver;
  tracer?: Tracer | undefined;
}

export interface StartableVideoSource extends VideoSource {
  /** Starts the engine, for which the first request would wait otherwise. Never throws: each request tries it again. */
  start(): Promise<void>;
}

/** Platforms round what they announce. */
const noticedSeconds = 2;

type DownloadOptions = Parameters<VideoSource['download']>[2];

/** Dependencies of every metadata request and every attempt. */
interface DownloaderContext extends YtDlpContext {
  options: VideoSourceOptions;
}

function createContext(options: VideoSourceOptions): DownloaderContext {
  const { ytDlpPath, unpackedDirectory, reaper, logger } = options;
  let preparing: Promise<YtDlpCommand> | undefined;
  const ytDlp = () =>
    (preparing ??= prepareYtDlp({
      ytDlpPath,
      directory: unpackedDirectory,
      reaper,
      onProblem: (error) => logger?.warn({ err: error }, 'yt-dlp is started packed, which is slower'),
    }));
  return { options, ytDlp, forker: forkerOf(options, ytDlp) };
}

/** Forks yt-dlp where all namespaces are to be had, and the pinned build, whose inside is known. */
function forkerOf(options: VideoSourceOptions, ytDlp: () => Promise<YtDlpCommand>): YtDlpContext['forker'] {
  const { namespaces = {}, pluginsDirectory, reaper, logger } = options;
  if (!hasAll(namespaces)) return () => Promise.resolve(undefined);
  const warm = keepWarm({
    start: async () => {
      const parent = await startWarmParent(await ytDlp(), { pluginsDirectory, namespaces, reaper });
      try {
        await inDirectory(options, 'warm', (directory) => tryFork(parent, { directory, reaper }));
      } catch (error) {
        parent.retire();
        throw error;
      }
      return parent;
    },
    fingerprint: async () => {
      const { command, prefix } = await ytDlp();
      return fingerprintOf([options.ytDlpPath, command, ...prefix.filter(isAbsolute)], pluginsDirectory);
    },
    onProblem: (error) => logger?.warn({ err: error }, 'yt-dlp is started anew for each download, which is slower'),
  });
  return async () => ((await ytDlp()).prefix.length === 0 ? undefined : await warm());
}

/** Does something in a folder of its own, which is removed afterwards. */
async function inDirectory<Result>(
  { workDirectory }: VideoSourceOptions,
  name: string,
  work: (directory: string) => Promise<Result>,
): Promise<Result> {
  await mkdir(workDirectory, { recursive: true, mode: 0o700 });
  await using directory = await makeTemporaryFolder(join(workDirectory, `${name}-`));
  return await work(directory.path);
}

/** The extractor and the address of an item; undefined for a platform that has no extractor here. */
function extractorRun({ options }: DownloaderContext, video: VideoReference): ExtractorRun | undefined {
  const { canonicalUrl } = video;
  const extractor = options.extractorOf(video);
  if (extractor === undefined || !/^https?:\/\//.test(canonicalUrl)) return undefined;
  return { extractor, pluginsDirectory: options.pluginsDirectory, url: canonicalUrl };
}

type YtDlpRun = Parameters<typeof runYtDlp>[1];

/** Runs yt-dlp with the cookies of the platform, if the operator has any. */
async function runForPlatform(context: DownloaderContext, run: YtDlpRun): Promise<ProcessResult> {
  const cookies = context.options.cookiesOf?.(run.platform);
  return await withCookies(cookies, run.directory, (cookieArguments) =>
    runYtDlp(context, { ...run, arguments: [...cookieArguments, ...run.arguments] }),
  );
}

async function probe(
  context: DownloaderContext,
  video: VideoReference,
  attempt: { directory: string; signal: AbortSignal },
): Promise<ProbeResult> {
  const run = extractorRun(context, video);
  if (run === undefined) return failure('unsupported_media', `No extractor for the platform ${video.platform}.`);
  const found: {
    metadata?: AnnouncedMetadata | undefined;
    formatBytes?: (number | undefined)[] | undefined;
    refusal?: Refusal | undefined;
  } = {};
  const result = await runForPlatform(context, {
    ...attempt,
    fetches: false,
    platform: video.platform,
    arguments: metadataArguments(run),
    timeoutMs: context.options.limits.metadataTimeoutMs,
    onLine: (line) => {
      // The first one: yt-dlp complains once more where that leaves it no format to take.
      if (line.startsWith(marks.refused)) found.refusal ??= parseRefusal(line.slice(marks.refused.length));
      else found.metadata ??= parseMetadata(line);
      found.formatBytes ??= parseFormatBytes(line);
    },
  });
  const failed = processFailure(result, found.refusal);
  const ofFormats = refusalOfFormats(found.refusal);
  if (failed !== undefined && failed.reason !== ofFormats) return failed;
  if (found.metadata === undefined) return failed ?? failure('unsupported_media', 'The downloader named no item.');
  const { title, durationSeconds, thumbnail } = found.metadata;
  const downloadRefusal = ofFormats ?? knownRefusal(found.metadata, found.formatBytes ?? [], context.options.limits);
  return { ok: true, metadata: { title: title || video.videoId, durationSeconds, thumbnail, downloadRefusal } };
}

/** Takes a file from the user of an attempt, whose processes have all ended: another attempt of that user must not reach it. */
async function takeOver(path: string): Promise<void> {
  await lchown(path, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
  await chmod(path, 0o600);
}

type FinishedFile = Omit<DownloadedFile, 'title'>;

/** Makes the finished file of what came in `media`, and hashes it. */
async function finishAndHash(
  { options }: DownloaderContext,
  output: Output,
  arrived: Arrived,
  {
    timeoutMs,
    traceparent,
    onProgress,
    ...attempt
  }: Pick<DownloadOptions, 'directory' | 'signal' | 'traceparent'> & {
    timeoutMs: number;
    onProgress: (share: number) => void;
  },
): Promise<FinishedFile | DownloadFailure> {
  const { limits, ffprobePath, ffmpegPath, reaper, observer, namespaces, tracer } = options;
  const { name, mime } = finishedFiles[output];
  const media = join(attempt.directory, 'media');
  const path = join(media, name);
  const tools = { ffprobePath, ffmpegPath, timeoutMs, reaper, observer, namespaces, ...attempt };
  const traced = {
    name: 'finish file',
    parent: traceparent,
    attributes: { 'process.executable.name': 'ffmpeg' },
    failureOf: (verdict: Verdict) => (verdict.ok ? undefined : verdict.reason),
  };
  const verdict = await inSpan(tracer, traced, () =>
    output === 'jpg' ? finishStill(media, tools) : finishFilm(media, { ...tools, output, arrived, onProgress }),
  );
  if (!verdict.ok) return verdict;
  const only = await onlyFiles(media, 1);
  if ('detail' in only) return failure('platform_error', only.detail);
  const sizeBytes = only.files[0]?.sizeBytes ?? 0;
  if (sizeBytes > limits.maxFileSizeBytes) return failure('too_large', `The file has ${sizeBytes} bytes.`);
  if (namespaces?.users !== undefined) await takeOver(path);
  const sha256 = await fileSha256(path, { signal: attempt.signal });
  return {
    ok: true,
    path,
    name,
    mime,
    sizeBytes,
    sha256,
    durationSeconds: Math.round(verdict.durationSeconds),
    detail: verdict.note ?? '',
  };
}

/**
 * A film that was fetched and could not be converted, or was refused by our verification. The next attempt takes other formats;
 * after the last of them, another attempt would only say the same.
 */
function notDelivered(failed: DownloadFailure, { choice, chosenIds, hasNoOthers }: DownloadOutput): DownloadFailure {
  if (chosenIds.length === 0) return failed;
  const detail = cleanDetail(`${failed.detail.slice(0, 300)} (${choice})`);
  return { ...failed, detail, tried: chosenIds, ...(hasNoOthers && { isFinal: true }) };
}

async function download(
  context: DownloaderContext,
  video: VideoReference,
  wanted: WantedFile,
  { directory, signal, onProgress, traceparent, tried = [] }: DownloadOptions,
): Promise<DownloadedFile | DownloadFailure> {
  const { limits } = context.options;
  const run = extractorRun(context, video);
  if (run === undefined) return failure('unsupported_media', `No extractor for the platform ${video.platform}.`);
  // yt-dlp exits with 0 when it finds a file of an earlier attempt, which would then be taken for finished.
  const leftovers = await readdir(directory);
  if (leftovers.length > 0) return failure('internal_error', 'The directory of the attempt is not fresh.', 'service');
  const media = join(directory, 'media');
  await mkdir(media, { mode: 0o700 });
  const startedMs = performance.now();
  const tooLarge = new AbortController();
  let fetchedBytes = 0;
  const output = followDownload({
    onProgress,
    onBytes: (bytes) => {
      fetchedBytes = bytes;
      if (bytes > limits.maxFileSizeBytes) tooLarge.abort();
    },
    nowMs: () => performance.now(),
  });
  const traced = {
    name: `download ${video.platform}`,
    parent: traceparent,
    attributes: {
      'process.executable.name': 'yt-dlp',
      'reeltally.platform': video.platform,
      'reeltally.video.id': video.videoId,
    },
    failureOf: (result: ProcessResult) => processFailure(result, output.refusal)?.reason,
  };
  const result = await inSpan(context.options.tracer, traced, () =>
    runForPlatform(context, {
      fetches: true,
      platform: video.platform,
      arguments: downloadArguments(run, wanted, { directory: media, limits, tried }),
      directory,
      timeoutMs: limits.attemptTimeoutMs,
      signal: AbortSignal.any([signal, tooLarge.signal]),
      onLine: (line) => output.take(line),
    }),
  );
  const title = output.metadata?.title ?? '';
  if (tooLarge.signal.aborted)
    return { ...failure('too_large', 'The platform sent more bytes than are allowed.'), title };
  const failed = processFailure(result, output.refusal) ?? silentRefusal(output, wanted, limits);
  if (failed !== undefined) {
    const isJudged = result.ending === 'exited' && failed.fault === 'service' && failed.reason === 'platform_error';
    return { ...(isJudged ? notDelivered(failed, output) : { ...failed, nothingFetched: fetchedBytes === 0 }), title };
  }
  const timeoutMs = Math.max(limits.attemptTimeoutMs - (performance.now() - startedMs), 1);
  const { metadata, parts, wholeParts } = output;
  const arrived = { parts, isProved: wholeParts === parts, announcedSeconds: metadata?.exactSeconds ?? 0 };
  const attempt = { directory, signal, timeoutMs, traceparent, onProgress: output.takeFinished };
  const finished = await finishAndHash(context, wanted.output, arrived, attempt);
  if (finished.ok) return { ...finished, title, detail: detailOf(output, finished) };
  // What yt-dlp has fetched without a complaint fails by our judgement alone, or because we cannot convert it.
  const isOurs = !signal.aborted && ['platform_error', 'timed_out', 'internal_error'].includes(finished.reason);
  return { ...(isOurs ? notDelivered({ ...finished, fault: 'service' }, output) : finished), title };
}

/** For the timeline: what was chosen, what was left out, and where the film does not last as long as was announced. */
function detailOf(
  { choice, metadata }: DownloadOutput,
  { durationSeconds: seconds, detail: note }: FinishedFile,
): string {
  const announced = metadata?.exactSeconds ?? 0;
  const isOther = announced > 0 && Math.abs(announced - seconds) > noticedSeconds;
  const told = [choice, note].filter(Boolean).join('; ');
  return cleanDetail(isOther ? `The platform announced ${announced} s, and ${seconds} s came. ${told}` : told);
}

/** To the caller, our own failures, such as a full disk, are failures like any other. */
async function caught<Result>(work: () => Promise<Result>): Promise<Result | DownloadFailure> {
  try {
    return await work();
  } catch (error) {
    return failure('internal_error', error instanceof Error ? error.message : String(error), 'service');
  }
}

/**
 * The downloader: yt-dlp and ffmpeg as child processes in a sandbox. Every URL goes to the one extractor of its platform, and
 * nothing that a platform says is believed before it is checked.
 */
export function createVideoSource(options: VideoSourceOptions): StartableVideoSource {
  const context = createContext(options);
  return {
    start: async () => {
      await caught(context.ytDlp);
      await caught(context.forker);
    },
    probe: (video, { signal }) =>
      caught(() => inDirectory(options, 'probe', (directory) => probe(context, video, { directory, signal }))),
    download: (video, wanted, attempt) =>
      caught(async () => {
        try {
          return await download(context, video, wanted, attempt);
        } finally {
          for (const name of ['home', 'tmp']) await rm(join(attempt.directory, name), { recursive: true, force: true });
        }
      }),
  };
}
