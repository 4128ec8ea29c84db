import { listLivingWorkers, startHeartbeat } from '../../adapters/heartbeat.ts';
import { createJobQueue } from '../../adapters/job-queue.ts';
import { observeChildren, observeDownloads, observeJobs } from '../../adapters/metrics-observers.ts';
import { answerProbes } from '../../adapters/probe-channel.ts';
import { createProgressReporter } from '../../adapters/progress-channel.ts';
import { newId, newUuid } from '../../adapters/system.ts';
import { createVideoSource } from '../../adapters/video-source.ts';
import { locateEngine } from '../../adapters/yt-dlp-engine.ts';
import type { VideoReference } from '../../commands/ports.ts';
import { parseVideoUrl } from '../../domain/video-url.ts';
import { createProber } from '../../worker/answer-probes.ts';
import { openAttemptsDirectory } from '../../worker/attempts-directory.ts';
import { runWorker } from '../../worker/run.ts';
import { pluginsDirectory, workDirectoryOf } from '../containment.ts';
import { createFiles, filesDirectory } from '../connect.ts';
import { watchDisks } from '../watch.ts';
import { localUrl } from '../listen.ts';
import type { StartRole } from '../role.ts';
import { reportEngine, startContainment } from './containment.ts';
import { probeTimeoutMs } from './probe-time.ts';

/** The worker gives up a little before the API stops listening. */
const probeMarginMs = 1_000;
const maxConcurrentProbes = 8;

export const startWorker: StartRole = async (connections, secrets) => {
  const { config, store, pool, nats, logger, clock, addresses, metrics, tracer } = connections;
  const workDirectory = workDirectoryOf(config);
  const engine = await locateEngine(
    { ytDlpPath: config.YTDLP_PATH, ffmpegPath: config.FFMPEG_PATH, ffprobePath: config.FFPROBE_PATH },
    config.PATH,
  );
  const containment = await startContainment(connections, { engine, workDirectory });
  await reportEngine(connections, { engine, workDirectory, namespaces: containment.namespaces });
  const source = createVideoSource({
    ...engine,
    egress: containment.egress,
    namespaces: containment.namespaces,
    pluginsDirectory,
    extractors: { youtube: 'youtube', ...(addresses.samplePlatformUrl !== null && { sample: 'sample' }) },
    limits: {
      maxFileSizeBytes: config.MAX_FILE_MIB * 1024 * 1024,
      maxDurationSeconds: config.MAX_DURATION_SECONDS,
      attemptTimeoutMs: config.ATTEMPT_TIMEOUT_SECONDS * 1_000,
      probeTimeoutMs: probeTimeoutMs - probeMarginMs,
    },
    workDirectory,
    logger,
    observer: observeChildren([metrics.registry]),
    tracer,
  });
  watchDisks(connections, { files: filesDirectory(config), work: workDirectory });
  const workerId = newId('wrk');
  const allows = isOurs(addresses.samplePlatformUrl ?? undefined);
  const heartbeat = await startHeartbeat(pool, { workerId, logger });
  const timeoutMs = probeTimeoutMs - probeMarginMs;
  const prober = createProber({ source, allows, logger, timeoutMs, maxConcurrent: maxConcurrentProbes });
  const probes = answerProbes(nats, prober);
  const worker = runWorker({
    ...{ workerId, store, source, allows, logger, newUuid, tracer },
    workDirectory: await openAttemptsDirectory(workDirectory, { workerId, living: await listLivingWorkers(pool) }),
    now: clock.now,
    queue: createJobQueue(nats),
    files: createFiles(config, secrets, config.DOWNLOAD_URL ?? config.PUBLIC_URL ?? localUrl(config)),
    progress: createProgressReporter(nats),
    slots: config.WORKER_SLOTS,
    observer: metrics.observer(observeJobs),
    downloads: observeDownloads([metrics.registry], config.WORKER_SLOTS),
  });
  return {
    close: async () => {
      await probes.drain().catch(() => undefined);
      await worker.close();
      await heartbeat.stop();
      source.close();
      await containment.close();
    },
  };
};

/** An address is served here if it comes out the same when it is read and rebuilt. */
function isOurs(samplePlatformOrigin: string | undefined): (video: VideoReference) => boolean {
  return ({ platform, videoId, canonicalUrl }) => {
    const parsed = parseVideoUrl(canonicalUrl, samplePlatformOrigin === undefined ? {} : { samplePlatformOrigin });
    if (!parsed.ok) return false;
    const { video } = parsed;
    return video.platform === platform && video.videoId === videoId && video.canonicalUrl === canonicalUrl;
  };
}
