import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { removeStaff, revokeStaffToken } from '../../../src/commands/staff.ts';
import { jsonEndpoints } from '../../../src/console/staff/json-endpoints.ts';
import { pageRoutes } from '../../../src/console/staff/page-routes.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { sessionLifetimes } from '../../../src/domain/session-lifetimes.ts';
import { type StaffRole, staffRoles } from '../../../src/domain/staff-events.ts';
import { noDownloads } from '../../http/shared-service.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { Browser, type Page, send } from '../browser.ts';
import { changesNothing as expectNoChange } from '../changes.ts';
import { signInFrom } from '../sign-in.ts';
import { callProgram, makeThings, nameOf, nobody, programs, type Things } from './programs.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfRun } from './staff-of-run.ts';

const service = staffOfRun(noDownloads);

/** What pages are about. */
let things: Things;
/** It is suspended and closed here. */
let endingAccountId: string;
/** The forms of this file bring it along. */
const reference = `CASE-${randomUUID()}`;
const members: StaffMember[] = [];

async function invite(role: StaffRole, now?: string): Promise<StaffMember> {
  const person = await service.invite(role, now);
  members.push(person);
  return person;
}

const signedInAs = async (role: StaffRole) => service.newStaffSession(await invite(role));

beforeAll(async () => {
  things = await makeThings(service);
  endingAccountId = await service.openAccount('ending@example.com');
});

interface Row {
  /** The least role that may open it. */
  role: StaffRole;
  /** Below `/staff`; default: the route's own path. */
  path?: () => string;
  fields?: () => Record<string, string>;
  /** What a person of that role is answered. */
  answer: number;
}

/** Overage and months' closes. Nobody has a period here: who may ask is told before that. */
function ofMoney(): Record<string, Row> {
  const [charges, month] = [`/overage/${nobody}/2026-11-01`, '/months/2019-01'];
  const row = (path: string, answer = 200): Row => ({ role: 'support', path: () => path, answer });
  return {
    'GET /overage': row('/overage'),
    'GET /overage.csv': row('/overage.csv'),
    'GET /overage.json': row('/overage.json'),
    'GET /overage/:account/:day': row(charges, 404),
    'GET /overage/:account/:day.csv': row(`${charges}.csv`, 404),
    'GET /overage/:account/:day/events.csv': row(`${charges}/events.csv`, 404),
    'GET /overage/:account/:day/events.json': row(`${charges}/events.json`, 404),
    'GET /overage/:account/:day.json': row(`${charges}.json`, 404),
    'GET /overage/:account/:day/give-back': row(`${charges}/give-back?charge=1`, 404),
    'POST /overage/:account/:day/give-back': {
      ...row(`${charges}/give-back`, 404),
      fields: () => ({ correction_id: randomUUID(), charge: '1', amount: '1', reference, reason: 'a test' }),
    },
    'GET /sales-book': { ...row('/sales-book?issued=2019-01'), role: 'finance' },
    'GET /sales-book.csv': { ...row('/sales-book.csv?issued=2019-01'), role: 'finance' },
    'GET /sales-book.json': { ...row('/sales-book.json?issued=2019-01'), role: 'finance' },
    'GET /months': row('/months'),
    'GET /months.csv': row('/months.csv'),
    'GET /months.json': row('/months.json'),
    'GET /months/:month': row(month, 404),
    'GET /months/:month.csv': row(`${month}.csv`),
    'GET /months/:month.json': row(`${month}.json`),
  };
}

/** Of an account that nothing else is about. */
const ofLife = (what: string): Row => ({
  role: 'finance',
  path: () => `/accounts/${endingAccountId}/${what}`,
  fields: () => ({ reason: 'a test' }),
  answer: 303,
});

