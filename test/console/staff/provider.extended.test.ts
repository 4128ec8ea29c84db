import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { staffIdOf } from '../../../src/commands/ids/reference-ids.ts';
import { removeStaff } from '../../../src/commands/staff.ts';
import { freePort } from '../../../src/embedded/free-port.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { Browser, type Page } from '../browser.ts';
import { openIdClient, startOpenIdProvider } from './openid-provider.ts';
import { staffOfFile } from './staff-of-file.ts';

const port = await freePort();
const origin = `http://localhost:${String(port)}`;
const redirectUri = `${origin}/staff/sign-in/provider`;
const provider = await startOpenIdProvider({ redirectUri });
const service = await staffOfFile({
  STAFF_PORT: String(port),
  OIDC_ISSUER: provider.issuer,
  OIDC_CLIENT_ID: openIdClient.id,
  OIDC_CLIENT_SECRET: openIdClient.secret,
});
afterAll(() => provider[Symbol.asyncDispose]());
afterEach(() => provider.failWith(undefined));

let subjects = 0;
const newPerson = (claims: Readonly<Record<string, unknown>>) => ({
  subject: `subject-${String((subjects += 1))}`,
  claims,
});
const newBrowser = () => new Browser(service.staffUrl);
const pathOf = (address: string) => address.replace(origin, '');

/** Goes to the provider as the link on the page does. @returns the address with which the browser comes back */
async function toProvider(browser: Browser, next = ''): Promise<string> {
  const begun = await browser.get(`/staff/sign-in/with-provider?next=${encodeURIComponent(next)}`);
  expect(begun.status).toBe(303);
  return pathOf(await provider.visit(begun.headers['location'] ?? ''));
}

async function signIn(person: typeof provider.person, browser = newBrowser()): Promise<[Page, Browser]> {
  provider.person = person;
  return [await browser.get(await toProvider(browser)), browser];
}

const expectRefused = (answer: Page, title: string, status = 403) => {
  expect([answer.status, answer.text.includes(title), answer.text]).toEqual([
    ...[status, true, expect.stringContaining(title) as string],
  ]);
  expect(answer.setCookies).toEqual([]);
};
const roleOf = async (browser: Browser) =>
  /class="tag info">(\w+)</.exec((await browser.get('/staff/operation')).text)?.[1];
const staffId = ({ subject }: { subject: string }) => staffIdOf({ issuer: provider.issuer, subject });
const eventsOf = (person: { subject: string }) => service.commands.store.read(`staff-${staffId(person)}`, 0);

describe('a person of the provider', () => {
  it('signs in, goes on to the page that was asked for, and the log says who it is', async () => {
    const person = newPerson({ roles: ['finance'], email: 'f@example.com', email_verified: true });
    provider.person = person;
    const browser = newBrowser();
    const form = await browser.get('/staff/sign-in?next=%2Fstaff%2Foperation');
    expect(form.text).toContain('href="/staff/sign-in/with-provider?next=%2Fstaff%2Foperation"');
    const answer = await browser.get(await toProvider(browser, '/staff/operation'));
    expect([answer.status, answer.headers['location']]).toEqual([303, '/staff/operation']);
    expect(answer.setCookies).toEqual([
      expect.stringMatching(/^reeltally_staff=[\w-]{27}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200$/),
      'reeltally_staff_browser=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0',
    ]);
    expect(await roleOf(browser)).toBe('finance');
    expect((await eventsOf(person)).map(({ type, data }) => [type, data])).toEqual([
      [
        'StaffSignedIn',
        {
          staff_id: staffId(person),
          by: 'provider',
          role: 'finance',
          personal: {
            email: 'f@example.com',
            unverified_email: null,
            issuer: provider.issuer,
            subject: person.subject,
          },
        },
      ],
    ]);
  });

  it.each([
    ['support', 'support'],
    [['support', 'admin', 'finance'], 'admin'],
    [['everybody', 'finance', 'support'], 'finance'],
  ])('with the claim %j is %s', async (roles, expected) => {
    const [, browser] = await signIn(newPerson({ roles }));
    expect(await roleOf(browser)).toBe(expected);
  });

  it.each([
    ['nothing', {}],
    ['no role of ours', { roles: ['everybody', 'Admin', 'finance '] }],
    ['something else than texts', { roles: { admin: true } }],
    ['null', { roles: null }],
  ])('whose claim says %s is refused', async (_, claims) => {
    const person = newPerson(claims);
    const [answer, browser] = await signIn(person);
    expectRefused(answer, 'You have no role here');
    expect(browser.session).toBeUndefined();
    expect(await eventsOf(person)).toEqual([]);
  });

  it('has the role of the newest sign-in, and none once the provider gives none', async () => {
    const person = newPerson({ roles: ['admin'] });
    const [, first] = await signIn(person);
    expect(await roleOf(first)).toBe('admin');
    const [, second] = await signIn({ ...person, claims: { roles: ['support'] } });
    expect([await roleOf(second), await roleOf(first)]).toEqual(['support', 'support']);
    const [gone] = await signIn({ ...person, claims: {} });
    expectRefused(gone, 'You have no role here');
    expect([await roleOf(second), await roleOf(first)]).toEqual([undefined, undefined]);
  });

  it('whose address is not verified has it in the log as such', async () => {
    const person = newPerson({ roles: ['support'], email: 'x@example.com', email_verified: false });
    await signIn(person);
    const [signedIn] = await eventsOf(person);
    expect(signedIn?.data).toMatchObject({ personal: { email: null, unverified_email: 'x@example.com' } });
  });

  it('who was removed is refused, whatever the provider says', async () => {
    const person = newPerson({ roles: ['admin'] });
    const [, browser] = await signIn(person);
    await removeStaff(service.commands, { staffId: staffId(person), by: service.operator, timeoutMs: patienceMs });
    const [answer] = await signIn(person);
    expectRefused(answer, 'You were removed');
    await waitFor(async () => (await roleOf(browser)) === undefined, { what: 'the session to end' });
  });

  it('who cancels is not signed in', async () => {
    const [answer] = await signIn(undefined);
    expectRefused(answer, 'You are not signed in');
  });
});

