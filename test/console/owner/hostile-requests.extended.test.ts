import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { pageRoutes } from '../../../src/console/owner/page-routes.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { call } from '../../support/client.ts';
import { jsonLines } from '../../support/log-lines.ts';
import { scaled } from '../../support/proof-scale.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, send } from '../browser.ts';
import { encode, fieldsOf, oddTexts, partOf, textOf, wellFormed } from '../odd-texts.ts';
import { consoleOfFile } from './console-of-file.ts';

const service = await consoleOfFile();

/** Of the account that nothing may be learnt of: words that no generated request holds, and ids that many do. */
const secrets = ['victim@example.com', 'mate-of-victim@example.com', 'label-of-victim', 'dQw4w9WgXcQ'];
let ids: readonly string[];
let own: { accountId: string; personId: string };
let browser: Browser;

beforeAll(async () => {
  const { cli } = service.installation;
  const victim = await service.openAccount('victim@example.com');
  const { person_id: mate } = await cli<{ person_id: string }>([
    'people',
    'invite',
    victim,
    'mate-of-victim@example.com',
  ]);
  const { key, key_id: keyId } = await cli<{ key: string; key_id: string }>([
    ...['keys', 'issue', victim, '--label', 'label-of-victim'],
  ]);
  const film = 'https://www.youtube.com/watch?v=dQw4w9WgXcQ';
  const { data } = await call(service.api.url, '/video/download', { key, body: { url: film } });
  const token = String(data['request_token']);
  await waitFor(async () => (await service.sql('select from jobs where token = $1', [token])).length === 1, {
    what: 'the job',
  });
  const session = await service.newSession({ accountId: victim, personId: openerOf(victim) });
  const [row] = await service.sql<{ session_id: string }>('select session_id from console_sessions');
  expect((await session.get(`/console/downloads/${token}`)).text).toContain('dQw4w9WgXcQ');
  ids = [token, keyId, mate, victim, openerOf(victim), row?.session_id ?? '', '1'];
  const accountId = await service.openAccount('own@example.com');
  own = { accountId, personId: openerOf(accountId) };
});

const text = textOf(() => ids);
/** What a route reads of its query or its form. */
const readFields: Readonly<Record<string, readonly string[]>> = {
  '/console': ['period'],
  '/console/usage.csv': ['period'],
  '/console/downloads': ['search', 'status', 'platform', 'format', 'overage', 'key', 'from', 'to', 'after', 'before'],
  '/console/downloads/live': ['token'],
  '/console/history': ['kind', 'before'],
  '/console/invoices/:number': ['as'],
  '/console/credit-notes/:number': ['as'],
  '/console/keys': ['done', 'label'],
  '/console/keys/usage': ['period'],
  '/console/settings/people': ['email'],
  '/console/settings/sessions/end': ['session'],
  '/console/settings': ['done'],
  '/console/settings/cap': ['dollars', 'effective'],
  '/console/settings/keep-plan': ['plan'],
  '/console/sign-in': ['next', 'done', 'unsent', 'email'],
  '/console/sign-in/:secret': ['account', 'next'],
  '/console/try': ['url'],
  '/console/try/metadata': ['url', 'format', 'quality'],
  '/console/try/download': ['url', 'format', 'quality'],
};
const names = [...new Set(Object.values(readFields).flat()), 'form_token', '__proto__'];
const fields = fieldsOf(names, text);
const part = partOf(text);
const path = fc
  .tuple(
    fc.constantFrom(...pageRoutes.map((route) => route.path), '/console/', '/console/nowhere/:x', '/console/assets/:x'),
    fc.array(part, { minLength: 3, maxLength: 3 }),
  )
  .map(([pattern, parts]) =>
    pattern
      .split('/')
      .map((each) => (each.startsWith(':') ? parts.pop() : each))
      .join('/'),
  );
type Cookies = 'own' | 'none' | 'twice' | 'malformed' | 'huge';

