import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { removeStaff } from '../../../src/commands/staff.ts';
import { staffStream } from '../../../src/domain/staff-events.ts';
import { noDownloads } from '../../http/shared-service.ts';
import { linksOf } from '../../support/mailed-links.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { Browser, type Page } from '../browser.ts';
import { askForLink as askForMailedLink } from '../sign-in.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfRun } from './staff-of-run.ts';

const service = staffOfRun(noDownloads);
const newBrowser = () => new Browser(service.staffUrl);

const askForLink = (browser: Browser, { email }: StaffMember, next = '') =>
  askForMailedLink(browser, email, service, { console: 'staff', next });

const remove = async ({ staffId }: StaffMember) =>
  removeStaff(service.commands, { staffId, by: service.operator, timeoutMs: patienceMs });
const isSignedIn = async (browser: Browser) => (await browser.get('/staff/operation')).status === 200;
const expectUnusable = ({ status, text, setCookies }: Page) => {
  expect([status, text.includes('This link does not work'), setCookies]).toEqual([404, true, []]);
};
const expectQuestion = ({ status, text, setCookies }: Page) => {
  expect([status, text.includes('Sign in here?'), setCookies]).toEqual([200, true, []]);
};

describe('a link', () => {
  it('that was mailed signs the browser in that asked for it, once, and the log says so', async () => {
    const person = await service.invite('finance');
    const browser = newBrowser();
    const path = await askForLink(browser, person, '/staff/operation');
    const again = browser.copy();
    const opened = await browser.get(path);
    expect([opened.status, opened.headers['location']]).toEqual([303, '/staff/operation']);
    expect((await browser.get('/staff/operation')).text).toContain(person.staffId);
    expectUnusable(await again.get(path));
    expectUnusable(await again.post(path));
    const events = await service.commands.store.read(staffStream(person.staffId), 0);
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['StaffInvited', expect.anything()],
      [
        'StaffSignedIn',
        {
          staff_id: person.staffId,
          by: 'link',
          role: 'finance',
          personal: { email: null, unverified_email: null, issuer: null, subject: null },
        },
      ],
    ]);
  });

  it('says no more of where it leads than a path: what somebody has searched for is not mailed', async () => {
    const person = await service.invite('support');
    const browser = newBrowser();
    const next = '/staff/overage?search=https%3A%2F%2Fvideo.example%2Fsecret';
    const path = await askForLink(browser, person, next);
    const [mail = ''] = await service.mailsTo(person.email);
    const [link = ''] = linksOf(mail);
    expect(new URL(link).search).toBe('?next=%2Fstaff%2Foverage');
    expect((await browser.get(path)).headers['location']).toBe(next);
  });

  it('asks first in any other browser, and is not used up by that', async () => {
    const person = await service.invite('support');
    const path = await askForLink(newBrowser(), person);
    const [scanner, other] = [newBrowser(), newBrowser()];
    expectQuestion(await scanner.get(path));
    expectQuestion(await other.get(path));
    expect((await other.post(path)).status).toBe(303);
    expect([await isSignedIn(other), await isSignedIn(scanner)]).toEqual([true, false]);
  });

  it('that was printed greets its owner, and works for a day', async () => {
    const person = await service.invite('admin');
    const path = await service.printedPath(person);
    const browser = newBrowser();
    const { status, text, setCookies } = await browser.get(path);
    expect([status, text.includes('Welcome to Reeltally'), setCookies]).toEqual([200, true, []]);
    expect((await browser.post(path)).status).toBe(303);
    expect(await isSignedIn(browser)).toBe(true);
    const late = await service.printedPath(person);
    await service.sql(
      "update staff_links set expires_at = clock_timestamp() - interval '1 second' where used_at is null and staff_id = $1",
      [person.staffId],
    );
    expectUnusable(await newBrowser().post(late));
  });

  it('lets one of two browsers in', async () => {
    const person = await service.invite('support');
    for (let round = 0; round < 5; round += 1) {
      const path = await service.printedPath(person);
      const answers = await Promise.all([newBrowser().post(path), newBrowser().post(path)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([303, 404]);
    }
  });

  it('is of no more use to somebody who was removed, and neither is a session', async () => {
    const person = await service.invite('admin');
    const browser = await service.newStaffSession(person);
    const path = await service.printedPath(person);
    expect(await isSignedIn(browser)).toBe(true);
    await remove(person);
    expectUnusable(await newBrowser().get(path));
    expectUnusable(await newBrowser().post(path));
    await waitFor(async () => !(await isSignedIn(browser)), { what: 'the session to end' });
  });
});

