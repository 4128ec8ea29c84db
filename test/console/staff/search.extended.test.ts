import { beforeAll, describe, expect, it } from 'vitest';
import { documentNumber } from '../../../src/domain/document-number.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, send } from '../browser.ts';
import { askFor, type Complaint, makeComplaint } from './complaint.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();

let browser: Browser;
let complaint: Complaint;
let correctionId: string;
let chargeId: string;

beforeAll(async () => {
  await Promise.all([service.installation.startRole('worker'), service.installation.startRole('dispatcher')]);
  complaint = await makeComplaint(service);
  correctionId = await askFor(service, complaint);
  browser = await service.signedInAs('support');
  const [charge] = await service.sql<{ event_id: string }>(
    "select event_id from overage_ledger where token = $1 and type = 'OverageCharged'",
    [complaint.failed],
  );
  chargeId = charge?.event_id ?? '';
});

const find = (text: string) => browser.post('/staff/search', { search: text });
const account = () => `/staff/accounts/${complaint.accountId}`;
const failed = () => `/staff/downloads/${complaint.failed}`;
/** Where a search marks what it has found. */
const key = () => `${account()}?found=${complaint.keyId}#${complaint.keyId}`;
const opener = () => `${account()}?found=${openerOf(complaint.accountId)}#${openerOf(complaint.accountId)}`;
const invoice = () => documentNumber('invoice', { account_id: complaint.accountId, number: 1 });
/** The link of a file that is gone, as clients have kept it. */
const deadLink = () =>
  `https://reeltally.example/files/${complaint.done}/3/sample-bars.mp4?download=x.mp4&key=a&expires=1&nonce=b&signature=c`;
const url = (item: string) => service.installation.sampleUrl(item);

describe('a text that stands for one thing opens it', () => {
  it.each<[string, () => string, () => string]>([
    ['a token', () => complaint.failed, failed],
    ['an account', () => complaint.accountId, account],
    ['its first ten characters', () => complaint.failed.slice(0, 10), failed],
    ['a link to a file that is gone', deadLink, () => `/staff/downloads/${complaint.done}`],
    [
      'the path of such a link',
      () => `/files/${complaint.done}/3/sample-bars.mp4`,
      () => `/staff/downloads/${complaint.done}`,
    ],
    ['the address that a client polls', () => `http://localhost/api/v1/video/status?token=${complaint.failed}`, failed],
    ['an account in capitals', () => complaint.accountId.toUpperCase(), account],
    ['the id of a key', () => complaint.keyId, key],
    ['a whole key', () => complaint.key, key],
    ['the beginning of a key', () => complaint.key.slice(0, 12), key],
    ['its first ten characters', () => complaint.key.slice(0, 10), key],
    ['an e-mail address', () => complaint.email, opener],
    ['the same in capitals', () => complaint.email.toUpperCase(), opener],
    ['the address of a video', () => url('private'), failed],
    ['a request', () => complaint.requestId, () => `${failed()}?at=${chargeId}#event-${chargeId}`],
    ['an event', () => chargeId, () => `/staff/events/${chargeId}`],
    ['an idempotency key', () => complaint.idempotencyKey, failed],
    ['the number of an invoice', invoice, () => `${account()}/invoices/1`],
    [
      'the same with spaces and in small letters',
      () => invoice().replaceAll('-', ' ').toLowerCase(),
      () => `${account()}/invoices/1`,
    ],
    [
      'the same without its kind and its hyphens',
      () => invoice().slice(4).replaceAll('-', ''),
      () => `${account()}/invoices/1`,
    ],
    ['a correction', () => correctionId, () => `/staff/corrections/${correctionId}`],
    [
      'the reference of a correction',
      () => `ask-${correctionId.slice(0, 8)}`,
      () => `/staff/corrections/${correctionId}`,
    ],
    ['spaces around it', () => `  ${complaint.failed}\n`, failed],
  ])('%s', async (_, text, path) => {
    const { status, headers } = await find(text());
    expect([status, headers['location']]).toEqual([303, path()]);
  });
});

it('several things are listed, each with what it is, when it was and whose', async () => {
  const other = await makeComplaint(service);
  const { status, text } = await find(url('bars'));
  expect(status).toBe(200);
  expect(text).toContain('2 matches for');
  for (const { accountId, done } of [complaint, other]) {
    expect(text).toContain(`href="/staff/downloads/${done}"`);
    expect(text).toContain(`href="/staff/accounts/${accountId}"`);
  }
});

it('hits of several kinds can be narrowed down to one, and what is found is marked where it leads', async () => {
  const word = `Narrow${complaint.accountId.slice(4, 12)}`;
  await service.installation.cli(['accounts', 'billing', complaint.accountId, '--name', `${word} Example Ltd`]);
  await service.installation.cli(['people', 'invite', complaint.accountId, `ada@${word}.example`]);
  const found = async (search: string, kind = '') => (await browser.post('/staff/search', { search, kind })).text;
  await waitFor(async () => (await browser.post('/staff/search', { search: word })).status === 303, {
    what: 'the name',
  });
  const both = await found(`${word}.example`);
  expect(both).toMatch(/<form method="post" action="\/staff\/search" class="filters">/);
  expect(both).toMatch(/value="person"[^>]*>\s*Person of an account \(1\).*value="customer"[^>]*>\s*Customer \(1\)/s);
  const person = await browser.post('/staff/search', { search: `${word}.example`, kind: 'person' });
  expect(person.status).toBe(303);
  const { text } = await browser.get(person.headers['location']?.split('#')[0] ?? '');
  expect(text).toContain(`<mark>ada@${word}.example</mark>`);
  expect((await browser.post('/staff/search', { search: word, kind: 'nothing' })).status).toBe(400);
});

