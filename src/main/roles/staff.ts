import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { listStaffOfAddress } from '../../../projections/staff.ts';
import { askNats } from '../../adapters/nats/connection.ts';
import { endInTime, openPool } from '../../adapters/postgres/pool.ts';
import { createStaffLinks } from '../../adapters/postgres/staff-links.ts';
import { createStaffSessions } from '../../adapters/postgres/staff-sessions.ts';
import { newStaffCache, readStaff } from '../../commands/staff.ts';
import type { WriterRegistry } from '../../commands/usage/writer-registry.ts';
import { registerSite } from '../../console/console.ts';
import { exportLimitMs, RunningExports } from '../../console/export.ts';
import { LiveStreams } from '../../console/live/live-streams.ts';
import { originsOf } from '../../console/origins.ts';
import { AskedAddresses } from '../../console/sign-in/asked-addresses.ts';
import { signInMails } from '../../console/sign-in/sign-in-mails.ts';
import type { StaffDependencies } from '../../console/staff/dependencies.ts';
import { answerNoEndpoint, isOfStaffApi, registerStaffApi } from '../../console/staff/staff-api.ts';
import { staffSite } from '../../console/staff/staff-site.ts';
import { mailbox } from '../../domain/people.ts';
import { pollAnswerOf } from '../../http/download-status.ts';
import { AddressWindows } from '../../http/limit-of-callers-without-key.ts';
import { createListener, requireTargets } from '../../http/listener.ts';
import type { WaitingPolls } from '../../http/waiting-polls.ts';
import type { FileKey, FileStore } from '../../ports/files.ts';
import type { DownloadProgress } from '../../ports/videos.ts';
import { newId, newUuid, randomBits } from '../../system/clock-and-chance.ts';
import type { Connections } from '../connect.ts';
import { listen, listeningUrl } from '../listen.ts';
import { createMailer, createStaffInvitations } from '../mailer.ts';
import type { Config } from '../settings/config.ts';

/** Links that one client may ask for in an hour, whatever addresses it names. */
const maxSignInsOfClient = 30;
/** A page waits as long for NATS. */
const queueAnswerMs = 1_000;
/** Each holds a connection to Postgres. */
const maxExports = 2;

/** The parts that the console shares with the API of its process. */
interface Shared {
  writers: WriterRegistry;
  files: FileStore;
  progress: (token: string) => DownloadProgress | undefined;
  waitingPolls: WaitingPolls;
  readiness: StaffDependencies['readiness'];
}

/**
 * The staff console on a port of its own: a network that reaches the API does not reach it.
 *
 * @param port 0: any free one
 */
export async function startStaffListener(connections: Connections, shared: Shared, port: number) {
  const { config, logger } = connections;
  const server = createStaffServer(logger, config);
  connections.limitConnections(server.server, 'staff');
  const address = () => config.STAFF_URL ?? ownAddress(server, { host: config.STAFF_HOST, port });
  const exportPool = openExportPool(connections);
  const dependencies = staffDependencies(
    { ...connections, exportPool, provider: await providerOf(config) },
    shared,
    address,
  );
  registerStaffApi(server, dependencies);
  registerSite(server, staffSite, dependencies);
  server.addHook('preClose', async () => dependencies.streams.stop());
  await listen(server, { host: config.STAFF_HOST, port, setting: 'STAFF_PORT' });
  return {
    /** Address of the staff console, without its path. */
    url: originsOf(address()).own,
    close: async () => {
      await server.close();
      await endInTime(exportPool.end());
    },
  };
}

/** By its name, so that no cookie of the owners' console at 127.0.0.1 comes along. */
function ownAddress(server: FastifyInstance, { host, port }: { host: string; port: number }): string {
  const url = new URL(listeningUrl(server, { HOST: host, PORT: port }));
  if (url.hostname === '127.0.0.1' || url.hostname === '[::1]') url.hostname = 'localhost';
  return url.origin;
}

function createStaffServer(logger: FastifyBaseLogger, { TRUSTED_PROXIES: trustedProxies }: Config): FastifyInstance {
  const server = createListener(
    { logger, newUuid, trustedProxies },
    {
      forceCloseConnections: true,
      frameworkErrors: (_error, request: FastifyRequest, reply: FastifyReply) => {
        if (isOfStaffApi(request)) return void answerNoEndpoint(request, reply);
        void reply.code(400).type('text/plain').send('This address cannot be read.\n');
      },
    },
  );
  requireTargets(server);
  server.get('/', (_request, reply) => reply.redirect('/staff', 303));
  server.setNotFoundHandler((request, reply) =>
    isOfStaffApi(request)
      ? answerNoEndpoint(request, reply)
      : reply.code(404).type('text/plain').send('There is nothing here.\n'),
  );
  server.setErrorHandler((error: { statusCode?: number }, request, reply) => {
    const { statusCode: status = 500 } = error;
    if (status >= 500) request.log.error({ err: error }, 'a request to the staff listener failed');
    return reply.code(status).type('text/plain').send('This request cannot be answered.\n');
  });
  return server;
}

