import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiBase, jsonEndpoints } from '../../../src/console/staff/json-endpoints.ts';
import { pageRoutes } from '../../../src/console/staff/page-routes.ts';
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.ts';
import { Browser, type Page, send } from '../browser.ts';
import { chargedAccount, closeAndInvoice, failDownloads } from './charged-accounts.ts';
import { addPeriods } from './made-up-periods.ts';
import { staffOfFile } from './staff-of-file.ts';

/** How often a page or an endpoint of staff waits for Postgres, beside what its session or token costs. */

const service = await staffOfFile();
let proxy: PostgresProxy;
let staffUrl: string;
let admin: Browser;
let bearer: string;

/** What pages are about. */
const about = {
  /** One with a person and a key, one with open books, and one with an invoice. */
  opened: '',
  account: '',
  invoiced: '',
  token: '',
  creditedToken: '',
  correction: '',
  person: '',
  event: '',
};
const day = '2026-11-01';
const owner = 'person@example.com';
const largestFirst = 'month=2020-03&sort=charged&order=desc';

beforeAll(async () => {
  proxy = await startPostgresProxy(service.installation.environment.DATABASE_URL);
  const behind = { DATABASE_URL: proxy.url, STAFF_PORT: '0' };
  staffUrl = (await service.installation.startRole('api', behind)).staffUrl ?? '';
  const person = await service.invite('admin');
  const signedIn = await service.newStaffSession(person);
  // Its pages come from the process behind the proxy.
  admin = new Browser(staffUrl);
  for (const [name, value] of signedIn.cookies) admin.cookies.set(name, value);
  admin.formToken = signedIn.formToken;
  bearer = (await service.issueToken(person.staffId, ['accounts', 'jobs', 'money', 'operation'])).token;
  about.person = person.staffId;
  about.opened = await service.openAccount(owner);
  await service.installation.cli(['keys', 'issue', about.opened]);
  await makeThings();
  await addPeriods((...given) => service.sql(...given), '2020-03', 450);
});

afterAll(() => proxy[Symbol.asyncDispose]());

const asking = (amount: string, reference: string) => ({
  correction_id: randomUUID(),
  amount,
  reason: 'a test',
  reference,
});

async function made(path: string, fields: Record<string, string>): Promise<string> {
  const answer = await admin.post(path, fields);
  expect([path, answer.status]).toEqual([path, 303]);
  return answer.headers['location'] ?? '';
}

/** An account with open books, failures and waivers; another one with an invoice that has waivers, and with a credit note. */
async function makeThings(): Promise<void> {
  const open = await chargedAccount(service, 5);
  await failDownloads(service, open, { which: open.tokens.slice(0, 2) });
  const [token = ''] = open.tokens;
  await made(`/staff/downloads/${token}/correct`, asking('0.10', 'CASE-1'));
  const invoiced = await chargedAccount(service, 4, { fee_cents: 100 });
  await made(`/staff/downloads/${invoiced.tokens[0]}/correct`, asking('0.10', 'CASE-2'));
  await closeAndInvoice(service, invoiced);
  const credit = await made(`/staff/downloads/${invoiced.tokens[1]}/correct`, asking('0.10', 'CASE-3'));
  const [row] = await service.sql<{ event_id: string }>(
    'select event_id from overage_ledger where account_id = $1 and cents > 0 limit 1',
    [open.accountId],
  );
  Object.assign(about, {
    account: open.accountId,
    invoiced: invoiced.accountId,
    token,
    creditedToken: invoiced.tokens[1] ?? '',
    correction: credit.split('/').at(-1) ?? '',
    event: row?.event_id ?? '',
  });
}

