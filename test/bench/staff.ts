import { hash, randomUUID } from 'node:crypto';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { createRowMacs } from '../../src/adapters/postgres/row-macs.ts';
import { inviteStaff, newStaffCache } from '../../src/commands/staff.ts';
import { routes } from '../../src/console/staff/routes.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newId, randomBits } from '../../src/system/clock-and-chance.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Bench } from './engines.ts';
import { progress } from './figures.ts';
import type { Figure, Results } from './figures.ts';
import { residentMebibytes } from './memory.ts';
import { addMonths, fillStaffModels } from './staff-population.ts';

const visits = 100;
/** A session's own, and its person's. */
const sessionStatements = 2;
const exportedRows = 1_000_000;

/** What pages are about: each visit has others. */
interface About {
  account: string;
  token: string;
  event: string;
  request: string;
  reference: string;
  /** First day of a billing period, and its month. */
  day: string;
  month: string;
}

/** The addresses below `/staff`, each with the route that it is of: those that have no route are left out. */
const pages: readonly { route: string; path?: (about: About) => string }[] = [
  { route: '' },
  { route: '/overage' },
  { route: '/overage', path: ({ month }) => `/overage?month=${month}&sort=difference&order=desc` },
  { route: '/overage', path: ({ month }) => `/overage?month=${month}&difference=yes&sort=account&order=asc` },
  { route: '/overage', path: () => '/overage?month=all&sort=charged&order=desc' },
  { route: '/overage', path: () => '/overage?month=all&difference=yes&overage=yes&sort=difference&order=asc' },
  { route: '/overage', path: ({ account }) => `/overage?account=${account}` },
  { route: '/overage/:account/:day', path: ({ account, day }) => `/overage/${account}/${day}` },
  {
    route: '/overage/:account/:day',
    path: ({ account, day }) => `/overage/${account}/${day}?only=corrections`,
  },
  { route: '/months' },
  { route: '/months/:month', path: ({ month }) => `/months/${month}` },
  { route: '/accounts/:account', path: ({ account }) => `/accounts/${account}` },
  { route: '/accounts/:account/downloads', path: ({ account }) => `/accounts/${account}/downloads` },
  { route: '/downloads/:token', path: ({ token }) => `/downloads/${token}` },
  { route: '/events/:id', path: ({ event }) => `/events/${event}` },
  { route: '/corrections' },
  { route: '/operation' },
  { route: '/people' },
];

/** What is typed into the one box. */
const searches: readonly { kind: string; text: (about: About) => string }[] = [
  { kind: 'token', text: ({ token }) => token },
  { kind: 'account', text: ({ account }) => account },
  { kind: 'event', text: ({ event }) => event },
  { kind: 'request', text: ({ request }) => request },
  { kind: 'reference', text: ({ reference }) => reference },
  { kind: 'e-mail address', text: () => 'owner@example.com' },
  { kind: 'video', text: () => 'aqz-KE-bpKQ' },
  { kind: 'address', text: () => 'https://www.youtube.com/watch?v=aqz-KE-bpKQ' },
  { kind: 'document', text: () => 'RT-2026-000001' },
  { kind: 'key', text: () => 'vd_live_abcdefgh' },
  { kind: 'nothing', text: () => 'no such thing' },
];

const isThere = (method: string, route: string) =>
  routes.some((each) => each.method === method && each.path === `/staff${route}`);

/** How long each page of the staff console takes, how often it asks Postgres, and what a large export costs. */
export async function benchStaff(bench: Bench, pool: Pool, store: EventStore): Promise<Results> {
  progress('filling the read models of staff');
  await fillStaffModels(pool);
  await using proxy = await startPostgresProxy(bench.addresses.DATABASE_URL);
  const api = await bench.startRole('api', { STAFF_PORT: '0', DATABASE_URL: proxy.url });
  const guest = { url: api.staffUrl ?? '', ...(await signIn(bench, pool, store)) };
  const abouts = await pickAbouts(pool);
  const figures: Figure[] = [];
  for (const { route, path = () => route } of pages.filter((page) => isThere('GET', page.route))) {
    const name = path(placeholders);
    progress(`visiting ${name}`);
    const visit = (about: About) =>
      fetch(`${guest.url}/staff${path(about)}`, { headers: { cookie: guest.cookie }, redirect: 'manual' });
    figures.push(...(await timesOf(name, { visit, abouts, roundTrips: proxy.roundTrips })));
  }
  for (const { kind, text } of isThere('POST', '/search') ? searches : []) {
    progress(`searching by ${kind}`);
    const visit = (about: About) => search(guest, text(about));
    figures.push(...(await timesOf(`search by ${kind}`, { visit, abouts, roundTrips: proxy.roundTrips })));
  }
  const { rows } = await pool.query<{ count: number }>('select count(distinct account_id)::int as count from credits');
  progress(`making ${exportedRows} rows to export`);
  await addMonths(pool, { from: 25, to: Math.ceil(exportedRows / (rows[0]?.count ?? 1)) });
  for (const form of ['csv', 'json']) figures.push(...(await exportOf(form, guest, api.pid)));
  return { ratios: [], figures };
}

