import type { Pool } from 'pg';
import { apiBase, jsonEndpoints } from '../../src/console/staff/json-endpoints.ts';
import { pageRoutes } from '../../src/console/staff/page-routes.ts';
import { documentNumber } from '../../src/domain/document-number.ts';

/** What the bench asks the staff console for: every page, every endpoint, and every kind of search. */

/** What a page is about: each visit has others. */
export interface About {
  account: string;
  token: string;
  event: string;
  request: string;
  reference: string;
  idempotencyKey: string;
  key: string;
  keyPrefix: string;
  /** A correction, and a member of staff. */
  correction: string;
  person: string;
  /** First day of a billing period, and its month. */
  day: string;
  month: string;
}

export interface Things {
  /** Rows of the read models, and an account in the log. */
  madeUp: About[];
  /** Accounts whose every event is in the log. */
  real: About[];
  /** The billing period with the most charges. */
  largest: About[];
}

export interface Visit {
  name: string;
  /** Default: `madeUp`. */
  about?: keyof Things;
  ask: (about: About) => { path: string; body?: Record<string, string> };
  /** What it is answered. Default: 200. */
  statuses?: readonly number[];
}

type Asked = [name: string, path: (about: About) => string, about?: keyof Things];

const account = ({ account: id }: About) => `/accounts/${id}`;
const period = ({ account: id, day }: About) => `/overage/${id}/${day}`;
const invoice = (about: About) => `${account(about)}/invoices/1`;

/** Below `/staff`, by the routes that these are addresses of. The name is shown for the address. */
const pages: Readonly<Record<string, readonly Asked[]>> = {
  '': [['start', () => '']],
  '/search': [],
  '/accounts/:account': [['account', account]],
  '/accounts/:account/history': [['history of an account', (about) => `${account(about)}/history`]],
  '/accounts/:account/downloads': [
    ['downloads of an account', (about) => `${account(about)}/downloads`],
    ['downloads of an account that failed', (about) => `${account(about)}/downloads?status=failed`],
  ],
  '/downloads/:token': [
    ['download', ({ token }) => `/downloads/${token}`],
    ['download, worked on', ({ token }) => `/downloads/${token}`, 'real'],
  ],
  '/downloads/:token/correct': [['give back', ({ token }) => `/downloads/${token}/correct`, 'real']],
  '/overage': [
    ['overage of the newest month', () => '/overage'],
    ['overage of a month, the largest difference first', ({ month }) => `/overage?month=${month}&sort=difference`],
    [
      'overage of a month, with a difference, by account',
      ({ month }) => `/overage?month=${month}&difference=yes&sort=account&order=asc`,
    ],
    ['overage of a month, open periods (none)', ({ month }) => `/overage?month=${month}&phase=open`],
    ['overage of all months, the largest first', () => '/overage?month=all&sort=charged'],
    [
      'overage of all months, the smallest differences',
      () => '/overage?month=all&difference=yes&overage=yes&sort=difference&order=asc',
    ],
    ['overage of all months, open periods (none)', () => '/overage?month=all&phase=open'],
    ['overage of an account', ({ account: id }) => `/overage?account=${id}`],
  ],
  '/overage/:account/:day': [
    ['charges', period],
    ['charges, the most', period, 'largest'],
    ['corrections of a period', (about) => `${period(about)}?only=corrections`, 'largest'],
  ],
  '/overage/:account/:day/give-back': [
    // The first two downloads have credits.
    ['give back ticked charges', (about) => `${period(about)}/give-back?charge=5`, 'real'],
  ],
  '/months': [['months', () => '/months']],
  '/months/:month': [['month', ({ month }) => `/months/${month}`]],
  '/sales-book': [
    ['sales book of this month', () => '/sales-book'],
    ['sales book of a month', ({ month }) => `/sales-book?issued=${month}`],
    ['sales book of the periods of a month', ({ month }) => `/sales-book?period=${month}`],
  ],
  '/events/:id': [
    ['event', ({ event }) => `/events/${event}`, 'real'],
    ['event by its place', ({ account: id }) => `/events/0@account-${id}`],
  ],
  '/corrections': [
    ['corrections', () => '/corrections'],
    ['corrections that were asked for', () => '/corrections?list=asked'],
    ['corrections of an account', ({ account: id }) => `/corrections?account=${id}`],
  ],
  '/corrections/outage': [
    [
      'outage',
      ({ month }) => `/corrections/outage?platform=youtube&failure=&from=${month}-04T00:00&to=${month}-04T01:00`,
    ],
  ],
  '/corrections/:id': [['correction', ({ correction }) => `/corrections/${correction}`]],
  '/accounts/:account/invoices/:number': [['invoice', invoice, 'real']],
  '/accounts/:account/credit-notes/:number': [['credit note', (about) => `${account(about)}/credit-notes/1`, 'real']],
  '/accounts/:account/invoices/:number/lines/:line/credit': [
    ['credit a line', (about) => `${invoice(about)}/lines/1/credit`, 'real'],
  ],
  '/operation': [['books', () => '/operation']],
  '/operation/work': [['queue and workers', () => '/operation/work']],
  '/operation/notices': [['warnings and mails', () => '/operation/notices']],
  '/people': [['people', () => '/people']],
  '/people/looks': [
    ['looks', () => '/people/looks'],
    ['looks at an account', ({ account: id }) => `/people/looks?account=${id}`],
  ],
  '/people/:person': [['member of staff', ({ person }) => `/people/${person}`]],
};

