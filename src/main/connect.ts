import { hostname } from 'node:os';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Secrets } from '../adapters/derive-keys.ts';
import {
  type ConnectedEventStore,
  connectEventStore,
  type EventStoreOptions,
} from '../adapters/event-store/event-store.ts';
import { withPersonalData } from '../adapters/event-store/personal-data.ts';
import { connectNats } from '../adapters/nats/connection.ts';
import { createClock } from '../adapters/postgres/business-clock.ts';
import { keepMeasuring, measureClock } from '../adapters/postgres/measure-clock.ts';
import { migrate } from '../adapters/postgres/migrations.ts';
import { createPendingVoids, signOlderVoids } from '../adapters/postgres/pending-voids.ts';
import { createPersonalKeys } from '../adapters/postgres/personal-keys.ts';
import { endInTime, openPool, startPatienceMs, waitAsRequestsDo } from '../adapters/postgres/pool.ts';
import { createRowMacs } from '../adapters/postgres/row-macs.ts';
import { requireOwnSessions } from '../adapters/postgres/session.ts';
import { createStoreOnStandby } from '../adapters/postgres/store-on-standby.ts';
import { Metrics } from '../adapters/telemetry/metrics.ts';
import {
  observeAppends,
  observeConnections,
  observeForeignEvents,
  observeRows,
} from '../adapters/telemetry/observers.ts';
import type { Tracing } from '../adapters/telemetry/tracing.ts';
import { isOurStream } from '../domain/is-our-stream.ts';
import { connectionLimit } from '../http/connection-limit.ts';
import { ServiceParts } from '../ports/service-parts.ts';
import { random, realNowMs, uptimeMs } from '../system/clock-and-chance.ts';
import { maxOpenFiles } from '../system/processes.ts';
import { isDemo } from './downloader-sandbox.ts';
import { localUrl } from './listen.ts';
import { migrationsDirectory } from './schema.ts';
import { serverUnreachable } from './server-unreachable.ts';
import type { Config } from './settings/config.ts';
import { fixShiftedClock, fixStreamPrefix, shiftedClockWarning } from './settings/installation.ts';
import type { Addresses } from './settings/instance.ts';
import { openPlatformRules } from './settings/platform-rules.ts';

/** The connections of a process, opened at its start and closed at its end. */
export type Connections = Awaited<ReturnType<typeof connectBeside>>;

/** Connects to the three servers and brings the schema up to date. @throws with the server that cannot be reached */
export async function connect(
  config: Config,
  addresses: Addresses,
  options: { logger: Logger; role: string; secrets: Secrets },
): Promise<Connections> {
  const serviceParts = new ServiceParts(options.logger);
  const pool = openPool(addresses.databaseUrl, {
    logger: options.logger,
    serviceParts,
    max: 10,
    queryTimeoutMs: 10_000,
    connectionTimeoutMs: startPatienceMs,
  });
  try {
    return await connectBeside(pool, config, { ...options, addresses, serviceParts });
  } catch (error) {
    // Before the embedded servers stop, so that the end of this connection is not logged as an outage.
    await endInTime(pool.end());
    throw error;
  }
}

