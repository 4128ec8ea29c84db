import { type ClientRequest, request } from 'node:http';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { createRowMacs } from '../../src/adapters/postgres/row-macs.ts';
import { createSignInLinks } from '../../src/adapters/postgres/sign-in-links.ts';
import { randomBits } from '../../src/system/clock-and-chance.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Bench } from './engines.ts';
import { type Figure, progress, ratio, type Results } from './figures.ts';
import { type Askers, httpCases } from './http-cases.ts';
import { measure } from './load.ts';
import { resetWindows } from './population.ts';

const visits = 100;
const livePages = 500;
/** Every generated account has the same person; one address may ask for a few links at a time. */
const email = 'owner@example.com';
const visitors = 4;

export const consolePages = [
  '/console',
  '/console/downloads',
  '/console/downloads?status=failed',
  '/console/downloads?search=no-such-video',
  '/console/keys',
  '/console/invoices',
  '/console/invoices/draft',
  '/console/settings',
  '/console/try',
];

interface Visitor {
  accountId: string;
  cookie: string;
}

/** How long each page of the console takes, and what open live pages cost ordinary polls. */
export async function benchConsole(
  bench: Bench,
  pool: Pool,
  askers: Askers,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Results> {
  const api = await bench.startRole('api');
  const guests = await signIn(bench, pool, askers);
  progress(`visiting ${consolePages.length} pages ${visits} times each`);
  const times: Figure[] = [];
  for (const path of consolePages) times.push(await timesOf(api.url, path, guests));
  const download = await timesOf(api.url, '/console/downloads/:token', guests, pool);
  const live = await benchLive({ url: api.url, pid: api.pid }, { bench, pool, askers, guests, rounds, seconds });
  return { ratios: live.ratios, figures: [...times, download, ...live.figures] };
}

/** Signs in as the person of a few accounts that have downloads, by links as the service makes them. */
async function signIn(bench: Bench, pool: Pool, { one }: Askers): Promise<Visitor[]> {
  const secrets = { current: deriveKeys(bench.secret), others: [] };
  const macs = createRowMacs(secrets, { logger: pino({ level: 'silent' }) });
  const links = createSignInLinks(pool, { macs, randomBits });
  const guests: Visitor[] = [];
  for (let guest = 0; guest < visitors; guest += 1) {
    const secret = await links.create({ emailHashes: macs.signUnderEach('people', email), browser: undefined });
    const choices = secret === undefined ? [] : ((await links.read(secret))?.choices ?? []);
    const choice = choices.filter(({ accountId }) => accountId !== one.id)[guest];
    if (secret === undefined || !choice) throw new Error('nobody could be signed in');
    const session = await links.use(secret, { ...choice, browser: 'bench', replaces: undefined });
    guests.push({ accountId: choice.accountId, cookie: `reeltally_session=${session ?? ''}` });
  }
  return guests;
}

/** @param pool given where the path names a download of the visitor's account */
async function timesOf(url: string, path: string, guests: readonly Visitor[], pool?: Pool): Promise<Figure> {
  const took: number[] = [];
  for (let visit = 0; visit < visits + visitors; visit += 1) {
    const guest = guests[visit % guests.length];
    if (!guest) throw new Error('nobody is signed in');
    const address = path.replace(':token', pool ? await newestToken(pool, guest) : '');
    const startedMs = performance.now();
    const response = await fetch(url + address, { headers: { cookie: guest.cookie }, redirect: 'manual' });
    await response.text();
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
    // The first visit of each warms everything up.
    if (visit >= visitors) took.push(performance.now() - startedMs);
  }
  const p95 = took.sort((one, other) => one - other)[Math.floor(took.length * 0.95)] ?? NaN;
  return { name: consoleTime(path), unit: 'ms', values: [p95] };
}

export const consoleTime = (path: string): string => `${path}, p95`;

async function newestToken(pool: Pool, { accountId }: Visitor): Promise<string> {
  const { rows } = await pool.query<{ token: string }>(
    'select token from jobs where account_id = $1 order by queued_at desc limit 1',
    [accountId],
  );
  return rows[0]?.token ?? '';
}

/** Ordinary polls without and beside open live pages, each of a download that waits, in turns. */
async function benchLive(
  { url, pid }: { url: string; pid: number },
  given: { bench: Bench; pool: Pool; askers: Askers; guests: readonly Visitor[]; rounds: number; seconds: number },
): Promise<Results> {
  const { bench, pool, askers, guests, rounds, seconds } = given;
  const target = { url, processes: { service: pid, Postgres: bench.processes.postgres } };
  const polls = httpCases(askers).find(({ name }) => name === 'status poll');
  if (!polls) throw new Error('there are no status polls to measure');
  const rates = { without: [] as number[], beside: [] as number[] };
  const measured = async () => {
    await resetWindows(pool);
    return (await measure(target, { ...polls, seconds })).perSecond;
  };
  // The first round warms everything up, and is not kept.
  for (let round = 0; round <= rounds; round += 1) {
    progress(`round ${round} of ${rounds}: ordinary polls, then beside ${livePages} live pages`);
    const without = await measured();
    const open = await openLive(url, guests, pool);
    const beside = await measured();
    if (open.some(({ closed }) => closed)) throw new Error('a live page was closed');
    for (const one of open) one.destroy();
    if (round === 0) continue;
    rates.without.push(without);
    rates.beside.push(beside);
  }
  return {
    ratios: [ratio(`status poll beside ${livePages} live pages: to without`, rates.beside, rates.without)],
    figures: [{ name: `status poll beside ${livePages} live pages`, unit: 'requests/s', values: rates.beside }],
  };
}

async function openLive(url: string, guests: readonly Visitor[], pool: Pool): Promise<ClientRequest[]> {
  const waiting = await Promise.all(guests.map((guest) => waitingToken(pool, guest)));
  let connected = 0;
  const open = Array.from({ length: livePages }, (_, index) => {
    const guest = guests[index % guests.length];
    const address = `${url}/console/downloads/live?token=${waiting[index % guests.length] ?? ''}`;
    const one = request(address, { headers: { cookie: guest?.cookie ?? '' } }, (response) => {
      response.once('data', () => (connected += 1));
      response.resume();
    });
    one.on('error', () => undefined).end();
    return one;
  });
  await waitFor(async () => connected === livePages, { what: 'all live pages to be open', timeoutMs: 30_000 });
  return open;
}

async function waitingToken(pool: Pool, { accountId }: Visitor): Promise<string> {
  const { rows } = await pool.query<{ token: string }>(
    "select token from jobs where account_id = $1 and status = 'queued' limit 1",
    [accountId],
  );
  return rows[0]?.token ?? '';
}
