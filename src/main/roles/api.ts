import { waitForKey } from '../../../projections/api-keys.ts';
import { admissionSessionSettings } from '../../../projections/admission-statement.ts';
import { createAdmissions } from '../../../projections/admission.ts';
import { observeAdmissions, observeRequests } from '../../adapters/metrics-observers.ts';
import { createPendingVoids } from '../../adapters/pending-voids.ts';
import { endInTime, openPool } from '../../adapters/postgres.ts';
import { createProbeClient } from '../../adapters/probe-channel.ts';
import { followProgress } from '../../adapters/progress-channel.ts';
import { createShortLinkClient } from '../../adapters/short-link-channel.ts';
import { newId, newUuid, randomBits } from '../../adapters/system.ts';
import { UsageLanes } from '../../commands/usage-lanes.ts';
import { AddressWindows } from '../../http/address-window.ts';
import { registerFileRoute } from '../../http/file-route.ts';
import { apiErrors } from '../../http/errors.ts';
import { registerHealthRoutes } from '../../http/health.ts';
import { registerMetricsRoute } from '../../http/metrics-route.ts';
import { registerReferenceRoutes } from '../../http/reference/routes.ts';
import { createServer } from '../../http/server.ts';
import { createReadiness, createTokens } from '../connect.ts';
import { openFiles } from '../files.ts';
import { listen, localUrl } from '../listen.ts';
import type { StartRole } from '../role.ts';
import { probeTimeoutMs, shortLinkTimeoutMs } from './probe-time.ts';

/** Well below what a stop may take in all. */
const drainMs = 5_000;
const keyInForceMs = 5_000;

export const startApi: StartRole = async (connections, secrets) => {
  const { config, logger, clock, pool, store, nats, addresses, metrics, tracer } = connections;
  const admissionPool = openPool(addresses.databaseUrl, {
    logger,
    max: 4,
    queryTimeoutMs: 5_000,
    options: admissionSessionSettings,
  });
  const publicUrl = config.PUBLIC_URL ?? localUrl(config);
  const { files, served } = await openFiles(connections, secrets);
  const { now, realNowMs } = clock;
  const server = createServer({
    logger,
    admissions: createAdmissions(admissionPool, {
      measureTime: clock.measureTime,
      observer: observeAdmissions([metrics.registry]),
    }),
    requests: observeRequests([metrics.registry], Object.keys(apiErrors)),
    addresses: new AddressWindows(config.UNAUTHENTICATED_HOURLY_LIMIT, realNowMs),
    trustedProxies: config.TRUSTED_PROXIES,
    tracer,
    lanes: new UsageLanes({ store, now, newId: newUuid, tracer }),
    store,
    pendingVoids: createPendingVoids(pool),
    tokens: createTokens(secrets),
    probe: createProbeClient(nats, { timeoutMs: probeTimeoutMs }),
    shortLinks: createShortLinkClient(nats, { timeoutMs: shortLinkTimeoutMs }),
    files,
    fileRetentionSeconds: config.FILE_RETENTION_SECONDS,
    accounts: { store, now, newUuid, newId, randomBits },
    keyInForce: (keyId) => waitForKey(pool, keyId, { revoked: false, timeoutMs: keyInForceMs }),
    progress: followProgress(nats),
    now,
    realNowMs,
    newUuid,
    samplePlatformOrigin: addresses.samplePlatformUrl ?? undefined,
  });
  if (served) registerFileRoute(server, { files: served, nowMs: realNowMs });
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
      await endInTime(admissionPool.end());
    },
  };
};
