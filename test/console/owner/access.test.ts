import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConnectedEventStore, connectEventStore } from '../../../src/adapters/event-store/event-store.ts';
import { pageRoutes } from '../../../src/console/owner/page-routes.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { sessionLifetimes } from '../../../src/domain/session-lifetimes.ts';
import { queue } from '../../support/downloads.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { Browser, type Page } from '../browser.ts';
import { changesNothing as expectNoChange } from '../changes.ts';
import { askForLink, signInFrom } from '../sign-in.ts';
import { ownersOfRun } from './owners-of-run.ts';

const service = ownersOfRun();

/** What an account has, and nobody else may see or touch. */
interface Things {
  accountId: string;
  email: string;
  personId: string;
  mate: string;
  key: string;
  keyId: string;
  label: string;
  token: string;
  /** Of another of its sessions. */
  sessionId: string;
  invoice: string;
  creditNote: string;
}

/** What there is nowhere. */
const nothing: Things = {
  accountId: 'acc_nothing',
  email: 'nobody@example.com',
  personId: 'per_nothing',
  mate: 'per_nothing',
  key: 'rtk_nothing',
  keyId: 'key_nothing',
  label: 'nothing',
  token: 'nothing',
  sessionId: 'ses_nothing',
  invoice: '999999',
  creditNote: '999999',
};

interface Row {
  /** Below `/console`; default: the route's own path. */
  path?: (things: Things) => string;
  fields?: (things: Things) => Record<string, string>;
  /** What the owner of the things is answered. */
  answer: number;
  /** What an owner of other things is answered. Default: 404 where the path names a thing, else what its owner is. */
  toOthers?: number;
}

/** The pages and actions that need a session, each once. */
const table: Readonly<Record<string, Row>> = {
  'GET ': { answer: 200 },
  'GET /usage.csv': { answer: 200 },
  'GET /downloads': { path: ({ keyId }) => `/downloads?key=${keyId}`, answer: 200, toOthers: 200 },
  'GET /downloads.csv': { path: ({ keyId }) => `/downloads.csv?key=${keyId}`, answer: 200, toOthers: 200 },
  'GET /downloads/live': { path: ({ token }) => `/downloads/live?token=${token}`, answer: 200, toOthers: 200 },
  'GET /downloads/:token': { path: ({ token }) => `/downloads/${token}`, answer: 200 },
  'GET /downloads/:token/file': { path: ({ token }) => `/downloads/${token}/file`, answer: 303 },
  'GET /try': { answer: 200 },
  'POST /try/metadata': { fields: () => ({ url: service.installation.sampleUrl('bars') }), answer: 200 },
  'POST /try/download': { fields: () => ({ url: service.installation.sampleUrl('private') }), answer: 303 },
  'GET /keys': { answer: 200 },
  'POST /keys': { fields: () => ({ label: 'another' }), answer: 200 },
  'GET /keys/:key/revoke': { path: ({ keyId }) => `/keys/${keyId}/revoke`, answer: 200 },
  'POST /keys/:key/revoke': { path: ({ keyId }) => `/keys/${keyId}/revoke`, answer: 303 },
  'GET /keys/usage': { answer: 200 },
  'GET /keys/:key/limit': { path: ({ keyId }) => `/keys/${keyId}/limit`, answer: 200 },
  'POST /keys/:key/limit': {
    path: ({ keyId }) => `/keys/${keyId}/limit`,
    fields: () => ({ downloads: '9', dollars: '', until: '' }),
    answer: 303,
  },
  'GET /invoices': { answer: 200 },
  'GET /invoices.csv': { answer: 200 },
  'GET /invoices/draft': { answer: 200 },
  // Both accounts have an invoice with the number 1.
  'GET /invoices/:number': { path: ({ invoice }) => `/invoices/${invoice}`, answer: 200 },
  'GET /credit-notes/:number': { path: ({ creditNote }) => `/credit-notes/${creditNote}`, answer: 200 },
  'GET /history': { answer: 200 },
  'GET /settings': { answer: 200 },
  'POST /settings/cap': { fields: () => ({ dollars: '12.50', effective: 'now' }), answer: 303 },
  'POST /settings/billing': { fields: () => ({ name: 'Films Ltd', address: 'Harbour 1', country: 'DE' }), answer: 303 },
  'GET /settings/plan/:plan': { path: () => '/settings/plan/studio_500', answer: 200, toOthers: 200 },
  'POST /settings/plan/:plan': {
    path: () => '/settings/plan/studio_500',
    fields: () => ({ difference_cents: '0' }),
    answer: 303,
    toOthers: 303,
  },
  // Its plan is agreed with staff; the change that is taken back is the owner's.
  'POST /settings/keep-plan': { fields: () => ({ plan: 'enterprise' }), answer: 303 },
  'POST /settings/closing': { answer: 303 },
  'POST /settings/people': { fields: () => ({ email: 'invited@example.com' }), answer: 303 },
  'POST /settings/people/:person/invite-again': {
    path: ({ mate }) => `/settings/people/${mate}/invite-again`,
    answer: 303,
  },
  'POST /settings/people/:person/remove': { path: ({ mate }) => `/settings/people/${mate}/remove`, answer: 303 },
  'POST /settings/sessions/end': { fields: ({ sessionId }) => ({ session: sessionId }), answer: 303 },
  'POST /settings/sessions/end-all': { answer: 303 },
  'POST /sign-out': { answer: 303 },
};