/** Those whose statements grow with what they send. */
const unbounded: Readonly<Record<string, string>> = {
  'GET /accounts/:account/downloads.csv': 'read page by page',
  'GET /overage.csv': 'read page by page',
  'GET /overage.json': 'read page by page',
  'GET /overage/:account/:day.csv': 'read page by page',
  'GET /overage/:account/:day.json': 'read page by page',
  'GET /overage/:account/:day/events.csv': 'read from the log',
  'GET /overage/:account/:day/events.json': 'read from the log',
  'GET /corrections.csv': 'read page by page',
  'GET /corrections.json': 'read page by page',
  'GET /months/:month.csv': 'read page by page',
  'GET /sales-book.csv': 'read page by page',
  'GET /sales-book.json': 'read page by page',
  'GET /months/:month.json': 'read page by page',
  'GET /downloads/:token/live': 'reads again at each change',
};

const account = () => `/accounts/${about.opened}`;
const invoice = () => `/accounts/${about.invoiced}/invoices/1`;

/** Addresses below `/staff` of each page: with what costs most. */
const pages: Readonly<Record<string, () => string[]>> = {
  'GET ': () => [''],
  'GET /search': () => ['/search'],
  'GET /accounts/:account': () => [account()],
  'GET /accounts/:account/history': () => [`${account()}/history`],
  'GET /accounts/:account/downloads': () => [
    ...[`${account()}/downloads`, `/accounts/${about.account}/downloads?at=2026-11-14T12:00&status=failed`],
  ],
  'GET /downloads/:token': () => [`/downloads/${about.token}`, `/downloads/${about.creditedToken}`],
  'GET /overage': () => [
    ...['/overage', `/overage?${largestFirst}`, '/overage?month=all&difference=yes&sort=difference&order=asc'],
    ...[
      `/overage?account=${about.account}`,
      '/overage?month=2020-03&after=5000~acc_0000000000000200~2020-03-01T00:00:00.000Z',
    ],
  ],
  'GET /corrections': () => ['/corrections', '/corrections?list=asked', `/corrections?account=${about.account}`],
  'GET /corrections/outage': () => [
    '/corrections/outage',
    '/corrections/outage?platform=youtube&failure=&from=2026-11-01T00:00&to=2026-11-14T13:00',
  ],
  'GET /corrections/:id': () => [`/corrections/${about.correction}`],
  'GET /downloads/:token/correct': () => [
    ...[`/downloads/${about.token}/correct`, `/downloads/${about.creditedToken}/correct`],
  ],
  'GET /accounts/:account/invoices/:number': () => [invoice()],
  'GET /accounts/:account/credit-notes/:number': () => [`/accounts/${about.invoiced}/credit-notes/1`],
  'GET /accounts/:account/invoices/:number/lines/:line/credit': () => [`${invoice()}/lines/1/credit`],
  'GET /sales-book': () => ['/sales-book', '/sales-book?period=2026-11&state=open', '/sales-book?issued=2026-12'],
  'GET /overage/:account/:day/give-back': () => [
    `/overage/${about.account}/${day}/give-back?${[1, 3, 5, 7, 9].map((revision) => `charge=${String(revision)}`).join('&')}`,
  ],
  'GET /overage/:account/:day': () => [
    `/overage/${about.account}/${day}?job=failed&on=2026-11-14&search=https%3A%2F%2Fyoutu.be%2FdQw4w9WgXcQ`,
    ...[`/overage/${about.account}/${day}`, `/overage/${about.account}/${day}?only=corrections`],
    // Behind the last charge: nothing on the page knows the total before it.
    `/overage/${about.account}/${day}?after=9000000000000000000`,
  ],
  'GET /months': () => ['/months'],
  'GET /months.csv': () => ['/months.csv'],
  'GET /months.json': () => ['/months.json'],
  'GET /months/:month': () => [
    '/months/2020-03',
    '/months/2020-03?not_invoiced=yes',
    '/months/2020-03?after=acc_0000000000000200',
  ],
  'GET /events/:id': () => [`/events/${about.event}`, `/events/0@account-${about.opened}`],
  'GET /operation': () => ['/operation'],
  'GET /operation/work': () => ['/operation/work'],
  'GET /operation/notices': () => ['/operation/notices'],
  'GET /people': () => ['/people', `/people?after=${about.person}`],
  'GET /people/looks': () => ['/people/looks', `/people/looks?person=${about.person}&account=${about.account}`],
  'GET /people/:person': () => [`/people/${about.person}`],
};

