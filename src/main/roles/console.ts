import type { FastifyInstance } from 'fastify';
import { createConsoleSessions } from '../../adapters/postgres/console-sessions.ts';
import { admitSession } from '../../adapters/postgres/hourly-limit-of-sessions.ts';
import { createLookUpsOfForms } from '../../adapters/postgres/look-ups-of-forms.ts';
import { createSignInLinks } from '../../adapters/postgres/sign-in-links.ts';
import { newAccountCache } from '../../commands/accounts.ts';
import { registerSite } from '../../console/console.ts';
import { RunningExports } from '../../console/export.ts';
import { LiveStreams } from '../../console/live/live-streams.ts';
import { originsOf } from '../../console/origins.ts';
import type { ConsoleDependencies } from '../../console/owner/dependencies.ts';
import { ownerSite } from '../../console/owner/owner-site.ts';
import { AskedAddresses } from '../../console/sign-in/asked-addresses.ts';
import { ownerCookies, readCookies } from '../../console/sign-in/cookies.ts';
import { signInMails } from '../../console/sign-in/sign-in-mails.ts';
import { mailbox } from '../../domain/people.ts';
import { AddressWindows } from '../../http/limit-of-callers-without-key.ts';
import type { WaitingPolls } from '../../http/waiting-polls.ts';
import type { OwnerSessions } from '../../ports/console-sessions.ts';
import { newUuid, randomBits } from '../../system/clock-and-chance.ts';
import type { Connections } from '../connect.ts';
import { createInvitations, createMailer } from '../mailer.ts';

/** Links that one client may ask for in an hour, whatever addresses it names. */
const maxSignInsOfClient = 30;

/** The parts that the console shares with the API of its process. */
type Shared = Pick<
  ConsoleDependencies,
  'writers' | 'accounts' | 'tokens' | 'probe' | 'shortLinks' | 'files' | 'progress' | 'readiness'
> & { waitingPolls: WaitingPolls; publicUrl: () => string };

/** Files of owners that one process makes at a time. */
const maxExports = 8;
/** Those of one account: one customer does not keep the others waiting. */
const maxExportsOfAccount = 2;

/** The owners' console, below `/console` of the API's own server. */
export function addConsole(server: FastifyInstance, connections: Connections, shared: Shared): void {
  const { config, pool, macs, serviceParts, now, realNowMs, storeOnStandby } = connections;
  const { waitingPolls, publicUrl, ...parts } = shared;
  const links = createSignInLinks(pool, { macs, randomBits });
  const emailHashes = (email: string) => macs.signUnderEach('people', mailbox(email));
  const signIns = new AddressWindows(maxSignInsOfClient, realNowMs);
  const asked = new AskedAddresses(realNowMs);
  const streams = new LiveStreams();
  server.addHook('preClose', async () => streams.stop());
  registerSite(server, ownerSite, {
    ...connections,
    ...parts,
    links,
    emailHashes,
    streams,
    waitForChange: (known, options) => waitingPolls.wait(known, options),
    newUuid,
    randomBits,
    get origins() {
      return originsOf(publicUrl());
    },
    plans: config.plans,
    planNames: config.planNames,
    selfServicePlans: config.selfServicePlans,
    sessions: createConsoleSessions(pool, { macs, storeOnStandby }),
    accountCache: newAccountCache(),
    lookUpsOfForms: createLookUpsOfForms(pool),
    admit: (accountId, hourlyLimit) => admitSession(pool, accountId, hourlyLimit),
    mailLink: signInMails({
      createLink: ({ email, browser }) => links.create({ emailHashes: emailHashes(email), browser }),
      mailer: createMailer(config),
      address: () => `${originsOf(publicUrl()).own}/console/sign-in`,
      to: 'Reeltally',
      newUuid,
      part: serviceParts.of('mailing sign-in links'),
      now,
    }),
    mailInvitation: createInvitations(config, { now, publicUrl, part: serviceParts.of('mailing invitations') }),
    countAddress: (email) => asked.count(email),
    countSignIn: (address) => signIns.count(address).exhausted,
    fileRetentionSeconds: config.FILE_RETENTION_SECONDS,
    exports: new RunningExports({ running: maxExports, runningOfAccount: maxExportsOfAccount }),
    issuer: config.INVOICE_ISSUER,
    isDemo: connections.samplePlatformOrigin !== undefined,
  });
}

/**
 * The key of a demo, for its owner alone: who is signed in to the console. Nobody else's key is known to the service.
 *
 * @returns undefined for every other reader, and while Postgres is away
 */
export function demoKeyOf(
  connections: Connections,
  publicUrl: () => string,
): (cookies: string | undefined) => Promise<string | undefined> {
  const sessions = createConsoleSessions(connections.pool, connections);
  return async (cookies) => {
    const { demo } = connections;
    const secret = readCookies(cookies).get(ownerCookies(originsOf(publicUrl()).isSecure).session);
    if (secret === undefined || demo === undefined) return undefined;
    const session = await sessions.find(secret).catch(() => undefined);
    return session?.accountId === demo.accountId ? demo.key : undefined;
  };
}

/** Sessions for the one endpoint of the API that takes them. */
export function createOwnerSessions(connections: Connections, publicUrl: () => string): OwnerSessions {
  const { pool } = connections;
  const sessions = createConsoleSessions(pool, connections);
  return {
    find: async ({ cookie, origin, formToken }) => {
      const origins = originsOf(publicUrl());
      const secret = readCookies(cookie).get(ownerCookies(origins.isSecure).session);
      if (secret === undefined || !origins.mayHoldSessions || !origins.isOrigin(origin)) return undefined;
      const session = await sessions.find(secret);
      return session?.formToken === formToken ? session : undefined;
    },
    admit: (accountId, hourlyLimit) => admitSession(pool, accountId, hourlyLimit),
  };
}