const probe = fc.record({
  method: fc.constantFrom(
    ...Array<string>(9).fill('GET'),
    ...Array<string>(9).fill('POST'),
    'HEAD',
    'PUT',
    'DELETE',
    'OPTIONS',
    'PATCH',
  ),
  path,
  query: fields,
  form: fields,
  rawQuery: fc.option(text, { freq: 9 }),
  contentType: fc.constantFrom(
    ...Array<string>(6).fill('application/x-www-form-urlencoded'),
    'application/json',
    'text/plain',
    '/',
    'application/x-www-form-urlencoded; charset=utf-16',
  ),
  hasToken: fc.constantFrom(true, true, true, false),
  cookies: fc.constantFrom<Cookies>('own', 'own', 'own', 'own', 'none', 'twice', 'malformed', 'huge'),
});
type Probe = typeof probe extends fc.Arbitrary<infer Value> ? Value : never;

const cookieHeader = (kind: Cookies): string | undefined => {
  const [name = '', secret = ''] = browser.session ?? [];
  const pair = `${name}=${secret}`;
  return {
    own: pair,
    none: undefined,
    twice: `${pair}; ${pair}x`,
    malformed: `=; ;;${name}; ${pair}%00; \t=`,
    huge: `x=${'y'.repeat(9_000)}; ${pair}`,
  }[kind];
};

async function ask({ method, path: asked, query, rawQuery, form, contentType, hasToken, cookies }: Probe) {
  const search = wellFormed(query);
  const raw = rawQuery === null ? search : encodeURI(rawQuery.toWellFormed()).replaceAll('#', '');
  const sent = [...form, ...(hasToken ? [['form_token', browser.formToken ?? ''] as [string, string]] : [])];
  return await send(service.api.url, {
    method,
    path: `${asked}${raw === '' ? '' : `?${raw}`}`,
    headers: {
      host: new URL(service.api.url).host,
      origin: service.api.url,
      'content-type': contentType,
      cookie: cookieHeader(cookies),
    },
    ...(method === 'POST' && {
      body: wellFormed(sent).slice(0, 15_000),
    }),
  });
}

async function expectHarmless(asked: Probe): Promise<void> {
  const { status, text: body, headers } = await ask(asked);
  // Some of what is asked for ends the session.
  if (headers['location']?.startsWith('/console/sign-in')) browser = await service.newSession(own);
  expect(status).not.toBe(500);
  expect(status).toBeLessThan(504);
  expect(body).not.toMatch(/\bat \S+ \(?\S*\/\S*:\d+:\d+|node:internal|\.ts:\d+|invalid byte sequence|native code/);
  for (const secret of secrets) expect(body).not.toContain(secret);
  expect(headers['location'] ?? '').toMatch(/^(?:|\/console\S*|http:\/\/127\.0\.0\.1:\d+\/console)$/);
}

const plain = {
  rawQuery: null,
  contentType: 'application/x-www-form-urlencoded',
  hasToken: true,
  cookies: 'own',
} as const;

it('each part and field of a page or an action takes each odd text', async () => {
  browser = await service.newSession(own);
  for (const { method, path: pattern } of pageRoutes) {
    const odd = [...oddTexts, ...ids];
    const parts = pattern.includes(':') ? odd.filter((each) => each !== '') : [];
    const asked = (own: { path?: string; pair?: [string, string] }): Probe => {
      const pairs = own.pair ? [own.pair] : [];
      const { path: given = pattern.replaceAll(/:\w+/g, 'x') } = own;
      return {
        ...plain,
        method,
        path: given,
        query: method === 'GET' ? pairs : [],
        form: method === 'POST' ? pairs : [],
      };
    };
    const probes = [
      ...parts.map((each) => asked({ path: pattern.replaceAll(/:\w+/g, () => encode(each)) })),
      ...(readFields[pattern] ?? []).flatMap((name) => odd.map((each) => asked({ pair: [name, each] }))),
    ];
    for (const each of probes) {
      await expectHarmless(each).catch((error: unknown) => {
        throw new Error(JSON.stringify(each), { cause: error });
      });
    }
  }
});

it('nothing of another account, no failure and no trace is in any answer', async () => {
  browser = await service.newSession(own);
  await fc.assert(fc.asyncProperty(probe, expectHarmless), { numRuns: scaled(200, 100_000) });
});

// The last one.
it('no request was a failure of the service', () => {
  const lines = jsonLines<{ msg: string }>(service.api.log()).map(({ msg }) => msg);
  expect(lines.filter((msg) => msg === 'a page of the console failed' || msg.includes('inside the service'))).toEqual(
    [],
  );
});