/** Of its own, so that exports leave pages and the API their connections. One more than exports: it cancels what nobody waits for. */
const openExportPool = ({ addresses, logger, serviceParts }: Connections) =>
  openPool(addresses.databaseUrl, {
    logger,
    serviceParts,
    name: 'Postgres for exports',
    max: maxExports + 1,
    queryTimeoutMs: exportLimitMs,
  });

function staffDependencies(
  connections: Connections & Pick<StaffDependencies, 'exportPool' | 'provider'>,
  shared: Shared,
  address: () => string,
): StaffDependencies {
  const { config, pool, store, nats, macs, serviceParts, now, realNowMs, storeOnStandby } = connections;
  const links = createStaffLinks(pool, { macs, randomBits });
  const staff = { store, now, newUuid, newId, randomBits, staffCache: newStaffCache() };
  const signIns = new AddressWindows(maxSignInsOfClient, realNowMs);
  const asked = new AskedAddresses(realNowMs);
  return {
    ...connections,
    ...staff,
    links,
    newUuid,
    randomBits,
    get origins() {
      return originsOf(address());
    },
    sessions: createStaffSessions(pool, { macs, storeOnStandby, randomBits }),
    mailLink: signInMails({
      createLink: async ({ email, browser }) => {
        const staffId = await findInvited(email, { pool, macs, ...staff });
        return staffId === undefined ? undefined : await links.create({ staffId, browser });
      },
      mailer: createMailer(config),
      address: () => `${originsOf(address()).own}/staff/sign-in`,
      to: 'the staff console of Reeltally',
      part: serviceParts.of('mailing sign-in links of staff'),
      newUuid,
      now,
    }),
    mailInvitation: createStaffInvitations(config, now),
    pollAnswer: pollAnswers(connections, shared),
    writers: shared.writers,
    streams: new LiveStreams(),
    waitForChange: (known, options) => shared.waitingPolls.wait(known, options),
    progress: shared.progress,
    readiness: shared.readiness,
    queueAnswers: async () => (await askNats(nats, queueAnswerMs)) === 'ok',
    issuer: config.INVOICE_ISSUER,
    closingGraceSeconds: config.CLOSING_GRACE_SECONDS,
    countAddress: (email) => asked.count(email),
    countSignIn: (client) => signIns.count(client).exhausted,
    planNames: config.planNames,
    exports: new RunningExports({ running: maxExports }),
    approvalCents: config.STAFF_APPROVAL_CENTS,
    version: config.version,
    isDemo: connections.samplePlatformOrigin !== undefined,
  };
}

/** Its library is loaded only where a provider is set. */
async function providerOf({ OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId = '', ...config }: Config) {
  if (issuer === undefined) return undefined;
  const { OIDC_CLIENT_SECRET: clientSecret, OIDC_SCOPE: scope, OIDC_ROLE_CLAIM: roleClaim } = config;
  const { createIdentityProvider } = await import('../../adapters/openid.ts');
  return createIdentityProvider({ issuer, clientId, clientSecret, scope, roleClaim });
}

/** The link is for people who look at its form: whoever opens it downloads nothing. */
function pollAnswers(
  { config, now, realNowMs, rules }: Connections,
  { files, progress }: Shared,
): StaffDependencies['pollAnswer'] {
  const unsigned = {
    sizeBytes: (key: FileKey) => files.sizeBytes(key),
    link: async (...wanted: Parameters<FileStore['link']>) =>
      `${(await files.link(...wanted)).split('?', 1)[0] ?? ''}?…`,
  };
  const { FILE_RETENTION_SECONDS: fileRetentionSeconds } = config;
  return (job) => pollAnswerOf(job, { files: unsigned, rules, fileRetentionSeconds, now, realNowMs, progress });
}

/** A row of Postgres alone makes an address nobody's: the log must say that it is that person's. */
async function findInvited(
  email: string,
  dependencies: Pick<StaffDependencies, 'pool' | 'macs' | 'store' | 'staffCache'>,
): Promise<string | undefined> {
  const { pool, macs } = dependencies;
  for (const { staff_id: staffId } of await listStaffOfAddress(pool, { email, macs, limit: 10 })) {
    const { member, removed } = await readStaff(dependencies, staffId);
    if (!member?.invited || removed || member.email === null) continue;
    if (mailbox(member.email) === mailbox(email)) return staffId;
  }
  return undefined;
}