const programs: Readonly<Record<string, () => string[]>> = {
  'GET /accounts/{account}': () => [account()],
  'GET /downloads/{token}': () => [`/downloads/${about.token}`, `/downloads/${about.creditedToken}`],
  'GET /events/{id}': () => [`/events/${about.event}`],
  'GET /overage': () => ['/overage', `/overage?${largestFirst}`],
  'GET /corrections': () => ['/corrections', '/corrections?list=asked'],
  'GET /corrections/{id}': () => [`/corrections/${about.correction}`],
  'GET /overage/{account}/{day}': () => [`/overage/${about.account}/${day}`],
  'GET /months/{month}': () => ['/months/2020-03'],
  'GET /sales-book': () => ['/sales-book', '/sales-book?period=2026-11'],
  'GET /operation': () => ['/operation'],
};

/** What a search stands for. */
const texts = (): string[] => [
  ...[about.token, about.account, about.event, about.correction, 'CASE-1', owner, 'rtk_abcd', 'nothing at all'],
  'https://www.youtube.com/watch?v=aqz-KE-bpKQ',
];

const asProgram = (method: string, path: string, body?: object): Promise<Page> =>
  send(staffUrl, {
    method,
    path: apiBase + path,
    ...(body && { body: JSON.stringify(body) }),
    headers: {
      authorization: `Bearer ${bearer}`,
      host: new URL(staffUrl).host,
      ...(body && { 'content-type': 'application/json' }),
    },
  });

async function statementsOf(ask: () => Promise<Page>): Promise<{ status: number; statements: number }> {
  const before = proxy.statements();
  const { status } = await ask();
  return { status, statements: proxy.statements() - before };
}

/** What the session or the token alone costs: of a request that asks for nothing else. */
async function ownStatements(ask: () => Promise<Page>): Promise<number> {
  const { statements } = await statementsOf(ask);
  expect(statements).toBeLessThanOrEqual(2);
  return statements;
}

/** With the one that brings the names of accounts. */
const most = 4;
/** They show the parts of `/readyz`, for which Postgres is asked at most once a second, whoever looks: by three statements. */
const withParts = ['', '/operation', '/operation/work'];

async function expectFew(name: string, ask: () => Promise<Page>, own: number): Promise<void> {
  const { status, statements } = await statementsOf(ask);
  const few = withParts.includes(name) ? most + 3 : most;
  expect([name, status < 400, statements - own]).toEqual([name, true, Math.min(few, statements - own)]);
}

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path.replace('/staff', '')}`;
const shownPages = pageRoutes.filter(({ access, method }) => access !== 'everybody' && method === 'GET').map(nameOf);

it('every page and endpoint is counted, or is named with the reason', () => {
  expect([...Object.keys(pages), ...Object.keys(unbounded)].sort()).toEqual(shownPages.sort());
  const asked = jsonEndpoints.map(nameOf).filter((name) => name !== 'POST /search');
  expect(Object.keys(programs).sort()).toEqual(asked.sort());
});

describe('at most three statements, and one that brings names', () => {
  it.each(Object.keys(pages))('%s', async (name) => {
    const own = await ownStatements(() => admin.get('/staff/search'));
    for (const path of pages[name]?.() ?? []) await expectFew(path, () => admin.get(`/staff${path}`), own);
  });

  it.each(Object.keys(programs))('%s for programs', async (name) => {
    const own = await ownStatements(() => asProgram('GET', '/overage?month=never'));
    for (const path of programs[name]?.() ?? []) await expectFew(path, () => asProgram('GET', path), own);
  });

  it('a search, whatever for', async () => {
    const [ofSession, ofToken] = [
      await ownStatements(() => admin.get('/staff/search')),
      await ownStatements(() => asProgram('GET', '/overage?month=never')),
    ];
    for (const search of texts()) {
      await expectFew(search, () => admin.post('/staff/search', { search }), ofSession);
      await expectFew(search, () => asProgram('POST', '/search', { search }), ofToken);
    }
  });
});