const placeholders: About = {
  ...{ account: ':account', token: ':token', event: ':event', request: ':request', reference: ':reference' },
  ...{ day: ':day', month: ':month' },
};

interface Guest {
  url: string;
  cookie: string;
  formToken: string;
}

/** A member of staff who is invited, with a session in the place of a link. */
async function signIn(bench: Bench, pool: Pool, store: EventStore): Promise<{ cookie: string; formToken: string }> {
  const macs = createRowMacs({ current: deriveKeys(bench.secret), others: [] }, { logger: pino({ level: 'silent' }) });
  const invited = await inviteStaff(
    {
      ...{ store, newId, newUuid: randomUUID, randomBits, staffCache: newStaffCache() },
      now: () => new Date().toISOString(),
    },
    {
      ...{ email: 'bench@example.com', role: 'admin', timeoutMs: 10_000 },
      by: { operator: { type: 'staff', id: 'bench', role: 'operator', reason: 'bench' } },
    },
  );
  if (isRefused(invited)) throw new Error('nobody could be invited');
  const { staffId } = invited;
  const isKnown = async () => (await pool.query('select from staff where staff_id = $1', [staffId])).rowCount === 1;
  await waitFor(isKnown, { what: 'the member of staff', timeoutMs: 60_000 });
  const secret = randomBits(24).toString('base64url');
  const secretHash = hash('sha256', secret, 'buffer');
  const startedAt = new Date();
  const text = JSON.stringify([secretHash.toString('hex'), 'ses_bench', staffId, 'admin', startedAt.toISOString()]);
  await pool.query(
    `insert into staff_sessions (secret_hash, session_id, staff_id, role, browser, started_at, seen_at, mac)
     values ($1, 'ses_bench', $2, 'admin', 'bench', $3, clock_timestamp(), $4)`,
    [secretHash, staffId, startedAt, macs.sign('staff_sessions', text)],
  );
  return { cookie: `reeltally_staff=${secret}`, formToken: hash('sha256', `form ${secret}`, 'base64url') };
}

async function pickAbouts(pool: Pool): Promise<About[]> {
  const { rows } = await pool.query<About>(
    `select account_id as account, token, event_id as event, request_id as request, 'case-' || token as reference,
            to_char(period_start at time zone 'utc', 'YYYY-MM-DD') as day, to_char(period_start at time zone 'utc', 'YYYY-MM') as month
     from overage_ledger tablesample bernoulli (1) where type = 'OverageCharged' limit $1`,
    [visits],
  );
  return rows;
}

function search({ url, cookie, formToken }: Guest, text: string): Promise<Response> {
  const body = new URLSearchParams({ form_token: formToken, search: text });
  return fetch(`${url}/staff/search`, { method: 'POST', headers: { cookie, origin: url }, body, redirect: 'manual' });
}

/** The first visits warm everything up, and do not count. */
const warmUps = 5;

async function timesOf(
  name: string,
  given: { visit: (about: About) => Promise<Response>; abouts: readonly About[]; roundTrips: () => number },
): Promise<Figure[]> {
  const { visit, abouts, roundTrips } = given;
  const took: number[] = [];
  let statements = 0;
  for (const [at, about] of [...abouts.slice(0, warmUps), ...abouts].entries()) {
    const [startedMs, before] = [performance.now(), roundTrips()];
    const response = await visit(about);
    await response.text();
    if (response.status >= 400) throw new Error(`${name} answered ${response.status}`);
    if (at < warmUps) continue;
    took.push(performance.now() - startedMs);
    statements = Math.max(statements, roundTrips() - before - sessionStatements);
  }
  const p95 = took.sort((one, other) => one - other)[Math.floor(took.length * 0.95)] ?? NaN;
  return [
    { name: `${name}, p95`, unit: 'ms', values: [p95] },
    { name: `${name}, most statements`, unit: 'statements', values: [statements] },
  ];
}

async function exportOf(form: string, { url, cookie }: Guest, pid: number): Promise<Figure[]> {
  progress(`exporting as ${form}`);
  const before = residentMebibytes(pid);
  const startedMs = performance.now();
  const sent = get(`${url}/staff/overage.${form}?month=all&sort=charged`, { headers: { cookie }, agent: false });
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let [lines, most] = [0, before];
  const watch = setInterval(() => (most = Math.max(most, residentMebibytes(pid))), 100);
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) for (const byte of chunk) if (byte === 10) lines += 1;
  } finally {
    clearInterval(watch);
  }
  const name = `export of ${lines} lines as ${form}`;
  return [
    { name, unit: 's', values: [(performance.now() - startedMs) / 1_000] },
    { name: `${name}: most memory beyond that before`, unit: 'MiB', values: [most - before] },
  ];
}