it('nothing is found by a text that nothing is known by, and it is shown as text', async () => {
  const { status, text } = await find('<b>nothing</b>');
  expect(status).toBe(200);
  expect(text).toContain('Nothing was found for <code>&lt;b&gt;nothing&lt;/b&gt;</code>');
  expect((await find('x'.repeat(2_048))).status).toBe(200);
});

it.each([
  ['a number of a document that no number is', () => `INV-${complaint.accountId.slice(4).toUpperCase()}-99999999999`],
  ['one that is endless', () => `CN-AAAA-${'9'.repeat(400)}`],
  ['the beginning that every key has', () => 'rtk_'],
  ['a wildcard', () => '%'],
  ['a wildcard in an address', () => '%@%'],
  ['a part of an address', () => complaint.email.slice(0, -1)],
  [
    'an address in letters that only look the same',
    () => complaint.email.replace('e', '\u0435').replace('a', '\u0430'),
  ],
  ['a token with a wildcard', () => `${complaint.failed.slice(0, -1)}%`],
  ['half of a pair', () => '\ud800x'],
  ['signs of SQL and of regular expressions', () => `' or 1=1 -- .*(`],
])('nothing is found, and nobody looked at, by %s', async (_, text) => {
  const person = await service.invite('support');
  const { status, text: page } = await (
    await service.newStaffSession(person)
  ).post('/staff/search', { search: text() });
  expect([status, page]).toEqual([200, expect.stringContaining('Nothing was found for')]);
  const events = await service.installation.readLog(`staff-${person.staffId}`);
  expect(events.map(({ type }) => type)).toEqual(['StaffInvited']);
});

it('an event of a job is found with its account, at whose data somebody has then looked', async () => {
  const [failed] = await service.sql<{ event_id: string }>(
    "select event_id from job_timeline where token = $1 and type = 'JobFailed'",
    [complaint.failed],
  );
  const person = await service.invite('support');
  const answer = await (
    await service.newStaffSession(person)
  ).post('/staff/search', { search: failed?.event_id ?? '' });
  const { status, headers, text: page } = answer;
  expect([status, headers['location'], page]).toEqual([303, `/staff/events/${failed?.event_id ?? ''}`, '']);
  const events = await service.installation.readLog(`staff-${person.staffId}`);
  expect(events.slice(1).map(({ data }) => data)).toMatchObject([{ account_id: complaint.accountId, page: 'search' }]);
});

it('an empty text leads to the start, and one that is too long is refused', async () => {
  expect((await find('  ')).headers['location']).toBe('/staff');
  expect((await find('x'.repeat(2_049))).status).toBe(400);
  expect((await browser.get('/staff/search')).headers['location']).toBe('/staff');
  expect((await browser.get('/staff/search?for=wrong')).headers['location']).toBe('/staff');
});

it('what was found has an address, which hides the text and shows it to one person alone', async () => {
  const found = await browser.post('/staff/search', { search: 'sample', kind: '' });
  const none = await browser.post('/staff/search', { search: 'nothing-of-the-kind' });
  for (const { status, text } of [found, none]) {
    expect(status).toBe(200);
    const address = /data-answer="(\/staff\/search\?for=[\w.-]+)"/.exec(text)?.[1] ?? '';
    expect(address).not.toMatch(/sample|nothing/);
    const again = await browser.get(address);
    expect(again.status).toBe(200);
    expect(again.text).toContain(/ for <code>\w[^<]*<\/code>/.exec(text)?.[0]);
    const another = await service.signedInAs('support');
    expect((await another.get(address)).headers['location']).toBe('/staff');
  }
});

it('who has looked at whose accounts is in the log before the answer comes', async () => {
  const person = await service.invite('support');
  const another = await service.newStaffSession(person);
  await another.post('/staff/search', { search: complaint.email });
  const events = await service.installation.readLog(`staff-${person.staffId}`);
  expect(events.map(({ type, data }) => [type, data]).slice(1)).toEqual([
    ['PersonalDataViewed', { staff_id: person.staffId, account_id: complaint.accountId, token: null, page: 'search' }],
  ]);
});

it('a program is answered the same', async () => {
  const { staffId } = await service.invite('support');
  const { token, tokenId } = await service.issueToken(staffId, ['accounts']);
  const ask = (body: object) =>
    send(service.staffUrl, {
      method: 'POST',
      path: '/staff/v1/search',
      body: JSON.stringify(body),
      headers: {
        host: new URL(service.staffUrl).host,
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
      },
    });
  const { status, text } = await ask({ search: complaint.failed });
  expect([status, JSON.parse(text)]).toEqual([
    200,
    {
      success: true,
      data: {
        kinds: [{ kind: 'download', hits: 1 }],
        more: false,
        hits: [
          {
            kind: 'download',
            id: complaint.failed,
            token: complaint.failed,
            account_id: complaint.accountId,
            customer: expect.any(String) as string,
            label: 'sample private',
            time: expect.any(String) as string,
            path: failed(),
          },
        ],
      },
    },
  ]);
  expect((await ask({})).status).toBe(400);
  expect((await ask({ search: 'a\0b' })).status).toBe(400);
  // No character of that code: a backslash, and the letters after it.
  expect((await ask({ search: String.raw`a\u0000b` })).status).toBe(200);
  const events = await service.installation.readLog(`staff-${staffId}`);
  expect(events.filter(({ type }) => type === 'PersonalDataViewed').map(({ data }) => data)).toMatchObject([
    { account_id: complaint.accountId, page: 'search', by_token: tokenId },
  ]);
});