describe('an answer', () => {
  beforeAll(() => {
    provider.person = newPerson({ roles: ['admin'] });
  });

  it('is used once', async () => {
    provider.person = newPerson({ roles: ['admin'] });
    const browser = newBrowser();
    const answer = await toProvider(browser);
    const thief = browser.copy();
    expect((await browser.get(answer)).status).toBe(303);
    // Without the cookie, which is gone, and with a copy of it.
    expectRefused(await browser.get(answer), 'You are not signed in');
    expectRefused(await thief.get(answer), 'You are not signed in');
    expect(thief.session).toBeUndefined();
  });

  it('to another browser signs nobody in: neither a victim in the place of a thief, nor a thief in that of a victim', async () => {
    const [one, other] = [newBrowser(), newBrowser()];
    const [ofOne, ofOther] = [await toProvider(one), await toProvider(other)];
    expectRefused(await one.get(ofOther), 'You are not signed in');
    expectRefused(await newBrowser().get(ofOne), 'You are not signed in');
    // Its own still works: the other one has used nothing up.
    expect((await one.get(ofOne)).status).toBe(303);
  });

  it.each([
    ['without a state', (answer: URLSearchParams) => answer.delete('state')],
    ['with another state', (answer: URLSearchParams) => answer.set('state', 'another')],
    ['with two states', (answer: URLSearchParams) => answer.append('state', answer.get('state') ?? '')],
    ['without a code', (answer: URLSearchParams) => answer.delete('code')],
    ['with another code', (answer: URLSearchParams) => answer.set('code', 'another')],
    ['of another provider', (answer: URLSearchParams) => answer.set('iss', 'https://evil.example')],
    ['without the provider', (answer: URLSearchParams) => answer.delete('iss')],
  ])('%s signs nobody in', async (_, change) => {
    const browser = newBrowser();
    const answer = new URL(await toProvider(browser), origin);
    change(answer.searchParams);
    expectRefused(await browser.get(answer.pathname + answer.search), 'You are not signed in');
  });

  it('to an attempt with another nonce or verifier signs nobody in', async () => {
    const [one, other] = [newBrowser(), newBrowser()];
    const [begun, state] = [
      await one.get('/staff/sign-in/with-provider'),
      (await other.get('/staff/sign-in/with-provider')).headers['location'] ?? '',
    ];
    for (const part of ['nonce', 'code_challenge']) {
      const address = new URL(begun.headers['location'] ?? '');
      address.searchParams.set(part, new URL(state).searchParams.get(part) ?? '');
      expectRefused(await one.get(pathOf(await provider.visit(address.href))), 'You are not signed in');
    }
  });

  it('carries nothing that tells the secrets of the attempt, and each attempt has its own', async () => {
    const browser = newBrowser();
    const begun = new URL((await browser.get('/staff/sign-in/with-provider')).headers['location'] ?? '');
    const { state, nonce, code_challenge: challenge, ...others } = Object.fromEntries(begun.searchParams);
    expect(others).toEqual({
      client_id: openIdClient.id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid email profile',
      code_challenge_method: 'S256',
    });
    const [cookie = ''] = [...browser.cookies.values()];
    expect(begun.href).not.toContain(cookie.split('.')[0]);
    const again = new URL((await newBrowser().get('/staff/sign-in/with-provider')).headers['location'] ?? '');
    const { state: other, nonce: otherNonce, code_challenge: otherChallenge } = Object.fromEntries(again.searchParams);
    expect([state, nonce, challenge].filter((each) => [other, otherNonce, otherChallenge].includes(each))).toEqual([]);
  });

  it('sends nobody to a page of another console or another site', async () => {
    provider.person = newPerson({ roles: ['support'] });
    for (const next of [
      'https://evil.example',
      '//evil.example',
      '/console',
      '/staff/%2e%2e/x',
      '/staff/sign-in/with-provider',
    ]) {
      const browser = newBrowser();
      expect((await browser.get(await toProvider(browser, next))).headers['location']).toBe('/staff');
    }
  });
});