/** Of an account without any. */
function ofInvoices(): Record<string, Row> {
  const row = (path: string): Row => ({
    role: 'support',
    path: () => `/accounts/${things.accountId}${path}`,
    answer: 404,
    fields: () => ({ correction_id: randomUUID(), amount: '1', reference, reason: 'a test' }),
  });
  const mails = (path: string): Row => ({
    ...row(path),
    fields: () => ({ to: openerOf(things.accountId), reason: 'a test' }),
  });
  return {
    'GET /accounts/:account/invoices/:number': row('/invoices/77'),
    'GET /accounts/:account/credit-notes/:number': row('/credit-notes/77'),
    'POST /accounts/:account/invoices/:number/mails': mails('/invoices/77/mails'),
    'POST /accounts/:account/credit-notes/:number/mails': mails('/credit-notes/77/mails'),
    'GET /accounts/:account/invoices/:number/lines/:line/credit': row('/invoices/77/lines/1/credit'),
    'POST /accounts/:account/invoices/:number/lines/:line/credit': row('/invoices/77/lines/1/credit'),
  };
}

/** Nobody is there: an action that is carried out is told in people.test.ts. */
function ofPeople(): Record<string, Row> {
  const about = (path: string, answer = 404): Row => ({
    role: 'admin',
    path: () => `/people/stf_aaaaaaaaaaaaaaaa${path}`,
    answer,
    fields: () => ({ role: 'support', label: 'a test', scope: 'jobs', days: '1', reason: 'a test' }),
  });
  return {
    'GET /people': { role: 'admin', answer: 200 },
    'POST /people': { role: 'admin', answer: 400 },
    'GET /people/looks': { role: 'admin', answer: 200 },
    'GET /people/:person': about(''),
    'POST /people/:person/invite-again': about('/invite-again'),
    'POST /people/:person/role': about('/role'),
    'POST /people/:person/remove': about('/remove'),
    'POST /people/:person/tokens': about('/tokens'),
    'POST /people/:person/tokens/:token/revoke': about('/tokens/stk_aaaaaaaaaaaaaaaa/revoke'),
  };
}

/** The pages and actions that need a session, each once. */
const pages: Readonly<Record<string, Row>> = {
  'GET ': { role: 'support', answer: 200 },
  'GET /search': { role: 'support', answer: 303 },
  'POST /search': { role: 'support', fields: () => ({ search: 'nothing' }), answer: 200 },
  'GET /accounts/:account': { role: 'support', path: () => `/accounts/${things.accountId}`, answer: 200 },
  'GET /accounts/:account/downloads': {
    role: 'support',
    path: () => `/accounts/${things.accountId}/downloads`,
    answer: 200,
  },
  'GET /accounts/:account/downloads.csv': {
    role: 'support',
    path: () => `/accounts/${things.accountId}/downloads.csv`,
    answer: 200,
  },
  'GET /accounts/:account/history': {
    role: 'support',
    path: () => `/accounts/${things.accountId}/history`,
    answer: 200,
  },
  'POST /accounts/:account/suspend': ofLife('suspend'),
  'POST /accounts/:account/lift-suspension': ofLife('lift-suspension'),
  // The last one of these: what is closed takes nothing more.
  'POST /accounts/:account/close': ofLife('close'),
  'GET /downloads/:token': { role: 'support', path: () => `/downloads/${things.token}`, answer: 200 },
  'GET /corrections': { role: 'support', answer: 200 },
  'GET /corrections.csv': { role: 'support', answer: 200 },
  'GET /corrections.json': { role: 'support', answer: 200 },
  'GET /corrections/outage': { role: 'support', answer: 200 },
  'POST /corrections/outage': { role: 'support', answer: 400 },
  'GET /corrections/:id': { role: 'support', answer: 404 },
  'POST /corrections/:id/approve': { role: 'finance', answer: 404 },
  'POST /corrections/:id/refuse': { role: 'support', answer: 404 },
  'GET /downloads/:token/correct': { role: 'support', answer: 404 },
  'POST /downloads/:token/correct': {
    role: 'support',
    answer: 404,
    fields: () => ({ correction_id: randomUUID(), amount: '1', reference, reason: 'a test' }),
  },

  // Without a download there is nothing to follow.
  'GET /downloads/:token/live': { role: 'support', path: () => '/downloads/nothing/live', answer: 404 },
  'GET /events/:id': { role: 'support', path: () => `/events/0@account-${things.accountId}`, answer: 200 },
  ...ofInvoices(),
  'GET /operation': { role: 'support', answer: 200 },
  ...ofMoney(),
  'GET /operation/work': { role: 'support', answer: 200 },
  'GET /operation/notices': { role: 'support', answer: 200 },
  'POST /operation/acknowledge': {
    role: 'admin',
    answer: 400,
    fields: () => ({ divergence: 'no such', reference, reason: 'a test' }),
  },
  ...ofPeople(),
  'POST /sign-out': { role: 'support', answer: 303 },
};