async function connectBeside(
  pool: Pool,
  config: Config,
  {
    logger,
    role,
    secrets,
    addresses,
    serviceParts,
  }: Parameters<typeof connect>[2] & { addresses: Addresses; serviceParts: ServiceParts },
) {
  const samplePlatformOrigin = addresses.samplePlatformUrl ?? undefined;
  const rules = openPlatformRules(config, { samplePlatformOrigin, logger });
  const metrics = new Metrics({ logger });
  const macs = createRowMacs(secrets, { logger, observer: metrics.observer(observeRows) });
  const postgres = { server: 'Postgres', url: addresses.databaseUrl, setting: settingOf(config, 'DATABASE_URL') };
  await naming(postgres, requireOwnSessions(pool));
  const migrated = await naming(postgres, migrate(pool, migrationsDirectory, logger));
  if (migrated.includes('0007-row-macs.sql')) await naming(postgres, signOlderVoids(pool, macs));
  const clock = createClock({
    realNowMs,
    uptimeMs,
    offsetSeconds: config.REELTALLY_CLOCK_OFFSET_SECONDS,
    onChange: (fault) => {
      if (fault) logger.error({ reason: fault.message }, 'the clock is wrong');
      else logger.warn('the clock is right again');
    },
  });
  await naming(postgres, measureClock(pool, clock));
  const log = await openEventStore(config, addresses.eventStoreUrl, {
    logger,
    serviceParts,
    observer: metrics.observer(observeAppends),
    streams: { prefix: await fixStreamPrefix(pool, config), isOurs: isOurStream },
    onForeignEvent: metrics.observer(observeForeignEvents),
  });
  // No other statement waits for the standby, nor for a connection that does. Unused, it has no connections.
  const waitingPool = openPool(addresses.databaseUrl, {
    logger,
    serviceParts,
    name: 'Postgres with its standby',
    max: 4,
    queryTimeoutMs: 5_000,
  });
  const storeOnStandby = createStoreOnStandby({ waiting: waitingPool, cancelling: pool });
  const store = withPersonalData(log, createPersonalKeys(pool, secrets, storeOnStandby));
  await fixShiftedClock({ pool, store }, config, { isDemo: role === 'all' && isDemo(config) });
  const warning = shiftedClockWarning(config);
  if (warning !== undefined) logger.warn(warning);
  const nats = await naming(
    { server: 'NATS', url: addresses.natsUrl, setting: settingOf(config, 'NATS_URL') },
    connectNats(addresses.natsUrl, { name: 'reeltally', logger, serviceParts }),
  );
  const tracing = await traces(config, { logger, role });
  // Each admission tells the API the time, so an idle API sends no queries.
  const measuring = role === 'api' ? undefined : keepMeasuring(pool, clock);
  return {
    config,
    addresses,
    samplePlatformOrigin,
    logger,
    serviceParts,
    clock,
    now: clock.now,
    realNowMs: clock.realNowMs,
    store,
    pool,
    nats,
    metrics,
    macs,
    limitConnections: connectionLimit({
      maxOpenFiles: maxOpenFiles(),
      logger,
      dropped: metrics.observer(observeConnections),
    }),
    pendingVoids: createPendingVoids(pool, { storeOnStandby, macs, now: clock.now, process: processName(role) }),
    storeOnStandby,
    /** Undefined if traces are off. */
    tracer: tracing?.tracer,
    rules,
    /** Address of the API for its clients. PORT=0 leaves the port to the system: known once the API listens in this process. */
    publicUrl: config.PUBLIC_URL ?? localUrl(config),
    /** Account and key that a demo shows, once they are there: it keeps the key for the page `/docs` of its owner. */
    demo: undefined as { accountId: string; key: string } | undefined,
    /** The work that may have to wait, by name: each function tells the reason, or undefined while nothing waits. */
    waiting: new Map<string, () => Promise<string | undefined>>(),
    /** False until everything works that a start promises; see `endStart`. */
    isStarted: false,
    close: async () => {
      // Side by side: a server that does not answer must not delay the other connections.
      await Promise.all([
        nats.drain().catch(() => undefined),
        store.close(),
        measuring?.stop(),
        endInTime(pool.end()),
        endInTime(waitingPool.end()),
        tracing?.close(),
      ]);
    },
  };
}

/** Everything works that a start promises: from now on, connections are for requests. */
export function endStart(connections: Connections): void {
  connections.isStarted = true;
  waitAsRequestsDo(connections.pool);
}

/** Names this process in the pending voids that it records. */
const processName = (role: string) => `${role} ${hostname()} ${String(process.pid)}`;

/** @throws {ConfigurationRefused} if it does not answer, or refuses the user and password of its address */
async function openEventStore(
  config: Config,
  url: string,
  options: Pick<EventStoreOptions, 'logger' | 'serviceParts' | 'observer' | 'streams' | 'onForeignEvent'>,
): Promise<ConnectedEventStore> {
  const { promise: refused, reject } = Promise.withResolvers<never>();
  let last: unknown = new Error('it does not answer');
  const onNeverReached = (failure: unknown, isRefused: boolean) => {
    last = failure;
    if (isRefused) reject(new Error('it refuses the user and password of its address'));
  };
  const store = connectEventStore({ ...options, url, random, onNeverReached });
  const opening = store.ready({ timeoutMs: 10_000 }).then(async (ready) => {
    if (!ready) throw last;
    // A server may answer and still refuse to be read.
    await store.headPosition();
  });
  const setting = settingOf(config, 'EVENTSTORE_URL');
  await naming({ server: 'The event store', url, setting }, Promise.race([opening, refused]));
  return store;
}

/** Loaded only if traces are on: OpenTelemetry is a large part of the code of a process. */
async function traces(
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: sampledShare, version }: Config,
  { logger, role }: { logger: Logger; role: string },
): Promise<Tracing | undefined> {
  if (endpoint === undefined) return undefined;
  const { startTracing } = await import('../adapters/telemetry/tracing.ts');
  const serviceName = role === 'all' ? 'reeltally' : `reeltally-${role}`;
  return startTracing({ endpoint, serviceName, version, sampledShare, logger });
}

/** The setting of an address; undefined if the address comes from a running instance. */
const settingOf = (config: Config, name: 'DATABASE_URL' | 'EVENTSTORE_URL' | 'NATS_URL') =>
  config[name] === undefined ? undefined : name;

async function naming<Value>(
  { server, ...at }: { server: string; url: string; setting: string | undefined },
  opening: Promise<Value>,
): Promise<Value> {
  try {
    return await opening;
  } catch (error) {
    throw serverUnreachable(server, at, error);
  }
}
