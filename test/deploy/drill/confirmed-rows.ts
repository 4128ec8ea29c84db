/**
 * Loses the primary of Postgres for good right after it was said that downloads are not charged and that a session has ended, and
 * promotes the standby: both must be so. The event store is without two of its nodes meanwhile, so that no append has an outcome.
 * By hand, on a running cluster:
 *
 *     node test/deploy/drill/confirmed-rows.ts --url https://localhost:8443
 *
 * DRILL_COMPOSE: the command for `docker compose` with its files, as for kill-each.ts.
 */

import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createApiClient } from '../../../src/client/client.ts';
import { sendWithRetries } from '../../../src/client/with-retries.ts';
import { linksOf } from '../../support/mailed-links.ts';
import { waitFor } from '../../support/wait-for.ts';
import { isLeader } from './leaders.ts';
import { postgresServices, promote, psql } from './promotion.ts';
import { chargedDownloads, compose, containersOf, docker, openAccount, reeltally, trustProxy } from './run-compose.ts';

const { values: flags } = parseArgs({ options: { url: { type: 'string', default: 'https://localhost' } } });
const { url } = flags;
const wait = { pollMs: 1_000 };

interface Asked {
  account: string;
  key: string;
  /** The status of each answer; undefined where the connection was closed. */
  statuses: (number | undefined)[];
}

/** Without an `Idempotency-Key`, and once. */
async function download({ key, statuses }: Asked): Promise<void> {
  const body = { url: 'http://127.0.0.1:8095/watch/private', quality: '360' as const };
  const answered = createApiClient(url, key).POST('/video/download', { body });
  statuses.push(await answered.then(({ response }) => response.status).catch(() => undefined));
}

interface Session {
  isOpen: () => Promise<boolean>;
  /** @returns the status of the answer */
  signOut: () => Promise<number>;
}

async function signIn(email: string): Promise<Session> {
  const cookieOf = (answer: Response) =>
    answer.headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; ');
  const post = (path: string, cookie: string, fields: Record<string, string>) =>
    fetch(`${url}/console/${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: url, cookie },
      body: new URLSearchParams(fields),
    });
  const asked = await post('sign-in', '', { email });
  const find = `cat $(grep --files-with-matches 'To: ${email}' /data/mails/*.eml)`;
  const mailedLink = async () => linksOf(await compose('exec', '-T', 'dispatcher', 'sh', '-c', find)).at(-1);
  const link = await waitFor(() => mailedLink().catch(() => undefined), { ...wait, what: 'the mail with a link' });
  const cookie = cookieOf(await fetch(link, { headers: { cookie: cookieOf(asked) }, redirect: 'manual' }));
  const open = () => fetch(`${url}/console/keys`, { headers: { cookie }, redirect: 'manual' });
  const [, token = ''] = /name="form_token" value="([^"]+)"/.exec(await (await open()).text()) ?? [];
  return {
    isOpen: async () => (await open()).status === 200,
    signOut: async () => (await post('sign-out', cookie, { form_token: token })).status,
  };
}

async function followersOfEventStore(): Promise<string[]> {
  const followers: string[] = [];
  for (const name of ['event-store', 'event-store-2', 'event-store-3'])
    for (const id of await containersOf(name)) if (!(await isLeader(name, id))) followers.push(id);
  return followers;
}

await trustProxy();
const run = randomUUID().slice(0, 8);
const people = Array.from({ length: 4 }, (_, index) => `person-${index}-${run}@example.com`);
const accounts: Asked[] = [];
for (const email of people) accounts.push({ ...(await openAccount(email)), statuses: [] });
await Promise.all(accounts.map((each) => download(each)));
// One address each: a link ends the use of an older one.
const [ended, kept] = [await signIn(people[0]!), await signIn(people[1]!)];

const services = await postgresServices();
const [primary = ''] = await containersOf(services.primary);
const followers = await followersOfEventStore();
await docker('pause', ...followers);
const asking: Promise<void>[] = [];
for (let count = 0; count < 5; count += 1) {
  asking.push(...accounts.map((each) => download(each)));
  await delay(400);
}
await Promise.all(asking);
const answeredAt = performance.now();
const signedOut = await ended.signOut();
await docker('kill', '--signal', 'KILL', primary);
const lostAt = performance.now();
await compose('rm', '--stop', '--force', services.primary);
const rows = await psql(services.standby, 'select count(*) from pending_voids');
await docker('unpause', ...followers);
await promote(services);
await sendWithRetries(() => createApiClient(url, accounts[0]!.key).GET('/credits'), {
  attempts: 60,
  longestPauseSeconds: 60,
});
const seconds = Number(((performance.now() - lostAt) / 1_000).toFixed(1));
const sessions = { ended: await ended.isOpen(), kept: await kept.isOpen() };
const noneWaits = async () => (await psql(services.standby, 'select count(*) from pending_voids')) === '0';
await waitFor(noneWaits, { ...wait, what: 'the pending voids to be resolved' });

const all = accounts.flatMap(({ statuses }) => statuses);
const count = (status: number | undefined) => all.filter((each) => each === status).length;
const charged: number[] = [];
for (const { account } of accounts) charged.push(await chargedDownloads(account));
const verified = await reeltally<{ verdict: string }>('ledger', 'verify');
const result = {
  accepted: count(202),
  toldNotCharged: count(502),
  unanswered: count(undefined),
  charged,
  pendingVoids: Number(rows),
  millisecondsBeforeTheLoss: Math.round(lostAt - answeredAt),
  seconds,
  signedOut,
  sessions,
  verified,
};
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
/** No more than was accepted, and what was accepted; an outcome that nobody was told may be either. */
const isKept = accounts.every(({ statuses }, index) => {
  const accepted = statuses.filter((each) => each === 202).length;
  const unknown = statuses.filter((each) => each === undefined).length;
  return charged[index]! >= accepted && charged[index]! <= accepted + unknown;
});
const isProof = count(502) > 0 && result.pendingVoids > 0 && signedOut === 303;
process.exitCode = isKept && isProof && !sessions.ended && sessions.kept && verified.verdict === 'verified' ? 0 : 1;