const forStaff = pageRoutes.filter(({ access }) => access !== 'everybody');
const requests = forStaff.map((route) => ({
  name: nameOf(route),
  method: route.method,
  path: route.path,
  access: route.access,
  row: pages[nameOf(route)] ?? { role: 'support', answer: 0 },
}));
type Request = (typeof requests)[number];

const addressOf = ({ path, row }: Request) => (row.path ? `/staff${row.path()}` : path);
const ask = (browser: Browser, request: Request): Promise<Page> =>
  request.method === 'GET'
    ? browser.get(addressOf(request))
    : browser.post(addressOf(request), request.row.fields?.() ?? {});

it('has a row for every page, action and endpoint, and none for others', () => {
  expect(Object.keys(pages).sort()).toEqual(requests.map(({ name }) => name).sort());
  expect(requests.map(({ name, access }) => [name, access])).toEqual(requests.map(({ name, row }) => [name, row.role]));
  expect(Object.entries(programs(things)).map(([name, { scope, role = 'support' }]) => [name, scope, role])).toEqual(
    jsonEndpoints.map((endpoint) => [nameOf(endpoint), endpoint.scope, endpoint.role]),
  );
  expect(pageRoutes.filter(({ access }) => access === 'everybody').map(nameOf)).toEqual([
    ...['GET /sign-in', 'POST /sign-in', 'GET /sign-in/with-provider', 'GET /sign-in/provider'],
    ...['GET /sign-in/:secret', 'POST /sign-in/:secret', 'GET /docs'],
  ]);
});

/** Looks at the account and the people of this file. */
const changesNothing = (work: () => Promise<void>): Promise<void> =>
  expectNoChange(
    {
      log: service.commands.store,
      names: () => [
        things.accountId,
        endingAccountId,
        things.token,
        reference,
        ...members.map(({ staffId }) => staffId),
      ],
      rows: () =>
        // Any sign-in of another file removes sessions that are over.
        service.sql(
          `select session_id from staff_sessions
           where staff_id = any($1) and started_at > clock_timestamp() - interval '${sessionLifetimes.staff.lifetime}'
           order by session_id`,
          [members.map(({ staffId }) => staffId)],
        ),
    },
    work,
  );

const inRead = (table: 'staff' | 'staff_tokens', condition: string, id: string) =>
  waitFor(async () => (await service.sql(`select from ${table} where ${condition}`, [id])).length === 1, {
    what: `${id}: ${condition}`,
  });

async function removed(person: StaffMember): Promise<void> {
  await removeStaff(service.commands, { staffId: person.staffId, by: service.operator, timeoutMs: patienceMs });
  await inRead('staff', 'staff_id = $1 and removed_at is not null', person.staffId);
}

const visitors: Readonly<Record<string, () => Promise<Browser>>> = {
  nobody: () => Promise.resolve(new Browser(service.staffUrl)),
  'a cookie of no session': () => {
    const browser = new Browser(service.staffUrl);
    browser.cookies.set('reeltally_staff', 'nothing');
    browser.formToken = 'nothing';
    return Promise.resolve(browser);
  },
  'the owner of an account': async () => {
    const accountId = await service.openAccount('owner@example.com');
    const owner = await service.newSession({ accountId, personId: openerOf(accountId) });
    const browser = new Browser(service.staffUrl);
    for (const [name, secret] of owner.cookies) browser.cookies.set(name, secret).set('reeltally_staff', secret);
    browser.formToken = owner.formToken;
    return browser;
  },
  'an admin who was removed': async () => {
    const admin = await invite('admin');
    const browser = await service.newStaffSession(admin);
    await removed(admin);
    return browser;
  },
  'a session that has expired': async () => service.newStaffSession(await invite('admin'), 12 * 3_600 + 1),
  'a stolen cookie after signing out': async () => {
    const browser = await signedInAs('admin');
    const stolen = browser.copy();
    await browser.post('/staff/sign-out');
    return stolen;
  },
};

