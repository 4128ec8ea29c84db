import { join } from 'node:path';
import Fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { projections } from '../../projections/all.ts';
import { waitForKey } from '../../projections/api-keys.ts';
import { admissionSessionSettings } from '../../projections/admission-statement.ts';
import { createAdmissions } from '../../projections/admission.ts';
import { runProjection } from '../../projections/runner.ts';
import { listLivingWorkers, startHeartbeat } from '../adapters/heartbeat.ts';
import { createJobQueue } from '../adapters/job-queue.ts';
import { leadWhenAlone } from '../adapters/leadership.ts';
import {
  observeAdmissions,
  observeChildren,
  observeDownloads,
  observeJobs,
  observeMails,
  observeRequests,
  observeVoids,
} from '../adapters/metrics-observers.ts';
import { createPendingVoids } from '../adapters/pending-voids.ts';
import { clockSkewMs, createBooks, openPool } from '../adapters/postgres.ts';
import { answerProbes, createProbeClient } from '../adapters/probe-channel.ts';
import { createProgressReporter, followProgress } from '../adapters/progress-channel.ts';
import { newId, newUuid, randomBits } from '../adapters/system.ts';
import { createVideoSource } from '../adapters/video-source.ts';
import { locateEngine } from '../adapters/yt-dlp-engine.ts';
import { UsageLanes } from '../commands/usage-lanes.ts';
import type { VideoReference } from '../commands/ports.ts';
import { auditContinuously } from '../dispatcher/audit-continuously.ts';
import type { AuditState } from '../dispatcher/audit-continuously.ts';
import { startClosingPeriods } from '../dispatcher/close-periods.ts';
import { dispatchDownloads } from '../dispatcher/dispatch-downloads.ts';
import { startResolving } from '../dispatcher/resolve-unknown-outcomes.ts';
import { startMailingWarnings } from '../dispatcher/mail-warnings.ts';
import { startSweeping } from '../dispatcher/sweep.ts';
import { parseVideoUrl } from '../domain/video-url.ts';
import { AddressWindows } from '../http/address-window.ts';
import { registerFileRoute } from '../http/file-route.ts';
import { apiErrors } from '../http/errors.ts';
import { registerHealthRoutes } from '../http/health.ts';
import { registerMetricsRoute } from '../http/metrics-route.ts';
import { registerReferenceRoutes } from '../http/reference/routes.ts';
import { createServer } from '../http/server.ts';
import { createProber } from '../worker/answer-probes.ts';
import { openAttemptsDirectory } from '../worker/attempts-directory.ts';
import { runWorker } from '../worker/run.ts';
import { ConfigurationRefused, projectDirectory } from './config.ts';
import type { Config } from './config.ts';
import { createFiles, createMailer, createReadiness, createTokens, filesDirectory } from './connect.ts';
import type { Connections, Secrets } from './connect.ts';
import {
  watchAudit,
  watchDisks,
  watchPendingVoids,
  watchPeriods,
  watchProjections,
  watchQueue,
  watchWarnings,
} from './watch.ts';

/** The parts of the service; each can run as a process of its own. */
export const roles = ['api', 'projector', 'dispatcher', 'worker'] as const;
export type Role = (typeof roles)[number];

export interface RunningRole {
  /** What a person may open; undefined for a role that only listens for health checks. */
  url?: string;
  close: () => Promise<void>;
}

type StartRole = (connections: Connections, secrets: Secrets) => Promise<RunningRole> | RunningRole;

const drainMs = 10_000;
const keyInForceMs = 5_000;
const probeTimeoutMs = 20_000;
/** The worker gives up a little before the API stops listening. */
const probeMarginMs = 1_000;
const maxConcurrentProbes = 8;

const startApi: StartRole = async (connections, secrets) => {
  const { config, logger, clock, pool, store, nats, addresses, metrics, tracer } = connections;
  const admissionPool = openPool(addresses.databaseUrl, {
    logger,
    max: 4,
    queryTimeoutMs: 5_000,
    options: admissionSessionSettings,
  });
  const publicUrl = config.PUBLIC_URL ?? localUrl(config);
  const files = createFiles(config, secrets, config.DOWNLOAD_URL ?? publicUrl);
  const { now, realNowMs } = clock;
  const server = createServer({
    logger,
    admissions: createAdmissions(admissionPool, observeAdmissions([metrics.registry])),
    requests: observeRequests([metrics.registry], Object.keys(apiErrors)),
    addresses: new AddressWindows(config.UNAUTHENTICATED_HOURLY_LIMIT, realNowMs),
    trustedProxies: config.TRUSTED_PROXIES,
    tracer,
    lanes: new UsageLanes({ store, now, newId: newUuid, tracer }),
    store,
    pendingVoids: createPendingVoids(pool),
    tokens: createTokens(secrets),
    probe: createProbeClient(nats, { timeoutMs: probeTimeoutMs }),
    files,
    accounts: { store, now, newUuid, newId, randomBits },
    keyInForce: (keyId) => waitForKey(pool, keyId, { revoked: false, timeoutMs: keyInForceMs }),
    progress: followProgress(nats),
    now,
    realNowMs,
    newUuid,
    samplePlatformOrigin: addresses.samplePlatformUrl ?? undefined,
  });
  registerFileRoute(server, { files, nowMs: realNowMs });
  registerHealthRoutes(server, createReadiness(connections));
  registerMetricsRoute(server, () => metrics.scrape());
  registerReferenceRoutes(server, { version: config.version, origin: publicUrl });
  const url = await listen(server, { host: config.HOST, port: config.PORT, setting: 'PORT' });
  return {
    url: config.PUBLIC_URL ?? url,
    close: async () => {
      // Whoever reads a file slowly, or not at all, does not hold up the end for ever.
      const cut = setTimeout(() => server.server.closeAllConnections(), drainMs);
      await server.close();
      clearTimeout(cut);
      await admissionPool.end();
    },
  };
};