const forOwners = pageRoutes.filter(({ access }) => access === 'owner');
const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path.replace('/console', '')}`;
const requests = forOwners.map((route) => {
  const row = table[nameOf(route)] ?? { answer: 0 };
  return { name: nameOf(route), method: route.method, path: route.path.replace('/console', ''), row };
});
type Request = (typeof requests)[number];

const ask = (browser: Browser, { method, path, row }: Request, things: Things): Promise<Page> => {
  const address = `/console${row.path?.(things) ?? path}`;
  return method === 'GET' ? browser.get(address) : browser.post(address, row.fields?.(things));
};

let log: ConnectedEventStore;
let own: Things;
let foreign: Things;
const personOf = ({ accountId, personId }: Things) => ({ accountId, personId });

beforeAll(async () => {
  log = connectEventStore({ url: service.installation.environment.EVENTSTORE_URL, readTimeoutMs: patienceMs });
  own = await makeThings('own', { item: 'bars', end: 'done' });
  foreign = await makeThings('foreign', { item: 'private', end: 'failed' });
});

afterAll(() => log.close());

async function makeThings(name: string, { item, end }: { item: string; end: string }): Promise<Things> {
  const email = `${name}-account@example.com`;
  const label = `label of the ${name} account`;
  const accountId = await service.openAccount(email);
  const { key, key_id: keyId } = await service.installation.cli<{ key: string; key_id: string }>([
    ...['keys', 'issue', accountId, '--label', label],
  ]);
  const { person_id: mate } = await service.installation.cli<{ person_id: string }>([
    ...['people', 'invite', accountId, `${name}-mate@example.com`],
  ]);
  await service.installation.cli([
    'invoices',
    'credit',
    accountId,
    '1',
    '--line',
    '1',
    '--cents',
    '5',
    '--reason',
    'a test',
    '--by',
    'a tester',
    '--reference',
    name,
  ]);
  const { request_token: token } = await queue(service.api.url, key, { url: service.installation.sampleUrl(item) });
  const text = 'select from jobs where token = $1 and status = $2';
  await waitFor(async () => (await service.sql(text, [token, end])).length === 1, { what: `the download: ${end}` });
  const personId = openerOf(accountId);
  await service.newSession({ accountId, personId });
  const [session] = await service.sql<{ session_id: string }>(
    'select session_id from console_sessions where account_id = $1',
    [accountId],
  );
  const sessionId = session?.session_id ?? '';
  return { accountId, email, personId, mate, key, keyId, label, token, sessionId, invoice: '1', creditNote: '1' };
}

/** Looks at both accounts of this file. */
const changesNothing = (work: () => Promise<void>): Promise<void> =>
  expectNoChange(
    {
      log,
      names: () => [own, foreign].flatMap(({ accountId, token }) => [accountId, token]),
      rows: () =>
        // Any sign-in of another file removes sessions that are over.
        service.sql(
          `select session_id, account_id, person_id from console_sessions
           where account_id = any($1) and started_at > clock_timestamp() - interval '${sessionLifetimes.owner.lifetime}'
           order by session_id`,
          [[own.accountId, foreign.accountId]],
        ),
    },
    work,
  );

/** What tells one answer from another, apart from chance and time. */
const bytesOf = ({ status, headers, text, setCookies }: Page) => ({
  status,
  text,
  setCookies,
  headers: { ...headers, date: '', 'x-request-id': '' },
});

it('has a row for every page and action, and none for others', () => {
  expect(Object.keys(table).sort()).toEqual(requests.map(({ name }) => name).sort());
  const open = pageRoutes.filter(({ access }) => access === 'everybody').map(nameOf);
  expect(open).toEqual([
    ...['GET /sign-in', 'POST /sign-in', 'GET /sign-in/:secret', 'POST /sign-in/:secret', 'GET /design'],
  ]);
});

/** Those who are not signed in (any more). */
const visitors: Readonly<Record<string, () => Promise<Browser>>> = {
  nobody: () => Promise.resolve(new Browser(service.api.url)),
  'somebody with a cookie of no session': () => {
    const browser = new Browser(service.api.url);
    browser.cookies.set('reeltally_session', 'nothing');
    browser.formToken = 'nothing';
    return Promise.resolve(browser);
  },
  'a person who was removed': async () => {
    const { person_id: personId } = await service.installation.cli<{ person_id: string }>([
      ...['people', 'invite', own.accountId, 'removed@example.com'],
    ]);
    await waitForPerson(personId, 'removed_at is null');
    const browser = await service.newSession({ accountId: own.accountId, personId });
    expect((await browser.get('/console/try')).status).toBe(200);
    await service.installation.cli(['people', 'remove', own.accountId, personId]);
    await waitForPerson(personId, 'removed_at is not null');
    return browser;
  },
  'a session past its idle limit': async () => {
    const browser = await service.newSession(personOf(own));
    await service.sql(
      `update console_sessions set seen_at = clock_timestamp() - interval '24 hours 1 second'
      where secret_hash = sha256($1)`,
      [Buffer.from(browser.session?.[1] ?? '')],
    );
    return browser;
  },
  'a session past its absolute limit': () => service.newSession(personOf(own), 30 * 86_400 + 1),
  'a stolen cookie after signing out': async () => {
    const browser = await service.newSession(personOf(own));
    const stolen = browser.copy();
    const out = await browser.post('/console/sign-out');
    expect([out.status, browser.session]).toEqual([303, undefined]);
    return stolen;
  },
  'a stolen cookie after signing out everywhere': async () => {
    const stolen = await service.newSession({ accountId: own.accountId, personId: own.mate });
    const other = await service.newSession({ accountId: own.accountId, personId: own.mate });
    expect((await other.post('/console/settings/sessions/end-all')).status).toBe(303);
    return stolen;
  },
};

const waitForPerson = (personId: string, state: string) =>
  waitFor(
    async () => (await service.sql(`select from people where person_id = $1 and ${state}`, [personId])).length === 1,
    {
      what: `the person to be there: ${state}`,
    },
  );

describe.each(Object.keys(visitors))('%s', (visitor) => {
  it('is sent to sign in by every page and action, and changes nothing', async () => {
    const browser = await visitors[visitor]!();
    await changesNothing(async () => {
      for (const request of requests) {
        const [answer, toMissing] = [await ask(browser, request, own), await ask(browser, request, nothing)];
        expect([request.name, answer.status, answer.text]).toEqual([request.name, 303, '']);
        const path = `/console${request.row.path?.(own) ?? request.path}`;
        expect(answer.headers['location']).toMatch(signInFrom(request.method, path, '/console'));
        expect({ ...bytesOf(answer), headers: '' }).toEqual({ ...bytesOf(toMissing), headers: '' });
      }
    });
  });
});

it('a session within its limits is one', async () => {
  const browser = await service.newSession(personOf(own), 30 * 86_400 - 60);
  const seen =
    "update console_sessions set seen_at = clock_timestamp() - interval '23 hours 59 minutes' where secret_hash = sha256($1)";
  await service.sql(seen, [Buffer.from(browser.session?.[1] ?? '')]);
  expect((await browser.get('/console/try')).status).toBe(200);
});

describe('the owner of another account', () => {
  const namesThing = (request: Request) => request.row.path !== undefined || request.row.fields?.(own) !== undefined;

  it('is answered by the same bytes for what is foreign and for what there is not, and changes nothing of it', async () => {
    const browser = await service.newSession(personOf(foreign));
    const others = { ...own, invoice: '2', creditNote: '2' };
    await changesNothing(async () => {
      for (const request of requests.filter(({ row }) => row.path !== undefined && row.toOthers === undefined)) {
        const answer = await ask(browser, request, others);
        expect([request.name, answer.status]).toEqual([request.name, 404]);
        expect(bytesOf(answer)).toEqual(bytesOf(await ask(browser, request, nothing)));
      }
      const end = requests.find(({ name }) => name === 'POST /settings/sessions/end')!;
      expect(bytesOf(await ask(browser, end, own))).toEqual(bytesOf(await ask(browser, end, nothing)));
      const live = requests.find(({ name }) => name === 'GET /downloads/live')!;
      expect(bytesOf(await ask(browser, live, own))).toEqual(bytesOf(await ask(browser, live, nothing)));
      const filtered = await ask(
        browser,
        requests.find(({ name }) => name === 'GET /downloads')!,
        own,
      );
      expect(filtered.text).toContain('No download matches');
    });
    expect(await service.sql('select from console_sessions where session_id = $1', [own.sessionId])).toHaveLength(1);
  });

  it('sees nothing of others on any page', async () => {
    const browser = await service.newSession(personOf(foreign));
    for (const request of requests.filter((each) => each.method === 'GET' && !namesThing(each))) {
      const { status, text } = await ask(browser, request, nothing);
      expect([request.name, status]).toEqual([request.name, request.row.answer]);
      const { accountId, email, personId, label, token, keyId } = own;
      for (const secret of [accountId, email, personId, label, token, keyId]) expect(text).not.toContain(secret);
    }
  });
});

describe('a form that was not sent from a page of the session', () => {
  const actions = requests.filter(({ method }) => method === 'POST');
  const isRefused = ({ status, text }: Page) => [status, text.includes('Nothing was changed')];

  it('is refused, and changes nothing', async () => {
    const browser = await service.newSession(personOf(own));
    const { formToken: tokenOfOther = '' } = await service.newSession(personOf(own));
    const { origin, formToken = '' } = browser;
    const wrongOrigins = [
      'null',
      'https://evil.example',
      `${origin}.evil.example`,
      `${origin}1`,
      origin.replace('http:', 'https:'),
      `${origin}/`,
      '',
    ];
    await changesNothing(async () => {
      for (const { name, path, row } of actions) {
        const address = `/console${row.path?.(own) ?? path}`;
        const sent = (token: string, headers: Record<string, string | undefined> = {}) =>
          browser.send({ method: 'POST', path: address, fields: { ...row.fields?.(own), form_token: token }, headers });
        for (const wrong of wrongOrigins)
          expect([name, wrong, ...isRefused(await sent(formToken, { origin: wrong }))]).toEqual([
            name,
            wrong,
            403,
            true,
          ]);
        expect([name, ...isRefused(await sent(formToken, { origin: undefined }))]).toEqual([name, 403, true]);
        for (const wrong of ['', 'wrong', formToken.slice(1), tokenOfOther])
          expect([name, wrong, ...isRefused(await sent(wrong))]).toEqual([name, wrong, 403, true]);
        for (const type of ['application/json', 'text/plain', 'multipart/form-data'])
          expect([name, ...isRefused(await sent(formToken, { 'content-type': type }))]).toEqual([name, 403, true]);
        const inAddress = await browser.send({
          method: 'POST',
          path: `${address}?form_token=${formToken}`,
          fields: '',
        });
        expect([name, ...isRefused(inAddress)]).toEqual([name, 403, true]);
      }
    });
  });

  it('asks for no link and uses none up', async () => {
    const { length: before } = await service.mailsTo(own.email);
    const browser = new Browser(service.api.url);
    const path = await askForLink(browser, own.email, service);
    for (const origin of ['null', 'https://evil.example', undefined]) {
      const asked = await browser.send({
        method: 'POST',
        path: '/console/sign-in',
        fields: { email: own.email },
        headers: { origin },
      });
      const used = await browser.send({
        method: 'POST',
        path,
        fields: { account: own.accountId },
        headers: { origin },
      });
      expect([asked.status, asked.setCookies, used.status, used.setCookies]).toEqual([403, [], 403, []]);
    }
    expect((await browser.get(path)).status).toBe(303);
    expect(await service.mailsTo(own.email)).toHaveLength(before + 1);
  });
});

describe('a browser', () => {
  it('is told by every page to keep it to itself: no frames, no scripts or referrers of others, no copies', async () => {
    const browser = await service.newSession(personOf(own));
    for (const request of requests.filter(({ method, name }) => method === 'GET' && name !== 'GET /downloads/live')) {
      const { headers, text } = await ask(browser, request, own);
      const policy = headers['content-security-policy'] ?? '';
      for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"])
        expect([request.name, policy]).toEqual([request.name, expect.stringContaining(rule)]);
      expect(policy).toMatch(/form-action '(?:self|none)'/);
      expect([headers['cache-control'], headers['referrer-policy'], headers['x-content-type-options']]).toEqual([
        ...['no-store', 'same-origin', 'nosniff'],
      ]);
      const loaded = [
        ...text.matchAll(/<(?:link|script|img|iframe|source|object|embed)\b[^>]*\b(?:src|href|data)="([^"]+)"/g),
      ];
      expect(
        loaded.map(([, address = '']) => address).filter((address) => !address.startsWith('/console/assets/')),
      ).toEqual([]);
      // Links to elsewhere do not tell where they stood: an address of ours may hold a token.
      const out = [...text.matchAll(/<a\b[^>]*href="https?:[^>]*>/g)].map(([tag]) => tag);
      expect(out.filter((tag) => !tag.includes('noreferrer'))).toEqual([]);
    }
  });

  it('of another name of this address learns nothing: it is sent to the console’s own', async () => {
    const browser = await service.newSession(personOf(own));
    for (const host of ['evil.example', `evil.example:${new URL(service.api.url).port}`, '127.0.0.1', '127.0.0.1:1']) {
      for (const request of requests) {
        const path = `/console${request.row.path?.(own) ?? request.path}`;
        const answer = await browser.send({ method: request.method, path, fields: '', headers: { host } });
        expect([request.name, answer.status, answer.headers['location'], answer.text]).toEqual([
          ...[request.name, 303, `${browser.origin}/console`, ''],
        ]);
      }
    }
  });

  it('that brought a cookie of its own has another one after signing in', async () => {
    const browser = new Browser(service.api.url);
    const [name, fixed] = ['reeltally_session', 'A'.repeat(32)];
    browser.cookies.set(name, fixed);
    await browser.get(await askForLink(browser, foreign.email, service));
    const [, secret] = browser.session ?? [];
    expect(secret).toMatch(/^[\w-]{27}$/);
    expect(secret).not.toBe(fixed);
    const attacker = new Browser(service.api.url);
    attacker.cookies.set(name, fixed);
    expect((await attacker.get('/console/try')).status).toBe(303);
  });

  it('that signs in again leaves no session of before behind', async () => {
    const browser = await service.signedIn(foreign.email);
    const before = browser.copy();
    await browser.get(await askForLink(browser, foreign.email, service));
    expect((await browser.get('/console/try')).status).toBe(200);
    expect((await before.get('/console/try')).status).toBe(303);
  });
});

describe('cookies', () => {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Lax'];

  it('are for this host alone, and not for scripts or other sites', async () => {
    const browser = new Browser(service.api.url);
    const asked = await browser.post('/console/sign-in', { email: 'nobody@example.com' });
    expect(asked.setCookies).toEqual([expect.stringMatching(/^reeltally_browser=/)]);
    expect(asked.setCookies[0]?.split('; ').slice(1)).toEqual([...attributes, 'Max-Age=900']);
    const opened = await browser.get(await askForLink(browser, own.email, service));
    expect(opened.setCookies.map((each) => each.split('; ').slice(1))).toEqual([
      [...attributes, 'Max-Age=2592000'],
      [...attributes, 'Max-Age=0'],
    ]);
  });
});

// The last one: it uses up what the others look at.
describe('the owner', () => {
  it('is answered by every page and action as the table says', async () => {
    for (const request of requests) {
      const browser = await service.newSession(personOf(own));
      const answer = await ask(browser, request, own);
      expect([request.name, answer.status, answer.text]).toEqual([
        ...[request.name, request.row.answer, expect.not.stringContaining('Something went wrong') as string],
      ]);
    }
  });
});