describe.each(Object.keys(visitors))('%s', (visitor) => {
  it('is sent to sign in by every page and action, and changes nothing', async () => {
    const browser = await visitors[visitor]!();
    await changesNothing(async () => {
      for (const request of requests) {
        const { status, headers, text } = await ask(browser, request);
        const address = addressOf(request);
        expect([request.name, status, text]).toEqual([request.name, 303, '']);
        expect(headers['location']).toMatch(signInFrom(request.method, address, '/staff'));
      }
    });
  });
});

describe('a session', () => {
  it.each(staffRoles)('of %s opens what its role may, and changes nothing elsewhere', async (role) => {
    const person = await invite(role);
    for (const request of requests) {
      const isAllowed = staffRoles.indexOf(role) >= staffRoles.indexOf(request.row.role);
      if (isAllowed) continue;
      const browser = await service.newStaffSession(person);
      await changesNothing(async () => {
        const { status, text } = await ask(browser, request);
        expect([request.name, status, text.includes('Not for your role')]).toEqual([request.name, 403, true]);
      });
    }
    for (const request of requests.filter(({ row }) => row.role === role)) {
      const { status, text } = await ask(await service.newStaffSession(person), request);
      expect([request.name, status, text]).toEqual([
        ...[request.name, request.row.answer, expect.not.stringContaining('Something went wrong') as string],
      ]);
    }
  });

  it('that loses its role has it no more on the next page', async () => {
    const person = await invite('admin');
    const browser = await service.newStaffSession(person);
    const { text } = await browser.get('/staff/operation');
    expect(text).toContain('>admin<');
    const { changeStaffRole } = await import('../../../src/commands/staff.ts');
    await changeStaffRole(service.commands, {
      staffId: person.staffId,
      role: 'support',
      by: service.operator,
      timeoutMs: patienceMs,
    });
    await inRead('staff', "staff_id = $1 and role = 'support'", person.staffId);
    expect((await browser.get('/staff/operation')).text).toContain('>support<');
  });
});

describe('a form that was not sent from a page of the session', () => {
  it('is refused, and changes nothing', async () => {
    const browser = await signedInAs('admin');
    const { formToken: tokenOfOther = '' } = await signedInAs('admin');
    const { origin, formToken = '' } = browser;
    const ownersOrigin = service.api.url;
    await changesNothing(async () => {
      for (const request of requests.filter(({ method }) => method === 'POST')) {
        const sent = (token: string, headers: Record<string, string | undefined> = {}) =>
          browser.send({
            method: 'POST',
            path: addressOf(request),
            headers,
            fields: { ...request.row.fields?.(), form_token: token },
          });
        const isRefused = ({ status, text }: Page) => [status, text.includes('Nothing was changed')];
        for (const wrong of ['null', ownersOrigin, `${origin}1`, origin.replace('http:', 'https:'), '', undefined])
          expect([wrong, ...isRefused(await sent(formToken, { origin: wrong }))]).toEqual([wrong, 403, true]);
        for (const wrong of ['', 'wrong', tokenOfOther])
          expect([wrong, ...isRefused(await sent(wrong))]).toEqual([wrong, 403, true]);
        for (const type of ['application/json', 'text/plain'])
          expect(isRefused(await sent(formToken, { 'content-type': type }))).toEqual([403, true]);
      }
    });
  });
});

