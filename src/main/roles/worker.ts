import { hostname } from 'node:os';
import { readTurn } from '../../../projections/work-lists/jobs-in-turn.ts';
import { createJobQueue } from '../../adapters/nats/job-queue.ts';
import { answerProbes } from '../../adapters/nats/metadata-channel.ts';
import { createProgressReporter } from '../../adapters/nats/progress-channel.ts';
import { answerShortLinks } from '../../adapters/nats/short-link-channel.ts';
import { listLivingWorkers, startHeartbeat } from '../../adapters/postgres/heartbeat.ts';
import { observeJobs } from '../../adapters/telemetry/observers.ts';
import { observeChildren, observeDownloads } from '../../adapters/telemetry/worker-observers.ts';
import { servedVideo } from '../../domain/parse-video-url.ts';
import { platformNames } from '../../domain/platforms/platforms.ts';
import { createShortLinkResolver } from '../../downloader/short-links.ts';
import { createVideoSource } from '../../downloader/video-source.ts';
import type { DownloaderLimits } from '../../downloader/yt-dlp/arguments.ts';
import type { VideoReference } from '../../ports/videos.ts';
import { newId, newUuid } from '../../system/clock-and-chance.ts';
import { diskFreeBytes } from '../../system/disk.ts';
import { createProber } from '../../worker/answer-metadata-requests.ts';
import { createShortLinkAnswerer } from '../../worker/answer-short-links.ts';
import { openAttemptsDirectory } from '../../worker/attempts-directory.ts';
import { createChooser } from '../../worker/choose-job.ts';
import { createDiskWatermark } from '../../worker/disk-watermark.ts';
import { obeyPlatformRules, refusalByRules } from '../../worker/obey-platform-rules.ts';
import { runWorker } from '../../worker/pull-jobs.ts';
import { findDownloader } from '../downloader.ts';
import { type DownloaderSandbox, weakSandboxNotice } from '../downloader-sandbox.ts';
import { filesDirectory, openFiles } from '../file-store.ts';
import { watchDisks, watchDiskWatermark } from '../gauges.ts';
import type { Config } from '../settings/config.ts';
import { cookiesOfPlatforms, requireUsableRules } from './cookies-of-platforms.ts';
import { metadataTimeoutMs, shortLinkTimeoutMs, type StartRole } from './role.ts';
import { oldEngineNotice, reportDownloader, startSandbox } from './start-sandbox.ts';

/** The worker gives up a little before the API stops listening. */
const probeMarginMs = 1_000;
const shortLinkMarginMs = 500;
const maxConcurrentProbes = 8;
const maxConcurrentLookUps = 32;
const mebibyte = 1024 * 1024;

