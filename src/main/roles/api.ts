import type { FastifyInstance } from 'fastify';
import { createAdmissions } from '../../../projections/admission/admission.ts';
import { admissionSessionSettings } from '../../../projections/admission/admission-statement.ts';
import { projections } from '../../../projections/all.ts';
import { listKeysNotInForce, waitForKey } from '../../../projections/api-keys.ts';
import { readNewestCredits } from '../../../projections/credits.ts';
import { type JobStatus, listChangedJobs } from '../../../projections/jobs.ts';
import { type EndPlace, listPlacesPassed } from '../../../projections/queries/ended-downloads.ts';
import { dispatchCheckpoint } from '../../../projections/runner/checkpoints.ts';
import { recordRefusals } from '../../../projections/runner/resume.ts';
import type { LocalFileStore } from '../../adapters/files/local-file-store.ts';
import { createProbeClient } from '../../adapters/nats/metadata-channel.ts';
import { followProgress } from '../../adapters/nats/progress-channel.ts';
import { createShortLinkClient } from '../../adapters/nats/short-link-channel.ts';
import { KeyRequests } from '../../adapters/postgres/key-requests.ts';
import { endInTime, openPool } from '../../adapters/postgres/pool.ts';
import { observeAdmissions, observeRequests } from '../../adapters/telemetry/observers.ts';
import { until } from '../../async/until.ts';
import { WriterRegistry } from '../../commands/usage/writer-registry.ts';
import { apiErrors } from '../../http/errors.ts';
import { limitConnections } from '../../http/files/connections-per-link.ts';
import { createFileDigests } from '../../http/files/file-digests.ts';
import { registerFileRoute } from '../../http/files/file-route.ts';
import { IdleReaders } from '../../http/files/idle-readers.ts';
import { registerHealthRoutes } from '../../http/health.ts';
import { AddressWindows } from '../../http/limit-of-callers-without-key.ts';
import { registerReferenceRoutes } from '../../http/reference/routes.ts';
import { createServer } from '../../http/server.ts';
import { registerStartPage } from '../../http/start-page.ts';
import { registerTlogRoutes } from '../../http/tlog-routes.ts';
import { WaitingPolls } from '../../http/waiting-polls.ts';
import { EventStoreUnavailable } from '../../ports/event-store.ts';
import { newId, newUuid, randomBits } from '../../system/clock-and-chance.ts';
import { readSendQueues } from '../../system/send-queues.ts';
import type { Connections } from '../connect.ts';
import { openFiles } from '../file-store.ts';
import { watchReaders, watchWaitingPolls } from '../gauges.ts';
import { listen } from '../listen.ts';
import { createReadiness } from '../readiness.ts';
import { serverUnreachable } from '../server-unreachable.ts';
import { createCursors, createTokens } from '../settings/secrets.ts';
import { addConsole, createOwnerSessions, demoKeyOf } from './console.ts';
import { metadataTimeoutMs, shortLinkTimeoutMs, type StartRole } from './role.ts';
import { startStaffListener } from './staff.ts';

/** Well below what a stop may take in all. */
const drainMs = 5_000;
const keyInForceMs = 5_000;
/** How long a start waits for the log. */
const logPatienceMs = 30_000;
const readers = [...projections.map(({ name }) => name), dispatchCheckpoint];

