import { hash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { removeStaff } from '../../../src/commands/staff.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { Browser, type Page } from '../browser.ts';
import { type StaffMember, staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();
const { mails } = service;
const newBrowser = () => new Browser(service.staffUrl);
beforeEach(async () => {
  // The limits count links, and each test begins with none.
  await service.sql('delete from staff_links');
});

/** The path of the link in the newest mail to an address. */
const mailedPath = ({ email }: StaffMember): string | undefined => {
  const raw = mails.taken.findLast(({ to }) => to === email)?.raw.replaceAll('=\r\n', '') ?? '';
  return /https?:\/\/\S+(\/staff\/sign-in\/\S+)/.exec(raw)?.[1];
};

async function askForLink(browser: Browser, person: StaffMember, next = ''): Promise<string> {
  const before = mails.taken.length;
  const answer = await browser.post('/staff/sign-in', { email: person.email, next });
  expect(answer.status).toBe(200);
  await waitFor(() => mails.taken.slice(before).some(({ to }) => to === person.email), { what: 'the mail' });
  return mailedPath(person) ?? '';
}

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
    const events = await service.installation.readLog(`staff-${person.staffId}`);
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

  it('asks first in any other browser, and is not used up by that', async () => {
    const person = await service.invite('support');
    const path = await askForLink(newBrowser(), person);
    const [scanner, other] = [newBrowser(), newBrowser()];
    expectQuestion(await scanner.get(path));
    expectQuestion(await other.get(path));
    expect((await other.post(path)).status).toBe(303);
    expect([await isSignedIn(other), await isSignedIn(scanner)]).toEqual([true, false]);
  });

  it('that was printed asks first, and works for a day', async () => {
    const person = await service.invite('admin');
    const path = await service.printedPath(person);
    const browser = newBrowser();
    expectQuestion(await browser.get(path));
    expect((await browser.post(path)).status).toBe(303);
    expect(await isSignedIn(browser)).toBe(true);
    const late = await service.printedPath(person);
    await service.sql(
      "update staff_links set expires_at = clock_timestamp() - interval '1 second' where used_at is null",
    );
    expectUnusable(await newBrowser().post(late));
  });

  it('lets one of two browsers in', async () => {
    const person = await service.invite('support');
    for (let round = 0; round < 5; round += 1) {
      await service.sql('delete from staff_links');
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

  it('whose row the service has not written signs nobody in', async () => {
    const [own, admin] = [await service.invite('support'), await service.invite('admin')];
    const path = await service.printedPath(own);
    await service.sql('update staff_links set staff_id = $1', [admin.staffId]);
    expectUnusable(await newBrowser().post(path));
  });

  it('goes to the address that the log knows, whatever row of Postgres says', async () => {
    const [own, admin] = [await service.invite('support'), await service.invite('admin')];
    await service.sql(
      `update staff_addresses set email_mac = (select email_mac from staff_addresses where staff_id = $1)
       where staff_id = $2`,
      [own.staffId, admin.staffId],
    );
    await service.sql('delete from staff_addresses where staff_id = $1', [own.staffId]);
    const before = mails.taken.length;
    await newBrowser().post('/staff/sign-in', { email: own.email });
    // Another mail is sent after it.
    const other = await service.invite('support');
    await askForLink(newBrowser(), other);
    expect(mails.taken.slice(before).map(({ to }) => to)).toEqual([other.email]);
    expect(await service.sql('select from staff_links where staff_id = $1', [admin.staffId])).toEqual([]);
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
    await waitFor(() => mails.taken.some(({ to }) => to === person.email), { what: 'the mail' });
    expect(mails.received.some(({ to }) => to === unknown)).toBe(false);
  });

  it('sends at most five links to a person in 15 minutes', async () => {
    const person = await service.invite('support');
    const before = mails.taken.length;
    for (let count = 0; count < 8; count += 1) await newBrowser().post('/staff/sign-in', { email: person.email });
    // Links are made after the answer, each in its own time.
    const links = () => service.sql('select from staff_links where staff_id = $1', [person.staffId]);
    await waitFor(async () => (await links()).length >= 5, { what: 'five links' });
    await askForLink(newBrowser(), await service.invite('support'));
    expect(await links()).toHaveLength(5);
    const sent = mails.taken.slice(before).filter(({ to }) => to === person.email);
    expect(sent.length).toBeLessThanOrEqual(5);
  });

  it('lets one client ask for 30 links an hour', async () => {
    const browser = newBrowser();
    const statuses: number[] = [];
    for (let count = 0; count < 32; count += 1)
      statuses.push((await browser.post('/staff/sign-in', { email: 'nobody@example.com' })).status);
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

  it.each(['staff_id', 'role', 'started_at'])('is none once its %s was changed', async (column) => {
    const [own, admin] = [await service.invite('support'), await service.invite('admin')];
    const browser = await service.newStaffSession(own);
    const values = { staff_id: `'${admin.staffId}'`, role: "'admin'", started_at: "started_at + interval '1 second'" };
    await service.sql(
      `update staff_sessions set ${column} = ${values[column as keyof typeof values]} where staff_id = $1`,
      [own.staffId],
    );
    expect(await isSignedIn(browser)).toBe(false);
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