describe('a token', () => {
  let admin: StaffMember;
  const scopes = ['accounts', 'jobs', 'money', 'operation'] as const;

  beforeAll(async () => {
    admin = await invite('admin');
  });

  const call = (name: string, authorization: string | undefined) =>
    callProgram(service, { things, name, authorization });

  it('is answered by every endpoint as the table says', async () => {
    const { token } = await service.issueToken(admin.staffId, scopes);
    for (const [name, { answer }] of Object.entries(programs(things))) {
      const { status, success, headers } = await call(name, `Bearer ${token}`);
      expect([name, status, success]).toEqual([name, answer, answer === 200]);
      expect([headers['cache-control'], headers['x-content-type-options']]).toEqual(['no-store', 'nosniff']);
    }
  });

  const refusal = async (method: string, path: string, body?: string) => {
    const { status, headers, text } = await send(service.staffUrl, { method, path, ...(body && { body }) });
    if (method === 'HEAD') return { status, allow: headers['allow'] };
    const { error } = JSON.parse(text) as { error: { code: string } };
    return { status, allow: headers['allow'], code: error.code };
  };

  it('is not asked for where an endpoint does not take the method', async () => {
    for (const { method: right, path } of jsonEndpoints) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'].filter(
        (each) => each !== right,
      )) {
        const code = method === 'HEAD' ? {} : { code: 'method_not_allowed' };
        const own = `/staff/v1${path.replaceAll(/\{\w+\}/g, 'x')}?a=b`;
        expect([method, path, await refusal(method, own)]).toEqual([
          method,
          path,
          { status: 405, allow: right, ...code },
        ]);
      }
    }
  });

  it('changes nothing of an address that is none, or a body that is too large', async () => {
    const none = { status: 404, allow: undefined, code: 'not_found' };
    for (const path of ['', '?a=b', '/', '/nowhere', '/%zz', '/accounts/%zz', '/%00', '/accounts/a/b'])
      for (const method of ['GET', 'PROPFIND'])
        if (method === 'GET' || !path.startsWith('/accounts/%'))
          expect([method, path, await refusal(method, `/staff/v1${path}`)]).toEqual([method, path, none]);
    const large = JSON.stringify({ search: 'x'.repeat(20_000) });
    expect(await refusal('POST', '/staff/v1/search', large)).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it.each(scopes)('without the scope %s is refused by its endpoints', async (scope) => {
    const { token } = await service.issueToken(
      admin.staffId,
      scopes.filter((each) => each !== scope),
    );
    for (const [name, row] of Object.entries(programs(things)).filter(([, each]) => each.scope === scope))
      expect([name, row.scope, await call(name, `Bearer ${token}`)]).toMatchObject([
        ...[name, scope, { status: 403, code: 'forbidden' }],
      ]);
  });

  it('gives its person no more than the pages do', async () => {
    const roles = new Map(forStaff.map(({ path, access }) => [path.replaceAll(/:\w+/g, '{}'), access]));
    for (const { path, role } of jsonEndpoints)
      expect([path, role]).toEqual([path, roles.get(`/staff${path.replaceAll(/\{\w+\}/g, '{}')}`)]);
    for (const member of ['support', 'finance'] as const) {
      const { token } = await service.issueToken((await invite(member)).staffId, scopes);
      for (const [name, { answer, role }] of Object.entries(programs(things))) {
        const mayRead = member === 'finance' || role === undefined;
        expect([member, name, (await call(name, `Bearer ${token}`)).status]).toEqual([
          ...[member, name, mayRead ? answer : 403],
        ]);
      }
    }
  });

  it('that is missing, malformed, unknown, revoked, expired, or of somebody removed, is refused', async () => {
    const yearsAgo = '2020-01-01T00:00:00.000Z';
    const { staffId: longThere } = await invite('admin', yearsAgo);
    const expired = await service.issueToken(longThere, scopes, yearsAgo);
    const revoked = await service.issueToken(admin.staffId, scopes);
    await revokeStaffToken(service.commands, {
      staffId: admin.staffId,
      tokenId: revoked.tokenId,
      by: service.operator,
      timeoutMs: patienceMs,
    });
    await inRead('staff_tokens', 'token_id = $1 and revoked_at is not null', revoked.tokenId);
    const leaver = await invite('admin');
    const left = await service.issueToken(leaver.staffId, scopes);
    await removed(leaver);
    const { key } = await service.installation.openAccount('enterprise');
    const { token: good } = await service.issueToken(admin.staffId, scopes);
    const wrong = [expired.token, revoked.token, left.token, key, good.slice(0, -1), `${good}x`, 'rts_', ''];
    for (const name of Object.keys(programs(things))) {
      for (const authorization of [undefined, ...wrong.map((each) => `Bearer ${each}`), `Basic ${good}`, good]) {
        const { status, code, headers } = await call(name, authorization);
        expect([name, authorization, status, code]).toEqual([name, authorization, 401, 'unauthorized']);
        expect(headers['www-authenticate']).toBe('Bearer');
      }
    }
  });

  it('opens no page, and a session no endpoint', async () => {
    const { token } = await service.issueToken(admin.staffId, scopes);
    const browser = await service.newStaffSession(admin);
    const asked = await new Browser(service.staffUrl).get('/staff/operation', { authorization: `Bearer ${token}` });
    expect(asked.status).toBe(303);
    for (const name of Object.keys(programs(things))) {
      const cookie = `reeltally_staff=${browser.session?.[1] ?? ''}`;
      const [method = '', path = ''] = name.split(' ');
      expect((await send(service.staffUrl, { method, path: `/staff/v1${path}`, headers: { cookie } })).status).toBe(
        401,
      );
    }
  });
});

