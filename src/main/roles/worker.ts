import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { listLivingWorkers, startHeartbeat } from '../../adapters/heartbeat.ts';
import { createJobQueue } from '../../adapters/job-queue.ts';
import { observeChildren, observeDownloads, observeJobs } from '../../adapters/metrics-observers.ts';
import { answerProbes } from '../../adapters/probe-channel.ts';
import { createProgressReporter } from '../../adapters/progress-channel.ts';
import { answerShortLinks } from '../../adapters/short-link-channel.ts';
import { createShortLinkResolver } from '../../adapters/short-links.ts';
import { newId, newUuid } from '../../adapters/system.ts';
import { createVideoSource } from '../../adapters/video-source.ts';
import { locateEngine } from '../../adapters/yt-dlp-engine.ts';
import type { VideoReference } from '../../commands/ports.ts';
import { parseVideoUrl } from '../../domain/video-url.ts';
import type { ParsedVideo } from '../../domain/video-url.ts';
import { createProber } from '../../worker/answer-probes.ts';
import { createShortLinkAnswerer } from '../../worker/answer-short-links.ts';
import { openAttemptsDirectory } from '../../worker/attempts-directory.ts';
import { runWorker } from '../../worker/run.ts';
import { projectDirectory } from '../config.ts';
import { createFiles, filesDirectory } from '../connect.ts';
import { watchDisks } from '../watch.ts';
import { localUrl } from '../listen.ts';
import type { StartRole } from '../role.ts';
import { probeTimeoutMs, shortLinkTimeoutMs } from './probe-time.ts';

/** The worker gives up a little before the API stops listening. */
const probeMarginMs = 1_000;
const shortLinkMarginMs = 500;
const maxConcurrentProbes = 8;
const maxConcurrentLookUps = 32;

export const startWorker: StartRole = async (connections, secrets) => {
  const { config, store, pool, nats, logger, clock, addresses, metrics, tracer } = connections;
  const workDirectory = config.WORK_DIRECTORY ?? join(config.dataDirectory, 'work');
  const engine = await locateEngine(
    { ytDlpPath: config.YTDLP_PATH, ffmpegPath: config.FFMPEG_PATH, ffprobePath: config.FFPROBE_PATH },
    config.PATH,
  );
  const samplePlatformOrigin = addresses.samplePlatformUrl ?? undefined;
  const ours = readAgain(samplePlatformOrigin);
  const allows = (video: VideoReference) => ours(video) !== undefined;
  const source = createVideoSource({
    ...engine,
    pluginsDirectory: join(projectDirectory, 'src/embedded/plugins'),
    extractorOf: (video) => ours(video)?.extractor,
    limits: {
      maxFileSizeBytes: config.MAX_FILE_MIB * 1024 * 1024,
      maxDurationSeconds: config.MAX_DURATION_SECONDS,
      attemptTimeoutMs: config.ATTEMPT_TIMEOUT_SECONDS * 1_000,
      probeTimeoutMs: probeTimeoutMs - probeMarginMs,
      maxVideoSide: config.MAX_VIDEO_SIDE,
    },
    workDirectory,
    logger,
    observer: observeChildren([metrics.registry]),
    tracer,
  });
  watchDisks(connections, { files: filesDirectory(config), work: workDirectory });
  const workerId = newId('wrk');
  const heartbeat = await startHeartbeat(pool, { workerId, logger });
  const timeoutMs = probeTimeoutMs - probeMarginMs;
  const prober = createProber({ source, allows, logger, timeoutMs, maxConcurrent: maxConcurrentProbes });
  const probes = answerProbes(nats, prober);
  const resolve = createShortLinkResolver({
    ...{ samplePlatformOrigin, connect: connectDirectly, timeoutMs: shortLinkTimeoutMs - shortLinkMarginMs },
  });
  const shortLinks = answerShortLinks(
    nats,
    createShortLinkAnswerer({ resolve, logger, maxConcurrent: maxConcurrentLookUps }),
  );
  const worker = runWorker({
    ...{ workerId, store, source, kindOf: (video) => ours(video)?.kind, logger, newUuid, tracer },
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
      await Promise.allSettled([probes.drain(), shortLinks.drain()]);
      await worker.close();
      await heartbeat.stop();
      source.close();
    },
  };
};

/** An address is served here if it comes out the same when it is read and rebuilt. */
function readAgain(samplePlatformOrigin: string | undefined): (video: VideoReference) => ParsedVideo | undefined {
  return ({ platform, videoId, canonicalUrl }) => {
    const parsed = parseVideoUrl(canonicalUrl, { samplePlatformOrigin });
    if (!parsed.ok || parsed.video === undefined) return undefined;
    const { video } = parsed;
    const same = video.platform === platform && video.videoId === videoId && video.canonicalUrl === canonicalUrl;
    return same ? video : undefined;
  };
}

async function connectDirectly(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connectTcp({ host, port });
  await once(socket, 'connect', { signal });
  return socket;
}
