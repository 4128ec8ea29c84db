import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { removeStaff, revokeStaffToken } from '../../../src/commands/staff.ts';
import { jsonEndpoints } from '../../../src/console/staff/json-endpoints.ts';
import { pageRoutes } from '../../../src/console/staff/page-routes.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { type StaffRole, staffRoles } from '../../../src/domain/staff-events.ts';
import { freePort } from '../../../src/embedded/free-port.ts';
import { queue } from '../../support/downloads.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { Browser, type Page, send } from '../browser.ts';
import { type StaffMember, staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();

/** What pages are about. */
const things = { accountId: '', token: '' };

beforeAll(async () => {
  const opened = await service.installation.openAccount('enterprise');
  const { request_token: token } = await queue(service.api.url, opened.key, {
    url: service.installation.sampleUrl('bars'),
  });
  Object.assign(things, { accountId: opened.accountId, token });
  await waitFor(async () => (await service.sql('select from jobs where token = $1', [token])).length === 1, {
    what: 'the download in the read model',
  });
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

const nobody = 'acc_aaaaaaaaaaaaaaaa';

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
    'GET /months': row('/months'),
    'GET /months/:month': row(month, 404),
    'GET /months/:month.csv': row(`${month}.csv`),
    'GET /months/:month.json': row(`${month}.json`),
  };
}

/** Of an account without any. */
function ofInvoices(): Record<string, Row> {
  const row = (path: string): Row => ({
    role: 'support',
    path: () => `/accounts/${things.accountId}${path}`,
    answer: 404,
    fields: () => ({ correction_id: randomUUID(), amount: '1', reference: 'CASE-1', reason: 'a test' }),
  });
  return {
    'GET /accounts/:account/invoices/:number': row('/invoices/77'),
    'GET /accounts/:account/credit-notes/:number': row('/credit-notes/77'),
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
  'GET /downloads/:token': { role: 'support', path: () => `/downloads/${things.token}`, answer: 200 },
  'GET /corrections': { role: 'support', answer: 200 },
  'GET /corrections/outage': { role: 'support', answer: 200 },
  'POST /corrections/outage': { role: 'support', answer: 400 },
  'GET /corrections/:id': { role: 'support', answer: 404 },
  'POST /corrections/:id/approve': { role: 'finance', answer: 404 },
  'POST /corrections/:id/refuse': { role: 'support', answer: 404 },
  'GET /downloads/:token/correct': { role: 'support', answer: 404 },
  'POST /downloads/:token/correct': {
    role: 'support',
    answer: 404,
    fields: () => ({ correction_id: randomUUID(), amount: '1', reference: 'CASE-1', reason: 'a test' }),
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
    fields: () => ({ divergence: 'no such', reference: 'CASE-1', reason: 'a test' }),
  },
  ...ofPeople(),
  'POST /sign-out': { role: 'support', answer: 303 },
};

interface EndpointRow {
  scope: string;
  path?: () => string;
  body?: () => object;
  answer: number;
}

/** The endpoints for programs, each once. */
const programs: Readonly<Record<string, EndpointRow>> = {
  'POST /search': { scope: 'accounts', body: () => ({ search: 'nothing' }), answer: 200 },
  'GET /accounts/{account}': { scope: 'accounts', path: () => `/accounts/${things.accountId}`, answer: 200 },
  'GET /downloads/{token}': { scope: 'jobs', path: () => `/downloads/${things.token}`, answer: 200 },
  'GET /events/{id}': { scope: 'accounts', path: () => `/events/0@account-${things.accountId}`, answer: 200 },
  'GET /overage': { scope: 'money', answer: 200 },
  'GET /corrections': { scope: 'money', answer: 200 },
  'GET /corrections/{id}': { scope: 'money', path: () => `/corrections/${randomUUID()}`, answer: 404 },
  'GET /overage/{account}/{day}': { scope: 'money', path: () => `/overage/${nobody}/2026-11-01`, answer: 404 },
  'GET /months/{month}': { scope: 'money', path: () => '/months/2019-01', answer: 404 },
  'GET /operation': { scope: 'operation', answer: 200 },
};

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path.replace('/staff', '')}`;
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
  expect(Object.entries(programs).map(([name, { scope }]) => [name, scope])).toEqual(
    jsonEndpoints.map((endpoint) => [nameOf(endpoint), endpoint.scope]),
  );
  expect(pageRoutes.filter(({ access }) => access === 'everybody').map(nameOf)).toEqual([
    ...['GET /sign-in', 'POST /sign-in', 'GET /sign-in/with-provider', 'GET /sign-in/provider'],
    ...['GET /sign-in/:secret', 'POST /sign-in/:secret', 'GET /docs'],
  ]);
});

/** Everything that a page or an action could have changed. */
async function everything(): Promise<unknown> {
  const log = await service.installation.readLog();
  return {
    events: log.map(({ stream, type }) => `${stream} ${type}`).sort(),
    sessions: await service.sql('select session_id from staff_sessions order by session_id'),
  };
}

async function changesNothing(work: () => Promise<void>): Promise<void> {
  const before = await everything();
  await work();
  expect(await everything()).toEqual(before);
}

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
    const admin = await service.invite('admin');
    const browser = await service.newStaffSession(admin);
    await removed(admin);
    return browser;
  },
  'a session that has expired': async () => service.newStaffSession(await service.invite('admin'), 12 * 3_600 + 1),
  'a stolen cookie after signing out': async () => {
    const browser = await service.signedInAs('admin');
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
        const next = address === '/staff' || request.method === 'POST' ? '' : `?next=${encodeURIComponent(address)}`;
        expect([request.name, status, headers['location'], text]).toEqual([
          ...[request.name, 303, `/staff/sign-in${next}`, ''],
        ]);
      }
    });
  });
});

describe('a session', () => {
  it.each(staffRoles)('of %s opens what its role may, and changes nothing elsewhere', async (role) => {
    const person = await service.invite(role);
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
    const person = await service.invite('admin');
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
    const browser = await service.signedInAs('admin');
    const { formToken: tokenOfOther = '' } = await service.signedInAs('admin');
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
    admin = await service.invite('admin');
  });

  const call = async (name: string, authorization: string | undefined, url = service.staffUrl) => {
    const [method = '', path = ''] = name.split(' ');
    const { path: own, body } = programs[name]!;
    const { status, headers, text } = await send(url, {
      method,
      path: `/staff/v1${own?.() ?? path}`,
      headers: { authorization, host: new URL(url).host, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body()) }),
    });
    const read = JSON.parse(text) as { success: boolean; error?: { code: string } };
    return { status, code: read.error?.code, success: read.success, headers };
  };

  it('is answered by every endpoint as the table says', async () => {
    const { token } = await service.issueToken(admin.staffId, scopes);
    for (const [name, { answer }] of Object.entries(programs)) {
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
    for (const [name, row] of Object.entries(programs).filter(([, each]) => each.scope === scope))
      expect([name, row.scope, await call(name, `Bearer ${token}`)]).toMatchObject([
        ...[name, scope, { status: 403, code: 'forbidden' }],
      ]);
  });

  it('that is missing, malformed, unknown, revoked, expired, or of somebody removed, is refused', async () => {
    const expired = await service.issueToken(admin.staffId, scopes);
    await service.sql(
      "update staff_tokens set expires_at = clock_timestamp() - interval '1 second' where token_id = $1",
      [expired.tokenId],
    );
    const revoked = await service.issueToken(admin.staffId, scopes);
    await revokeStaffToken(service.commands, {
      staffId: admin.staffId,
      tokenId: revoked.tokenId,
      by: service.operator,
      timeoutMs: patienceMs,
    });
    await inRead('staff_tokens', 'token_id = $1 and revoked_at is not null', revoked.tokenId);
    const leaver = await service.invite('admin');
    const left = await service.issueToken(leaver.staffId, scopes);
    await removed(leaver);
    const { key } = await service.installation.openAccount('enterprise');
    const { token: good } = await service.issueToken(admin.staffId, scopes);
    const wrong = [expired.token, revoked.token, left.token, key, good.slice(0, -1), `${good}x`, 'rts_', ''];
    for (const name of Object.keys(programs)) {
      for (const authorization of [undefined, ...wrong.map((each) => `Bearer ${each}`), `Basic ${good}`, good]) {
        const { status, code, headers } = await call(name, authorization);
        expect([name, authorization, status, code]).toEqual([name, authorization, 401, 'unauthorized']);
        expect(headers['www-authenticate']).toBe('Bearer');
      }
    }
  });

  it('that is revoked, or of somebody removed, is refused at once, also while the read models stand still', async () => {
    const leaver = await service.invite('admin');
    const [revoked, left] = [
      await service.issueToken(leaver.staffId, scopes),
      await service.issueToken(leaver.staffId, scopes),
    ];
    const answersOf = async () => {
      const answers = [revoked, left].map(({ token }) => call('GET /operation', `Bearer ${token}`));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    expect(await answersOf()).toEqual([200, 200]);
    const order = { staffId: leaver.staffId, by: service.operator, timeoutMs: patienceMs };
    service.projector.pause();
    try {
      await revokeStaffToken(service.commands, { ...order, tokenId: revoked.tokenId });
      expect(await answersOf()).toEqual([401, 200]);
      await removeStaff(service.commands, order);
      expect(await answersOf()).toEqual([401, 401]);
    } finally {
      service.projector.resume();
    }
  });

  it('shows no rows while a reader of the log is refused', async () => {
    const { token } = await service.issueToken(admin.staffId, scopes);
    await service.sql("insert into refused_readers (name, reason) values ('usage_and_jobs', 'the log was replaced')");
    for (const name of Object.keys(programs))
      expect([name, await call(name, `Bearer ${token}`)]).toMatchObject([name, { status: 503, code: 'unavailable' }]);
    await service.sql('delete from refused_readers');
    expect((await call('GET /operation', `Bearer ${token}`)).status).toBe(200);
  });

  it('opens no page, and a session no endpoint', async () => {
    const { token } = await service.issueToken(admin.staffId, scopes);
    const browser = await service.newStaffSession(admin);
    const asked = await new Browser(service.staffUrl).get('/staff/operation', { authorization: `Bearer ${token}` });
    expect(asked.status).toBe(303);
    for (const name of Object.keys(programs)) {
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
    const browser = await service.signedInAs('admin');
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
    const browser = await service.signedInAs('admin');
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
    const browser = await service.signedInAs('admin');
    const { port } = new URL(service.staffUrl);
    for (const host of ['evil.example', `evil.example:${port}`, 'localhost', 'localhost:1']) {
      const { status, headers } = await browser.get('/staff/operation', { host });
      expect([host, status, headers['location']]).toEqual([host, 303, `${service.staffUrl}/staff`]);
    }
  });
});

/** An API whose staff console has an address of its own. */
async function startAt(address: string): Promise<Browser> {
  const port = await freePort();
  const api = await service.installation.startRole('api', { STAFF_PORT: String(port), STAFF_URL: address });
  expect(api.staffUrl).toBe(address);
  return new Browser(`http://127.0.0.1:${String(port)}`, { origin: address });
}