describe('the wrong listener', () => {
  it('of the API has nothing of staff', async () => {
    const browser = await signedInAs('admin');
    const [name = '', secret = ''] = browser.session ?? [];
    for (const { method, path } of [
      ...pageRoutes,
      ...jsonEndpoints.map((each) => ({ ...each, path: `/staff/v1${each.path}` })),
      ...['/staff/openapi.json', '/staff/docs', '/staff/assets/x/console.css'].map((path) => ({ method: 'GET', path })),
    ]) {
      const { status, text } = await send(service.api.url, {
        method,
        path,
        headers: { cookie: `${name}=${secret}`, host: new URL(service.api.url).host },
      });
      expect([method, path, status, text.includes('not_found')]).toEqual([method, path, 404, true]);
    }
  });

  it('of staff has nothing of the API and of owners', async () => {
    const { key } = await service.installation.openAccount('enterprise');
    for (const path of [
      '/api/v1/credits',
      '/console',
      '/console/sign-in',
      '/docs',
      '/openapi.json',
      '/healthz',
      '/metrics',
      '/files/x',
    ]) {
      const headers = { authorization: `Bearer ${key}` };
      const { status, text } = await send(service.staffUrl, { method: 'GET', path, headers });
      expect([path, status, text]).toEqual([path, 404, 'There is nothing here.\n']);
    }
  });
});

describe('a browser', () => {
  it('is told by every page to keep it to itself', async () => {
    const browser = await signedInAs('admin');
    for (const request of requests.filter(({ method }) => method === 'GET')) {
      const { headers, text } = await ask(browser, request);
      const policy = headers['content-security-policy'] ?? '';
      for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"])
        expect([request.name, policy]).toEqual([request.name, expect.stringContaining(rule)]);
      expect([headers['cache-control'], headers['referrer-policy'], headers['x-content-type-options']]).toEqual([
        ...['no-store', 'same-origin', 'nosniff'],
      ]);
      const loaded = [...text.matchAll(/<(?:link|script|img)\b[^>]*\b(?:src|href)="([^"]+)"/g)];
      expect(loaded.map(([, address = '']) => address).filter((each) => !each.startsWith('/staff/assets/'))).toEqual(
        [],
      );
    }
  });

  it('of another name of this address is sent to the console’s own', async () => {
    const browser = await signedInAs('admin');
    const { port } = new URL(service.staffUrl);
    for (const host of ['evil.example', `evil.example:${port}`, 'localhost', 'localhost:1']) {
      const { status, headers } = await browser.get('/staff/operation', { host });
      expect([host, status, headers['location']]).toEqual([host, 303, `${service.staffUrl}/staff`]);
    }
  });
});
