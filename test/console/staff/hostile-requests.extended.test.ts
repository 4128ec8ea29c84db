import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { jsonEndpoints } from '../../../src/console/staff/json-endpoints.ts';
import { pageRoutes } from '../../../src/console/staff/page-routes.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { secondsUntilClosed } from '../../http/raw-request.ts';
import { jsonLines } from '../../support/log-lines.ts';
import { scaled } from '../../support/proof-scale.ts';
import { Browser, send } from '../browser.ts';
import { encode, fieldsOf, oddTexts, partOf, textOf, wellFormed } from '../odd-texts.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();

/** Of an account and of staff: nobody may learn them who is not signed in. */
const secrets = ['victim@example.com', 'label-of-victim'];
let ids: readonly string[];
let tokens: Readonly<Record<'all' | 'none', string>>;
let browsers: Readonly<Record<'support' | 'nobody', Browser>>;

beforeAll(async () => {
  const accountId = await service.openAccount('victim@example.com');
  const { key_id: keyId } = await service.installation.cli<{ key_id: string }>([
    ...['keys', 'issue', accountId, '--label', 'label-of-victim'],
  ]);
  const [admin, support] = [await service.invite('admin'), await service.invite('support')];
  const all = await service.issueToken(admin.staffId, ['accounts', 'jobs', 'money', 'operation']);
  const none = await service.issueToken(admin.staffId, ['operation']);
  tokens = { all: all.token, none: none.token };
  browsers = { support: await service.newStaffSession(support), nobody: new Browser(service.staffUrl) };
  ids = [accountId, openerOf(accountId), keyId, admin.staffId, support.staffId, all.tokenId, '1', '2026-11'];
});

const text = textOf(() => ids);
/** What pages, actions and endpoints read of a query, a form or a body. */
const names = [
  ...['search', 'reason', 'reference', 'cents', 'email', 'role', 'at', 'after', 'before', 'sort', 'month', 'platform'],
  ...['from', 'to', 'next', 'state', 'code', 'iss', 'error', 'done', 'form_token', '__proto__', 'constructor'],
];
const fields = fieldsOf(names, text);
const part = partOf(text);
const patterns = [
  ...pageRoutes.map(({ path }) => path),
  ...jsonEndpoints.map(({ path }) => `/staff/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
  ...['/', '/staff/', '/staff/nowhere/:x', '/staff/assets/:x', '/staff/v1/:x', '/staff/openapi.json', '/:x'],
];
const path = fc
  .tuple(fc.constantFrom(...patterns), fc.array(part, { minLength: 4, maxLength: 4 }))
  .map(([pattern, parts]) =>
    pattern
      .split('/')
      .map((each) => (each.startsWith(':') ? parts.pop() : each))
      .join('/'),
  );

const probe = fc.record({
  method: fc.constantFrom(
    ...[...Array<string>(9).fill('GET'), ...Array<string>(9).fill('POST')],
    ...['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'],
  ),
  path,
  query: fields,
  body: fc.oneof(fields.map(wellFormed), fc.json({ maxDepth: 3 }), text),
  contentType: fc.constantFrom('application/x-www-form-urlencoded', 'application/json', 'text/plain', '/'),
  visitor: fc.constantFrom('support', 'support', 'nobody'),
  hasToken: fc.boolean(),
  authorization: fc.constantFrom('all', 'none', 'wrong', undefined),
});
type Probe = typeof probe extends fc.Arbitrary<infer Value> ? Value : never;

async function ask(asked: Probe) {
  const { method, query, body, contentType, visitor, hasToken, authorization } = asked;
  const browser = browsers[visitor];
  const [name = '', secret = ''] = browser.session ?? [];
  const token = { all: tokens.all, none: tokens.none, wrong: 'rts_wrong' }[authorization ?? 'wrong'];
  const search = wellFormed(query);
  const form = hasToken ? `${body}&form_token=${browser.formToken ?? ''}` : body;
  return await send(service.staffUrl, {
    method,
    path: `${asked.path}${search === '' ? '' : `?${search}`}`,
    headers: {
      host: new URL(service.staffUrl).host,
      origin: service.staffUrl,
      'content-type': contentType,
      cookie: name === '' ? undefined : `${name}=${secret}`,
      authorization: authorization === undefined ? undefined : `Bearer ${token}`,
    },
    ...(method === 'POST' && { body: form.toWellFormed().slice(0, 15_000) }),
  });
}

async function expectHarmless(asked: Probe): Promise<void> {
  const { status, text: body, headers } = await ask(asked);
  if (headers['location'] === '/staff/sign-in?done=out')
    browsers = { ...browsers, support: await service.signedInAs('support') };
  expect(status).not.toBe(500);
  expect(status).toBeLessThan(504);
  expect(body).not.toMatch(/\bat \S+ \(?\S*\/\S*:\d+:\d+|node:internal|\.ts:\d+|invalid byte sequence|native code/);
  if (asked.visitor === 'nobody' && asked.authorization !== 'all')
    for (const secret of secrets) expect(body).not.toContain(secret);
  expect(headers['location'] ?? '').toMatch(/^(?:|\/staff\S*|http:\/\/localhost:\d+\/staff)$/);
}

it('each page, action and endpoint takes each odd text in each part', async () => {
  const plain = { body: '', contentType: 'application/x-www-form-urlencoded' } as const;
  const who = { visitor: 'support', hasToken: true, authorization: 'all' } as const;
  for (const pattern of patterns.filter((each) => each.includes(':'))) {
    for (const odd of [...oddTexts, ...ids].filter((each) => each !== '')) {
      for (const method of ['GET', 'POST']) {
        const asked = pattern.replaceAll(/:\w+/g, () => encode(odd));
        await expectHarmless({ ...plain, ...who, query: [], method, path: asked }).catch((error: unknown) => {
          throw new Error(`${method} ${asked}`, { cause: error });
        });
      }
    }
  }
});

it('no failure and no trace is in any answer, and nothing of anybody for those without a session', async () => {
  await fc.assert(fc.asyncProperty(probe, expectHarmless), { numRuns: scaled(300, 100_000) });
});

it('a request whose head does not arrive is ended after five seconds', async () => {
  const tookSeconds = await secondsUntilClosed(service.staffUrl, 'GET /staff/sign-in HTTP/1.1\r\nHost: localhost\r\n');
  expect(tookSeconds).toBeGreaterThan(4.5);
  // Connections are looked at every second.
  expect(tookSeconds).toBeLessThan(9);
});

// The last one.
it('no request was a failure of the service', () => {
  const lines = jsonLines<{ msg: string }>(service.api.log()).map(({ msg }) => msg);
  const failures = [
    'a page of the console failed',
    'a request to the API of staff failed',
    'a request to the staff listener failed',
  ];
  expect(lines.filter((msg) => failures.includes(msg) || msg.includes('inside the service'))).toEqual([]);
});
