import { hash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { openerOf } from '../../../src/domain/people.ts';
import { isLongProof, scaled } from '../../support/proof-scale.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Browser, type Page } from '../browser.ts';
import { askForLink, signIn } from '../sign-in.ts';
import { consoleOfFile } from './console-of-file.ts';

const service = await consoleOfFile();
const { installation, mails } = service;
const sql = <Row extends Record<string, unknown>>(text: string, values?: unknown[]) => service.sql<Row>(text, values);
const newBrowser = () => new Browser(service.api.url);
const link = (browser: Browser, email: string, next = '') => askForLink(browser, email, service, { next });

let emails = 0;
const newEmail = () => `person-${String((emails += 1))}@example.com`;
const hashOf = (secret: string) => hash('sha256', secret, 'buffer');
const secretOf = (path: string) => path.split('/').at(-1) ?? '';

beforeEach(async () => {
  // The limits count links, and each test begins with none.
  await sql('delete from sign_in_links');
});

const isSignedIn = async (browser: Browser) => (await browser.get('/console/keys')).status === 200;
const expectUnusable = ({ status, text }: Page) => {
  expect([status, text.includes('This link does not work')]).toEqual([404, true]);
};
/** The page that asks, instead of signing in. */
const expectQuestion = ({ status, text, setCookies }: Page) => {
  expect([status, text.includes('Sign in here?'), setCookies]).toEqual([200, true, []]);
};

describe('a sign-in link', () => {
  it('signs the browser in that asked for it, once', async () => {
    const email = newEmail();
    const accountId = await service.openAccount(email);
    const browser = newBrowser();
    const path = await link(browser, email);
    const again = browser.copy();
    const opened = await browser.get(path);
    expect([opened.status, opened.headers['location']]).toEqual([303, '/console']);
    expect((await browser.get('/console/keys')).text).toContain(accountId);
    expectUnusable(await browser.get(path));
    expectUnusable(await again.get(path));
    expectUnusable(await again.post(path, { account: accountId }));
    expect(again.session).toBeUndefined();
  });

  it('asks first in any other browser, and is not used up by that', async () => {
    const email = newEmail();
    const accountId = await service.openAccount(email);
    const path = await link(newBrowser(), email);
    const [scanner, other] = [newBrowser(), newBrowser()];
    expectQuestion(await scanner.get(path));
    expectQuestion(await scanner.get(path));
    expectQuestion(await other.get(path));
    const confirmed = await other.post(path, { account: accountId });
    expect(confirmed.status).toBe(303);
    expect(await isSignedIn(other)).toBe(true);
    expect(await isSignedIn(scanner)).toBe(false);
  });

  it.each([
    ['almost 15 minutes', 14 * 60 + 50, true],
    ['15 minutes', 15 * 60, false],
    ['a day', 86_400, false],
  ])('of %s: works %s s after it was asked for: %s', async (_, ageSeconds, works) => {
    const email = newEmail();
    await service.openAccount(email);
    const browser = newBrowser();
    const path = await link(browser, email);
    await age(path, ageSeconds, { isSigned: true });
    const opened = await browser.get(path);
    expect(opened.status).toBe(works ? 303 : 404);
  });

  it('lets exactly one of two browsers in, through whichever process', async () => {
    const other = await installation.startRole('api');
    for (let round = 0; round < scaled(10, 300); round += 1) {
      // Of one address, few links are sent.
      const email = newEmail();
      const accountId = await service.openAccount(email);
      const asking = newBrowser();
      const path = await link(asking, email);
      const [one, two, three] = [asking, new Browser(other.url), newBrowser()];
      // The first opens the link, the others confirm; which of them comes first is left to chance.
      const answers = await Promise.all([
        one.get(path),
        two.post(path, { account: accountId }),
        three.post(path, { account: accountId }),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([303, 404, 404]);
      const signedIn = await Promise.all([one, two, three].map((browser) => isSignedIn(browser)));
      expect(signedIn).toEqual(answers.map(({ status }) => status === 303));
    }
  });

  it('lets people with several accounts choose one of theirs', async () => {
    const email = newEmail();
    const accountIds = [await service.openAccount(email), await service.openAccount(email)].sort();
    const foreign = await service.openAccount(newEmail());
    const browser = newBrowser();
    const path = await link(browser, email);
    const choice = await browser.get(path);
    expect(choice.text).toContain('Which account?');
    expect([...choice.text.matchAll(/value="(acc_\w+)"/g)].map(([, id]) => id)).toEqual(accountIds);
    expectUnusable(await browser.post(path, { account: foreign }));
    expectUnusable(await browser.post(path));
    expect((await browser.post(path, { account: accountIds[1] ?? '' })).status).toBe(303);
    const { text } = await browser.get('/console/keys');
    expect([text.includes(accountIds[1] ?? ''), text.includes(accountIds[0] ?? '')]).toEqual([true, false]);
  });

  it('finds people however they write their address', async () => {
    const email = newEmail();
    await service.openAccount(email);
    const browser = newBrowser();
    expect((await browser.get(await link(browser, email.toUpperCase()))).status).toBe(303);
  });

  it('goes to the address that is known, not to one that looks like it', async () => {
    const email = `kelvin-${newEmail()}`;
    await service.openAccount(email);
    // U+212A, the sign of the unit, is a k in small letters, and is another mailbox.
    const alike = await newBrowser().post('/console/sign-in', { email: email.replace('k', '\u212a') });
    expect(alike.status).toBe(400);
    await link(newBrowser(), email);
    const sent = () => mails.received.map(({ to }) => to).filter((to) => to.includes('elvin'));
    expect(sent()).toEqual([email]);
  });

  it('that was asked for before "Sign out everywhere" signs nobody in after it, even in the same moment', async () => {
    const other = await installation.startRole('api');
    for (let round = 0; round < scaled(10, 300); round += 1) {
      // Of one address, few links are sent.
      const email = newEmail();
      const accountId = await service.openAccount(email);
      const [asking, elsewhere, later] = [newBrowser(), new Browser(other.url), newBrowser()];
      const [one, two] = [await link(asking, email), await link(elsewhere, email)];
      const signedIn = await service.newSession({ accountId, personId: openerOf(accountId) });
      const [out, opened] = await Promise.all([signedIn.post('/console/settings/sessions/end-all'), asking.get(one)]);
      expect([out.status, [303, 404].includes(opened.status)]).toEqual([303, true]);
      // The link was used before, and its session ended, or it was too late.
      expect(await isSignedIn(asking)).toBe(false);
      expectUnusable(await elsewhere.get(two));
      expectUnusable(await elsewhere.post(two, { account: accountId }));
      expect((await later.get(await link(later, email))).status).toBe(303);
    }
  });

  it('is of no more use to somebody who was removed', async () => {
    const [email, mate] = [newEmail(), newEmail()];
    const accountId = await service.openAccount(email);
    await installation.cli(['people', 'invite', accountId, mate]);
    await waitForPeople(accountId, 2);
    const browser = newBrowser();
    const path = await link(browser, mate);
    await installation.cli(['people', 'remove', accountId, mate]);
    expectUnusable(await browser.get(path));
    expectUnusable(await browser.post(path, { account: accountId }));
  });
});

const waitForPeople = (accountId: string, count: number) =>
  waitFor(
    async () =>
      (await sql('select from people where account_id = $1 and removed_at is null', [accountId])).length === count,
    { what: `${String(count)} people` },
  );

interface LinkRow extends Record<string, unknown> {
  email_hashes: string[];
  account_ids: string[];
  browser_hash: Buffer | null;
  created_at: string;
}

/** Moves the instant at which a link was asked for into the past. */
async function age(path: string, seconds: number, { isSigned }: { isSigned: boolean }): Promise<void> {
  const secretHash = hashOf(secretOf(path));
  const [row] = await sql<LinkRow>(
    `update sign_in_links set created_at = created_at - $2 * interval '1 second' where secret_hash = $1 returning *`,
    [secretHash, seconds],
  );
  if (!row) throw new Error('there is no such link');
  const { email_hashes: hashes, account_ids: accounts, browser_hash: browser, created_at: at } = row;
  const text = [secretHash.toString('hex'), hashes, accounts, browser?.toString('hex') ?? null, at];
  if (!isSigned) return;
  const mac = service.macs.sign('sign_in_links', JSON.stringify(text));
  await sql('update sign_in_links set mac = $2 where secret_hash = $1', [secretHash, mac]);
}

describe('the form', () => {
  const withoutChance = ({ status, headers, setCookies, text }: Page, email: string) => ({
    status,
    headers: { ...headers, 'x-request-id': '', date: '' },
    setCookies: setCookies.map((each) => each.replace(/=[\w-]{32}\./, '=(random).')),
    text: text.replaceAll(email, '(address)'),
  });

  it('is answered the same for every address, and mails nothing to one without an account', async () => {
    const [known, unknown] = [newEmail(), newEmail()].map((email) => email.padStart(30, 'x')) as [string, string];
    await service.openAccount(known);
    const ofUnknown = await newBrowser().post('/console/sign-in', { email: unknown });
    const ofKnown = await newBrowser().post('/console/sign-in', { email: known });
    expect(withoutChance(ofUnknown, unknown)).toEqual(withoutChance(ofKnown, known));
    await waitFor(() => mails.taken.some(({ to }) => to === known), { what: 'the mail' });
    await link(newBrowser(), known);
    expect(mails.received.filter(({ to }) => to === unknown)).toEqual([]);
    expect(await sql('select from sign_in_links where account_ids = $1', [[]])).toEqual([]);
  });

  if (isLongProof)
    it('takes as long for an address without an account', async () => {
      const known = newEmail();
      await service.openAccount(known);
      const times = { known: [] as number[], unknown: [] as number[] };
      for (let round = 0; round < 1_000; round += 1) {
        for (const kind of ['known', 'unknown'] as const) {
          const browser = newBrowser();
          const startedMs = performance.now();
          await browser.post('/console/sign-in', { email: kind === 'known' ? known : newEmail() });
          times[kind].push(performance.now() - startedMs);
        }
        if (round % 4 === 0) await sql('delete from sign_in_links');
      }
      const median = (values: number[]) => values.sort((one, other) => one - other)[values.length >> 1] ?? 0;
      const [ofKnown, ofUnknown] = [median(times.known), median(times.unknown)];
      expect(Math.abs(ofKnown - ofUnknown), `${String(ofKnown)} ms and ${String(ofUnknown)} ms`).toBeLessThan(
        Math.max(1, ofUnknown / 3),
      );
    });

  it.each(['', 'nobody', 'a@b\r\nBcc: c@d', 'a@b@c', 'é'.repeat(255)])(
    'refuses what is no address: %.20j',
    async (email) => {
      const answer = await newBrowser().post('/console/sign-in', { email });
      expect([answer.status, answer.setCookies]).toEqual([400, []]);
    },
  );

  it('sends at most five links to an address in 15 minutes, however they are asked for', async () => {
    const email = newEmail();
    await service.openAccount(email);
    const before = mails.received.length;
    const asking = Array.from({ length: scaled(25, 60) }, () => newBrowser().post('/console/sign-in', { email }));
    const statuses = (await Promise.all(asking)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    const other = newEmail();
    await service.openAccount(other);
    await link(newBrowser(), other);
    const sent = mails.received.slice(before).filter(({ to }) => to === email).length;
    expect(sent).toBeGreaterThanOrEqual(1);
    expect(sent).toBeLessThanOrEqual(5);
    const rows = await sql('select from sign_in_links where used_at is null');
    expect(rows.length - 1).toBe(sent);
  });

  it('tells, from the sixth on, that five are sent: of an address that nobody has, the same', async () => {
    const known = newEmail();
    await service.openAccount(known);
    const told: string[] = [];
    for (const email of [known, newEmail()]) {
      for (let count = 0; count < 5; count += 1) await newBrowser().post('/console/sign-in', { email });
      const { status, text } = await newBrowser().post('/console/sign-in', { email });
      expect(status).toBe(429);
      told.push(text.replaceAll(email, 'it'));
    }
    expect(told[0]).toContain('or ask again in 15 min.');
    expect(told[1]).toBe(told[0]);
  });

  it('sends at most 30 links an hour to the people of an account', async () => {
    const [first = '', ...mates] = Array.from({ length: 8 }, newEmail);
    const accountId = await service.openAccount(first);
    for (const mate of mates) await installation.cli(['people', 'invite', accountId, mate]);
    await waitForPeople(accountId, 8);
    const before = mails.received.length;
    for (let round = 0; round < 5; round += 1) {
      for (const email of [first, ...mates]) await newBrowser().post('/console/sign-in', { email });
    }
    const other = newEmail();
    await service.openAccount(other);
    await link(newBrowser(), other);
    expect(mails.received.length - before - 1).toBe(30);
  });

  it('lets one client ask for 30 links an hour, for whatever addresses', async () => {
    const browser = newBrowser();
    const statuses: number[] = [];
    for (let count = 0; count < 32; count += 1) {
      statuses.push((await browser.post('/console/sign-in', { email: newEmail() })).status);
    }
    expect(statuses).toEqual([...Array<number>(30).fill(200), 429, 429]);
    expect((await newBrowser().post('/console/sign-in', { email: newEmail() })).status).toBe(200);
  });
});

describe('the page after signing in', () => {
  const ours = ['/console', '/console/downloads?status=done&search=https%3A%2F%2Fexample.com', '/console/keys'];
  const notOurs = [
    ...['//evil.example', '/\\evil.example', '\\\\evil.example', 'https://evil.example', 'javascript:alert(1)'],
    ...['/console/../api/v1/credits', '/console/%2e%2e/docs', '/console/.%2E/docs', '/console/..', '/console//evil'],
    ...['/console/..%2f..%2fevil', '/console@evil.example', '/console.evil.example', '/consoleevil', ''],
    ...['/console/\nLocation: https://evil.example', '/console\r\n', '/console/\t/evil', '/docs'],
  ];

  it.each([...ours.map((next) => [next, next]), ...notOurs.map((next) => [next, '/console'])])(
    'for %j is %j',
    async (next, expected) => {
      const email = newEmail();
      await service.openAccount(email);
      const browser = newBrowser();
      const form = await browser.get(`/console/sign-in?next=${encodeURIComponent(next)}`);
      const [, shown = ''] = /name="next" value="([^"]*)"/.exec(form.text) ?? [];
      expect(shown.replaceAll('&amp;', '&')).toBe(expected);
      const opened = await browser.get(await link(browser, email, next));
      expect(opened.headers['location']).toBe(expected);
    },
  );

  it('is not one whose address is too long for a cookie', async () => {
    const browser = newBrowser();
    await browser.post('/console/sign-in', { email: newEmail(), next: `/console/keys?${'a'.repeat(4_000)}` });
    expect([...browser.cookies.values()].map((value) => value.length < 4_000)).toEqual([true]);
  });

  it('is not chosen by a cookie that somebody else has set', async () => {
    const email = newEmail();
    await service.openAccount(email);
    const browser = newBrowser();
    const path = await link(browser, email);
    const [[name, value] = []] = browser.cookies;
    const evil = Buffer.from('//evil.example').toString('base64url');
    browser.cookies.set(name ?? '', `${value?.split('.')[0] ?? ''}.${evil}`);
    expect((await browser.get(path)).headers['location']).toBe('/console');
  });
});

describe('a row that the service has not written signs nobody in', () => {
  it('of people, with the MAC of somebody else’s address', async () => {
    const [own, victim] = [newEmail(), newEmail()];
    const ownAccount = await service.openAccount(own);
    const victims = await service.openAccount(victim);
    const copied = '(select email_mac from people where account_id = $2)';
    await sql(`update people set email_mac = ${copied} where account_id = $1`, [victims, ownAccount]);
    const browser = newBrowser();
    const opened = await browser.get(await link(browser, own));
    expect(opened.status).toBe(303);
    const { text } = await browser.get('/console/keys');
    expect([text.includes(ownAccount), text.includes(victims)]).toEqual([true, false]);
  });

  it('of people, for another person of the same account', async () => {
    const [opener, mate] = [newEmail(), newEmail()];
    const accountId = await service.openAccount(opener);
    await installation.cli(['people', 'invite', accountId, mate]);
    await waitForPeople(accountId, 2);
    const people = await sql<{ person_id: string; email_mac: string }>(
      'select person_id, email_mac from people where account_id = $1 order by since',
      [accountId],
    );
    // Each as the one who forges the other's row: which of the two is read first is left to Postgres.
    for (const [email, { person_id: own, email_mac: mac }] of [
      [opener, people[0]!],
      [mate, people[1]!],
    ] as const) {
      await sql('update people set email_mac = $2 where account_id = $1', [accountId, mac]);
      const browser = newBrowser();
      await browser.get(await link(browser, email));
      const [, secret = ''] = browser.session ?? [];
      const [session] = await sql('select person_id from console_sessions where secret_hash = $1', [hashOf(secret)]);
      expect(session?.['person_id']).toBe(own);
    }
  });

  it('of links, with an instant that was moved', async () => {
    const email = newEmail();
    await service.openAccount(email);
    const browser = newBrowser();
    const path = await link(browser, email);
    await age(path, 1, { isSigned: false });
    expectUnusable(await browser.get(path));
  });

  it('of links, for another address', async () => {
    const [own, victim] = [newEmail(), newEmail()];
    await service.openAccount(own);
    const victims = await service.openAccount(victim);
    const browser = newBrowser();
    const path = await link(browser, own);
    await sql(
      'update sign_in_links set email_hashes = array(select email_mac from people where account_id = $2) where secret_hash = $1',
      [hashOf(secretOf(path)), victims],
    );
    expectUnusable(await browser.get(path));
    expectUnusable(await browser.post(path, { account: victims }));
  });

  it('of links, that was used', async () => {
    const email = newEmail();
    await service.openAccount(email);
    const browser = newBrowser();
    const path = await link(browser, email);
    const thief = browser.copy();
    await browser.get(path);
    await sql('update sign_in_links set used_at = null, created_at = clock_timestamp()');
    expectUnusable(await thief.get(path));
  });

  it('of sessions, for another account', async () => {
    const [own, victim] = [newEmail(), newEmail()];
    await service.openAccount(own);
    const victims = await service.openAccount(victim);
    const browser = await signIn(newBrowser(), own, service);
    const [, secret = ''] = browser.session ?? [];
    expect(await isSignedIn(browser)).toBe(true);
    await sql(
      'update console_sessions set account_id = p.account_id, person_id = p.person_id from people p where secret_hash = $1 and p.account_id = $2',
      [hashOf(secret), victims],
    );
    expect(await isSignedIn(browser)).toBe(false);
  });

  it('of sessions, for a secret of one’s own', async () => {
    const victim = newEmail();
    await service.openAccount(victim);
    const victims = await signIn(newBrowser(), victim, service);
    const [name = '', secret = ''] = victims.session ?? [];
    await sql(
      `insert into console_sessions select $2, 'ses_forged', account_id, person_id, browser, started_at, seen_at, mac
       from console_sessions where secret_hash = $1`,
      [hashOf(secret), hashOf('guessed')],
    );
    const thief = newBrowser();
    thief.cookies.set(name, 'guessed');
    expect(await isSignedIn(thief)).toBe(false);
    expect(await isSignedIn(victims)).toBe(true);
  });
});

describe('a new secret', () => {
  it('still finds people and sessions of the old one', async () => {
    const email = newEmail();
    await service.openAccount(email);
    const before = await signIn(newBrowser(), email, service);
    const rotated = await installation.startRole('api', {
      REELTALLY_SECRET: 'another secret, which is long enough too',
      REELTALLY_OLD_SECRETS: installation.environment.REELTALLY_SECRET,
    });
    const moved = new Browser(rotated.url);
    for (const [name, value] of before.cookies) moved.cookies.set(name, value);
    expect(await isSignedIn(moved)).toBe(true);
    expect(await isSignedIn(await signIn(new Browser(rotated.url), email, service))).toBe(true);
  });
});