describe('cookies', () => {
  it('over https are sent over nothing else, and are set by no other host', async () => {
    const browser = await startAt('https://staff.example');
    const path = await service.printedPath(await service.invite('support'));
    const { setCookies } = await browser.post(path);
    expect(setCookies.map((each) => each.replace(/=[\w-]{27};/, '=(secret);'))).toEqual([
      '__Host-reeltally_staff=(secret); Path=/; HttpOnly; SameSite=Lax; Max-Age=43200; Secure',
      '__Host-reeltally_staff_browser=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure',
    ]);
    expect((await browser.get('/staff/operation')).status).toBe(200);
    const unprotected = new Browser(browser.url, { origin: browser.origin });
    unprotected.cookies.set('reeltally_staff', browser.session?.[1] ?? '');
    expect((await unprotected.get('/staff/operation')).status).toBe(303);
  });

  it('do not travel over plain http: the console refuses with a page', async () => {
    const browser = await startAt('http://staff.example');
    const { cookies } = await service.signedInAs('admin');
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    for (const path of ['/staff/sign-in', '/staff/operation']) {
      const { status, text, setCookies } = await browser.get(path);
      expect([status, text.includes('can set STAFF_URL'), setCookies]).toEqual([403, true, []]);
    }
  });
});

describe('a process', () => {
  it('of role api has no staff console unless it is told a port', async () => {
    const api = await service.installation.startRole('api', { STAFF_PORT: '' });
    expect(api.staffUrl).toBeNull();
  });
});