describe('the form', () => {
  it('is answered the same for every address, and mails nothing to one that nobody has', async () => {
    const person = await service.invite('support');
    const unknown = 'x'.repeat(person.email.indexOf('@')) + '@example.com';
    const asked = async (email: string) => {
      const { status, text, setCookies } = await newBrowser().post('/staff/sign-in', { email });
      return {
        status,
        text: text.replaceAll(email, ''),
        cookies: setCookies.map((each) => each.replace(/=[^.]*/, '')),
      };
    };
    expect(await asked(unknown)).toEqual(await asked(person.email));
    await waitFor(async () => (await service.mailsTo(person.email)).length > 0, { what: 'the mail' });
    expect(await service.mailsTo(unknown)).toEqual([]);
  });

  it('sends at most five links to a person in 15 minutes', async () => {
    const person = await service.invite('support');
    for (let count = 0; count < 8; count += 1) await newBrowser().post('/staff/sign-in', { email: person.email });
    // Links are made after the answer, each in its own time.
    const links = () => service.sql('select from staff_links where staff_id = $1', [person.staffId]);
    await waitFor(async () => (await links()).length >= 5, { what: 'five links' });
    await askForLink(newBrowser(), await service.invite('support'));
    expect(await links()).toHaveLength(5);
    expect((await service.mailsTo(person.email)).length).toBeLessThanOrEqual(5);
  });

  it('lets one client ask for 30 links an hour', async () => {
    const browser = newBrowser();
    const statuses: number[] = [];
    for (let count = 0; count < 32; count += 1)
      statuses.push((await browser.post('/staff/sign-in', { email: `nobody-${String(count)}@example.com` })).status);
    expect(statuses).toEqual([...Array<number>(30).fill(200), 429, 429]);
  });

  it.each([
    ['/staff/operation', '/staff/operation'],
    ['//evil.example', '/staff'],
    ['/console/keys', '/staff'],
    ['/staff/../console', '/staff'],
    ['/staffevil', '/staff'],
    ['/staff\r\nx: y', '/staff'],
  ])('goes on to %j: %s', async (next, expected) => {
    const person = await service.invite('support');
    const browser = newBrowser();
    const opened = await browser.get(await askForLink(browser, person, next));
    expect(opened.headers['location']).toBe(expected);
  });
});

describe('a session', () => {
  it.each([
    ['just within its limits', 12 * 3_600 - 60, 59 * 60, true],
    ['12 hours old', 12 * 3_600 + 1, 0, false],
    ['idle for an hour', 2 * 3_600, 3_600, false],
  ])('%s: holds %s', async (_, ageSeconds, idleSeconds, holds) => {
    const browser = await service.newStaffSession(await service.invite('support'), ageSeconds);
    await service.sql(
      "update staff_sessions set seen_at = clock_timestamp() - $2 * interval '1 second' where secret_hash = $1",
      [hash('sha256', browser.session?.[1] ?? '', 'buffer'), idleSeconds],
    );
    expect(await isSignedIn(browser)).toBe(holds);
  });

  it('ends with signing out, and with signing in again', async () => {
    const person = await service.invite('support');
    const browser = await service.newStaffSession(person);
    const stolen = browser.copy();
    expect((await browser.post('/staff/sign-out')).headers['location']).toBe('/staff/sign-in?done=out');
    expect([browser.session, await isSignedIn(stolen)]).toEqual([undefined, false]);
    const other = await service.newStaffSession(person);
    const before = other.copy();
    await other.post(await service.printedPath(person));
    expect([await isSignedIn(other), await isSignedIn(before)]).toEqual([true, false]);
  });
});