it('a browser that calls this machine by another name comes back to the one that it asked with', async () => {
  provider.person = newPerson({ roles: ['support'] });
  const browser = newBrowser();
  const begun = await browser.get('/staff/sign-in/with-provider?next=%2Fstaff%2Foperation', {
    host: `127.0.0.1:${String(port)}`,
  });
  expect([begun.status, begun.headers['location'], begun.setCookies]).toEqual([
    ...[303, `${origin}/staff/sign-in/with-provider?next=%2Fstaff%2Foperation`, []],
  ]);
});

describe('while the provider is away', () => {
  it('a page says so, links still work, and it is asked again', async () => {
    const waiting = newBrowser();
    provider.person = newPerson({ roles: ['support'] });
    const answer = await toProvider(waiting);
    await provider.stop();
    try {
      expectRefused(await waiting.get(answer), 'The provider does not answer', 503);
      expect((await newBrowser().get('/staff/sign-in')).status).toBe(200);
      // An API that has never reached it.
      const own = await freePort();
      const api = await service.installation.startRole('api', { STAFF_PORT: String(own) });
      const browser = new Browser(api.staffUrl ?? '');
      expectRefused(await browser.get('/staff/sign-in/with-provider'), 'The provider does not answer', 503);
      await provider.restart();
      expect((await browser.get('/staff/sign-in/with-provider')).status).toBe(303);
    } finally {
      await provider.restart();
    }
    expect((await waiting.get(answer)).status).toBe(303);
  });

  it('and never answers, nobody waits for long', async () => {
    const browser = newBrowser();
    provider.person = newPerson({ roles: ['support'] });
    const answer = await toProvider(browser);
    provider.failWith('never');
    const from = performance.now();
    expectRefused(await browser.get(answer), 'The provider does not answer', 503);
    expect(performance.now() - from).toBeLessThan(15_000);
  });

  it('and answers with failures, it signs nobody in', async () => {
    const browser = newBrowser();
    provider.person = newPerson({ roles: ['support'] });
    const answer = await toProvider(browser);
    provider.failWith(502);
    expectRefused(await browser.get(answer), 'The provider does not answer', 503);
  });
});

type OtherProvider = Omit<Parameters<typeof startOpenIdProvider>[0], 'redirectUri'>;

/** Another provider, and a process of ours that asks it. @returns the role that a person with these claims has */
async function roleBy(
  options: OtherProvider,
  settings: Readonly<Record<string, string>>,
  claims: object,
): Promise<string | undefined> {
  const { browser, answer } = await signInBy(options, settings, claims);
  expect(answer.status).toBe(303);
  return await roleOf(browser);
}

async function signInBy(options: OtherProvider, settings: Readonly<Record<string, string>>, claims: object) {
  const own = await freePort();
  const ownOrigin = `http://localhost:${String(own)}`;
  await using other = await startOpenIdProvider({
    redirectUri: `${ownOrigin}/staff/sign-in/provider`,
    ...options,
  });
  other.person = newPerson({ ...claims });
  const api = await service.installation.startRole('api', {
    STAFF_PORT: String(own),
    OIDC_ISSUER: other.issuer,
    ...settings,
  });
  const browser = new Browser(api.staffUrl ?? '');
  const begun = await browser.get('/staff/sign-in/with-provider');
  const address = await other.visit(begun.headers['location'] ?? '');
  return { browser, answer: await browser.get(address.replace(ownOrigin, '')) };
}

it('a token that the published keys have not signed signs nobody in', async () => {
  const { answer } = await signInBy({ publishesOtherKey: true, inIdToken: true }, {}, { roles: ['admin'] });
  expectRefused(answer, 'You are not signed in');
});

it.each([
  ['client_secret_post', { OIDC_CLIENT_SECRET: openIdClient.secret }],
  ['none', { OIDC_CLIENT_SECRET: '' }],
] as const)('a provider that wants %s, with roles in a claim of another name', async (authMethod, settings) => {
  const claims = { groups: ['finance'], roles: ['admin'] };
  expect(await roleBy({ authMethod, inIdToken: true }, { OIDC_ROLE_CLAIM: 'groups', ...settings }, claims)).toBe(
    'finance',
  );
});

it.each([
  ['inside of a claim', 'realm_access.roles', { realm_access: { roles: ['everybody', 'finance'] } }],
  ['deeper, by a name with dots', 'resource_access.a.b.roles', { resource_access: { 'a.b': { roles: 'finance' } } }],
  ['by a whole name with dots', 'https://a.example/roles', { 'https://a.example/roles': ['finance'] }],
] as const)('a provider that says roles for a scope of its own, %s', async (_, OIDC_ROLE_CLAIM, claims) => {
  const ownScope = { name: 'staff:roles', claims: Object.keys(claims) };
  const settings = { OIDC_ROLE_CLAIM, OIDC_SCOPE: 'openid email staff:roles' };
  for (const inIdToken of [false, true])
    expect(await roleBy({ ownScope, inIdToken }, settings, claims)).toBe('finance');
});

// The last one.
it('no request was a failure of the service, and no secret is in its log', () => {
  const log = service.api.log();
  expect(log).not.toContain('a page of the console failed');
  expect(log).not.toContain(openIdClient.secret);
});