export const startApi: StartRole = async (connections, secrets) => {
  const { config, logger, serviceParts, clock, now, realNowMs, pool, store, nats, metrics, tracer, macs } = connections;
  // Before the first request: the projector may begin later.
  await recordAllRefusals(connections);
  const admissionPool = openPool(connections.addresses.databaseUrl, {
    logger,
    serviceParts,
    name: 'Postgres for admission',
    max: 4,
    queryTimeoutMs: 5_000,
    settings: admissionSessionSettings,
  });
  const publicUrl = () => connections.publicUrl;
  const { files, served } = await openFiles(connections, secrets);
  const writers = new WriterRegistry({ store, now, newId: newUuid, tracer, rows: macs });
  const accounts = { store, now, newUuid, newId, randomBits };
  const tokens = createTokens(secrets);
  const probe = createProbeClient(nats, { timeoutMs: metadataTimeoutMs });
  const shortLinks = createShortLinkClient(nats, { timeoutMs: shortLinkTimeoutMs });
  const progress = followProgress(nats);
  const waitingPolls = openWaitingPolls(connections);
  const readiness = createReadiness(connections);
  const shared = { writers, accounts, tokens, probe, shortLinks, files, progress, waitingPolls, readiness };
  const requestMetrics = observeRequests([metrics.registry], Object.keys(apiErrors));
  const keyRequests = new KeyRequests(pool, { now, part: serviceParts.of('the requests of keys') });
  const server = createServer({
    ...connections,
    ...shared,
    admissions: createAdmissions(admissionPool, {
      measureTime: clock.measureTime,
      macs,
      observer: observeAdmissions([metrics.registry]),
    }),
    requests: {
      ...requestMetrics,
      requestEnded: (request) => {
        requestMetrics.requestEnded(request);
        keyRequests.requestEnded(request);
      },
    },
    cursors: createCursors(secrets),
    addresses: new AddressWindows(config.UNAUTHENTICATED_HOURLY_LIMIT, realNowMs),
    trustedProxies: config.TRUSTED_PROXIES,
    ownerSessions: createOwnerSessions(connections, publicUrl),
    readUsage: (accountId) => readNewestCredits(pool, accountId, macs),
    fileRetentionSeconds: config.FILE_RETENTION_SECONDS,
    keyInForce: (keyId) => waitForKey(pool, keyId, { revoked: false, timeoutMs: keyInForceMs }),
    newUuid,
  });
  connections.limitConnections(server.server, 'api');
  if (served) serveFiles(server, served, connections);
  addConsole(server, connections, { ...shared, publicUrl });
  registerStartPage(server);
  registerTlogRoutes(server, connections);
  registerHealthRoutes(server, { readiness, scrape: () => metrics.scrape() });
  registerReferenceRoutes(server, {
    version: config.version,
    origin: publicUrl,
    samplePlatformOrigin: connections.samplePlatformOrigin,
    plans: config.plans,
    keyOfReader: demoKeyOf(connections, publicUrl),
  });
  const url = await listen(server, { host: config.HOST, port: config.PORT, setting: 'PORT' });
  connections.publicUrl = config.PUBLIC_URL ?? url;
  const staff =
    config.STAFF_PORT === undefined ? undefined : await startStaffListener(connections, shared, config.STAFF_PORT);
  return {
    url: connections.publicUrl,
    ...(staff && { staffUrl: staff.url }),
    close: async () => {
      // Slow readers of files do not delay the stop for ever.
      const cut = setTimeout(() => server.server.closeAllConnections(), drainMs);
      await Promise.all([server.close(), staff?.close()]);
      clearTimeout(cut);
      // No request comes any more.
      await keyRequests.close();
      await endInTime(admissionPool.end());
    },
  };
};

/** No answer of the log is not the answer that no reader is refused. @throws {ConfigurationRefused} if it stays silent */
async function recordAllRefusals(connections: Connections): Promise<void> {
  const { config, addresses } = connections;
  const areRecorded = async () => {
    try {
      await recordRefusals(connections, readers);
      return true;
    } catch (error) {
      if (error instanceof EventStoreUnavailable) return false;
      throw error;
    }
  };
  if (await until(areRecorded, { limitMs: logPatienceMs, pollMs: 100 })) return;
  const setting = config.EVENTSTORE_URL === undefined ? undefined : 'EVENTSTORE_URL';
  throw serverUnreachable(
    'The event store',
    { url: addresses.eventStoreUrl, setting },
    new Error('it does not answer'),
  );
}

function serveFiles(
  server: FastifyInstance,
  files: LocalFileStore,
  { config, clock, store, rules, metrics }: Connections,
): void {
  const readers = new IdleReaders({ limitSeconds: config.LINK_IDLE_SECONDS, sendQueues: readSendQueues });
  const takePlace = limitConnections({
    perLink: config.MAX_CONNECTIONS_PER_LINK,
    perAddress: config.MAX_CONNECTIONS_PER_ADDRESS,
  });
  const digestOf = createFileDigests(store);
  registerFileRoute(server, { files, digestOf, nowMs: clock.realNowMs, rules, takePlace, readers });
  watchReaders(metrics, readers);
}

function openWaitingPolls({ pool, serviceParts, metrics }: Connections): WaitingPolls {
  const changedJobs = (known: readonly JobStatus[]) => listChangedJobs(pool, known);
  const placesPassed = (places: readonly EndPlace[]) => listPlacesPassed(pool, places);
  const keysNotInForce = (keyHashes: readonly string[]) => listKeysNotInForce(pool, keyHashes);
  const part = serviceParts.of('waiting for jobs');
  const waitingPolls = new WaitingPolls({ changedJobs, placesPassed, keysNotInForce, part });
  watchWaitingPolls(metrics, waitingPolls);
  return waitingPolls;
}