export const startWorker: StartRole = async (connections, secrets) => {
  const { config, pool, nats, logger, realNowMs, metrics, rules, samplePlatformOrigin } = connections;
  const downloader = await findDownloader(config);
  const sandbox = await startSandbox(connections, { downloader, rules });
  const { reaper, workDirectory } = sandbox;
  const cookiesOf = cookiesOfPlatforms(rules, { samplePlatformOrigin, isWeak: sandbox.sandbox === 'weak' });
  try {
    requireUsableRules(rules, cookiesOf, { samplePlatformOrigin });
  } catch (error) {
    await sandbox.close();
    throw error;
  }
  const ours = (video: VideoReference) => servedVideo(video, { samplePlatformOrigin });
  const allows = (video: VideoReference) => ours(video) !== undefined && refusalByRules(rules, video) === undefined;
  const unruled = createVideoSource({
    ...connections,
    ...downloader,
    ...sandbox,
    cookiesOf,
    extractorOf: (video) => ours(video)?.extractor,
    limits: limitsOf(config),
    unpackedDirectory: downloader.directory,
    observer: observeChildren([metrics.registry]),
  });
  const warmedUp = unruled.start();
  const { versions, notices } = await reportDownloader(connections, { downloader, opened: sandbox });
  if (sandbox.sandbox === 'weak') notices.push(weakSandboxNotice);
  const source = obeyPlatformRules(unruled, rules);
  const [filled, minFreeBytes] = [directoriesOf(config, workDirectory), config.MIN_FREE_DISK_MIB * mebibyte];
  watchDisks(connections, filled);
  const disk = createDiskWatermark({ directories: filled, minFreeBytes, freeBytes: diskFreeBytes, logger });
  watchDiskWatermark(connections, () => disk.isLow);
  connections.waiting.set('downloads', () => disk.whyWaiting());
  const workerId = newId('wrk');
  const about = async () => ({
    ...aboutWorker(config, sandbox, versions),
    notices: [await disk.whyWaiting().catch(() => undefined), oldEngineNotice(versions, realNowMs())].filter(
      (said) => said !== undefined,
    ),
  });
  const heartbeat = await startHeartbeat(pool, { ...connections, workerId, about });
  const timeoutMs = metadataTimeoutMs - probeMarginMs;
  const probing = { source, allows, logger, timeoutMs, maxConcurrent: maxConcurrentProbes };
  const probes = answerProbes(nats, createProber(probing));
  const resolve = createShortLinkResolver({
    samplePlatformOrigin,
    connect: (...to) => sandbox.guard.connect(...to),
    timeoutMs: shortLinkTimeoutMs - shortLinkMarginMs,
  });
  const shortLinks = answerShortLinks(
    nats,
    createShortLinkAnswerer({ resolve, logger, maxConcurrent: maxConcurrentLookUps }),
  );
  const downloads = observeDownloads([metrics.registry], {
    slots: config.WORKER_SLOTS,
    platforms: platformNames({ samplePlatformOrigin }),
  });
  const worker = runWorker({
    ...connections,
    workerId,
    source,
    kindOf: (video) => ours(video)?.kind,
    newUuid,
    files: (await openFiles(connections, secrets)).files,
    workDirectory: await openAttemptsDirectory(workDirectory, {
      workerId,
      listLiving: () => listLivingWorkers(pool),
      nowMs: realNowMs(),
    }),
    attemptTimeoutMs: config.ATTEMPT_TIMEOUT_SECONDS * 1_000,
    queue: createJobQueue(nats, { replicas: config.NATS_REPLICAS, logger }),
    progress: createProgressReporter(nats),
    slots: config.WORKER_SLOTS,
    disk,
    chooser: createChooser({
      ...connections,
      workerId,
      heldBack: (quota) => {
        downloads.jobPostponed(quota);
      },
      maxJobsPerAccount: config.MAX_JOBS_PER_ACCOUNT,
      maxJobsPerPlatform: config.MAX_JOBS_PER_PLATFORM,
      firstTurn: newId('acc'),
      readTurn: (wanted) => readTurn(pool, wanted),
    }),
    observer: metrics.observer(observeJobs),
    downloads,
  });
  return {
    notices,
    warmedUp,
    close: async () => {
      await Promise.allSettled([probes.stop(), shortLinks.stop()]);
      await worker.close();
      await heartbeat.stop();
      // Waiting metadata requests are answered at once, as failures.
      reaper.close();
      await Promise.all([probes.answered(), shortLinks.answered()]);
      await sandbox.close();
    },
  };
};

/** For people who look at the workers. */
const aboutWorker = (
  { WORKER_SLOTS: slots, version }: Config,
  { sandbox, guards }: DownloaderSandbox,
  versions: Readonly<Record<string, string | null>>,
) => ({
  host: hostname(),
  slots,
  sandbox,
  guards: guards.map(({ guard, state }) => ({ guard, state })),
  versions: { reeltally: version, ...versions },
});

function limitsOf(config: Config): DownloaderLimits {
  return {
    maxFileSizeBytes: config.MAX_FILE_MIB * mebibyte,
    maxDurationSeconds: config.MAX_DURATION_SECONDS,
    attemptTimeoutMs: config.ATTEMPT_TIMEOUT_SECONDS * 1_000,
    metadataTimeoutMs: metadataTimeoutMs - probeMarginMs,
    maxVideoSide: config.MAX_VIDEO_SIDE,
  };
}

/** The directories that a worker fills. */
function directoriesOf(config: Config, work: string): Record<string, string> {
  const files = filesDirectory(config);
  return { work, ...(files !== undefined && { files }) };
}