/** Files are measured by themselves, and a page that follows a download never ends. */
const isMeasuredElsewhere = (path: string) => /\.(?:csv|json)$|\/live$/.test(path);

/** By the paths of the endpoints. */
const programs: Readonly<Record<string, readonly Asked[]>> = {
  '/search': [],
  '/accounts/{account}': [['account', account]],
  '/downloads/{token}': [['download', ({ token }) => `/downloads/${token}`]],
  '/events/{id}': [['event', ({ event }) => `/events/${event}`, 'real']],
  '/overage': [['overage of a month', ({ month }) => `/overage?month=${month}`]],
  '/corrections': [['corrections', () => '/corrections']],
  '/corrections/{id}': [['correction', ({ correction }) => `/corrections/${correction}`]],
  '/overage/{account}/{day}': [['charges, the most', period, 'largest']],
  '/months/{month}': [['month', ({ month }) => `/months/${month}`]],
  '/sales-book': [['sales book of this month', () => '/sales-book']],
  '/operation': [['operation', () => '/operation']],
};

/** What is typed into the one box, by what it is. */
const searches: readonly (readonly [kind: string, text: (about: About) => string])[] = [
  ['token', ({ token }) => token],
  ['account', ({ account: id }) => id],
  ['key id', ({ key }) => key],
  ['beginning of a key', ({ keyPrefix }) => `${keyPrefix}AbCdEfGh`],
  ['e-mail address of 10 000 accounts', () => 'owner@example.com'],
  ['e-mail address of nobody', () => 'nobody@example.com'],
  ['id of a video', () => 'aqz-KE-bpKQ'],
  ['address of a video', () => 'https://www.youtube.com/watch?v=aqz-KE-bpKQ'],
  ['document number', ({ account: account_id }) => documentNumber('invoice', { account_id, number: 1 })],
  ['request', ({ request }) => request],
  ['event', ({ event }) => event],
  ['idempotency key', ({ idempotencyKey }) => idempotencyKey],
  ['reference', ({ reference }) => reference],
  ['correction', ({ correction }) => correction],
  ['nothing that is there', () => 'no-such-thing'],
];

/** @throws for a page that nobody visits here, and for one that is there no more */
export function pageVisits(): Visit[] {
  const shown = pageRoutes.filter(({ method, access }) => method === 'GET' && access !== 'everybody');
  const paths = shown.map(({ path }) => path.replace('/staff', '')).filter((path) => !isMeasuredElsewhere(path));
  return visitsOf(pages, paths, '/staff', 'page');
}

export const endpointVisits = (): Visit[] =>
  visitsOf(
    programs,
    jsonEndpoints.map(({ path }) => path),
    apiBase,
    'JSON',
  );

function visitsOf(
  asked: Readonly<Record<string, readonly Asked[]>>,
  known: readonly string[],
  base: string,
  what: string,
): Visit[] {
  const wrong = [...new Set([...known, ...Object.keys(asked)])].filter(
    (path) => !known.includes(path) || !(path in asked),
  );
  if (wrong.length > 0)
    throw new Error(`not in the tables of test/bench/staff-visits.ts, or no more: ${wrong.join(', ')}`);
  return Object.values(asked)
    .flat()
    .map(([name, path, about]) => ({
      name: `${what}: ${name}`,
      ...(about && { about }),
      ask: (given) => ({ path: base + path(given) }),
    }));
}

export function searchVisits(): Visit[] {
  return searches.flatMap(([kind, text]) => [
    {
      name: `search by ${kind}`,
      ask: (about: About) => ({ path: '/staff/search', body: { search: text(about) } }),
      // The only match is opened.
      statuses: [200, 303],
    },
    {
      name: `search for programs, by ${kind}`,
      ask: (about: About) => ({ path: `${apiBase}/search`, body: { search: text(about) } }),
    },
  ]);
}

/** @param count of each kind; staffId: a member of staff, for the pages about people */
export async function pickThings(pool: Pool, count: number, staffId: string): Promise<Things> {
  const pick = async (ledger: string): Promise<About[]> => {
    const { rows } = await pool.query<About>(
      `select l.account_id as account, l.token, l.event_id as event, l.request_id as request, coalesce(w.reference, 'none') as reference,
              'order-' || l.token as "idempotencyKey", k.key_id as key, k.key_prefix as "keyPrefix", c.correction_id as correction,
              $2 as person, to_char(l.period_start at time zone 'utc', 'YYYY-MM-DD') as day,
              to_char(l.period_start at time zone 'utc', 'YYYY-MM') as month
       from (${ledger}) l
       join lateral (select key_id, key_prefix from api_keys where account_id = l.account_id limit 1) k on true
       join lateral (select correction_id from corrections where account_id = l.account_id limit 1) c on true
       left join lateral (select reference from overage_ledger where account_id = l.account_id and type = 'ChargeWaived' limit 1) w on true
       limit $1`,
      [count, staffId],
    );
    if (rows.length === 0) throw new Error(`there is nothing to visit: ${ledger}`);
    return rows;
  };
  const charged = "type = 'OverageCharged'";
  return {
    madeUp: await pick(
      `select * from overage_ledger tablesample bernoulli (1) where ${charged} and position >= 1000000000 and token !~ '^L[0-9a-f]{32}$' limit ${count}`,
    ),
    real: await pick(
      `select * from overage_ledger where ${charged} and account_id in (select account_id from invoices where last_hash <> '')`,
    ),
    largest: await pick(`select * from overage_ledger where ${charged} and token = 'L' || md5('1')`),
  };
}