const startProjector: StartRole = (connections) => {
  const { store, pool, logger, addresses } = connections;
  const observer = watchProjections(connections, () => projector);
  const projector = leadWhenAlone('projector', {
    url: addresses.databaseUrl,
    logger,
    lead: () => {
      observer.begin();
      const running = projections.map((projection) => runProjection(projection, { store, pool, logger, observer }));
      return async () => {
        await Promise.all(running.map((subscription) => subscription.close()));
      };
    },
  });
  return projector;
};

const startDispatcher: StartRole = (connections) => {
  const { store, pool, nats, logger, clock, config, addresses, metrics, tracer } = connections;
  const queue = createJobQueue(nats, tracer);
  const observer = metrics.observer(observeJobs);
  const voids = metrics.observer(observeVoids);
  const mailer = createMailer(config);
  const mailObserver = metrics.observer(observeMails);
  const mailerId = newUuid();
  const takenMails = new Set<string>();
  let audited: AuditState | undefined;
  const dispatcher = leadWhenAlone('dispatcher', {
    url: addresses.databaseUrl,
    logger,
    lead: () => {
      const dispatching = dispatchDownloads({ store, queue, pool });
      const sweeping = startSweeping({
        ...{ store, queue, pool, logger, newUuid, now: clock.now },
        attemptTimeoutSeconds: config.ATTEMPT_TIMEOUT_SECONDS,
        observer,
      });
      const resolving = startResolving({
        ...{ store, logger, newUuid, now: clock.now, observer, voids, tracer },
        pendingVoids: createPendingVoids(pool),
      });
      const closing = startClosingPeriods({
        ...{ store, pool, logger, newUuid, now: clock.now },
        lanes: new UsageLanes({ store, now: clock.now, newId: newUuid, tracer }),
        graceSeconds: config.CLOSING_GRACE_SECONDS,
        clockSkewMs: () => clockSkewMs(pool, clock.realNowMs),
      });
      const mailing = startMailingWarnings({
        ...{ store, pool, mailer, logger, newUuid, now: clock.now, mailerId },
        ...{ taken: takenMails, observer: mailObserver },
      });
      const audit = auditContinuously({ log: store, books: createBooks(pool), logger });
      audited = audit.state;
      return async () => {
        const loops = [sweeping, resolving, closing, mailing, audit].map((loop) => loop.stop());
        await Promise.all([dispatching.close(), ...loops]);
      };
    },
  });
  watchQueue(connections, queue, dispatcher);
  watchAudit(connections, () => (dispatcher.leading ? audited : undefined));
  watchPendingVoids(connections, dispatcher);
  watchPeriods(connections, dispatcher);
  watchWarnings(connections, dispatcher);
  return dispatcher;
};

const startWorker: StartRole = async (connections, secrets) => {
  const { config, store, pool, nats, logger, clock, addresses, metrics, tracer } = connections;
  const workDirectory = config.WORK_DIRECTORY ?? join(config.dataDirectory, 'work');
  const engine = await locateEngine(
    { ytDlpPath: config.YTDLP_PATH, ffmpegPath: config.FFMPEG_PATH, ffprobePath: config.FFPROBE_PATH },
    config.PATH,
  );
  const source = createVideoSource({
    ...engine,
    pluginsDirectory: join(projectDirectory, 'src/embedded/plugins'),
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
    },
  };
};

/** In the order in which a download meets them; they stop in the same order. */
export const startRole: Record<Role, StartRole> = {
  api: startApi,
  projector: startProjector,
  dispatcher: startDispatcher,
  worker: startWorker,
};

/** For a role that serves nothing else. */
export async function startHealthServer(connections: Connections): Promise<RunningRole> {
  const logger: FastifyBaseLogger = connections.logger;
  const server = Fastify({ loggerInstance: logger, logController: new LogController({ disableRequestLogging: true }) });
  registerHealthRoutes(server, createReadiness(connections));
  registerMetricsRoute(server, () => connections.metrics.scrape());
  const { HOST: host, HEALTH_PORT: port } = connections.config;
  const url = await listen(server, { host, port, setting: 'HEALTH_PORT' });
  return { url, close: () => server.close() };
}

/** An address is served here if it comes out the same when it is read and rebuilt. */
function isOurs(samplePlatformOrigin: string | undefined): (video: VideoReference) => boolean {
  return ({ platform, videoId, canonicalUrl }) => {
    const parsed = parseVideoUrl(canonicalUrl, samplePlatformOrigin === undefined ? {} : { samplePlatformOrigin });
    if (!parsed.ok) return false;
    const { video } = parsed;
    return video.platform === platform && video.videoId === videoId && video.canonicalUrl === canonicalUrl;
  };
}

async function listen(
  server: FastifyInstance,
  { host, port, setting }: { host: string; port: number; setting: string },
): Promise<string> {
  try {
    await server.listen({ host, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    const where = `Port ${String(port)} of ${host}`;
    throw new ConfigurationRefused(
      code === 'EADDRINUSE'
        ? `${where} is taken by another program. Set ${setting} to another one.`
        : `${where} cannot be opened (${code}). Set HOST or ${setting} to another one.`,
    );
  }
  const address = server.server.address();
  return localUrl({ HOST: host, PORT: typeof address === 'object' && address ? address.port : port });
}

/** An address that works on this machine. */
function localUrl({ HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>): string {
  const host = HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST;
  return `http://${host.includes(':') ? `[${host}]` : host}:${String(PORT)}`;
}
