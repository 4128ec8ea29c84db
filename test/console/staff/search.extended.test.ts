import { beforeAll, describe, expect, it } from 'vitest';
import { documentNumber } from '../../../src/domain/document-number.ts';
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
const url = (item: string) => service.installation.sampleUrl(item);

describe('a text that stands for one thing opens it', () => {
  it.each<[string, () => string, () => string]>([
    ['a token', () => complaint.failed, failed],
    ['an account', () => complaint.accountId, account],
    ['the id of a key', () => complaint.keyId, () => `${account()}#${complaint.keyId}`],
    ['a whole key', () => complaint.key, () => `${account()}#${complaint.keyId}`],
    ['the beginning of a key', () => complaint.key.slice(0, 12), () => `${account()}#${complaint.keyId}`],
    ['an e-mail address', () => complaint.email, account],
    ['the same in capitals', () => complaint.email.toUpperCase(), account],
    ['the address of a video', () => url('private'), failed],
    ['a request', () => complaint.requestId, () => `${failed()}#event-${chargeId}`],
    ['an event', () => chargeId, () => `/staff/events/${chargeId}`],
    ['an idempotency key', () => complaint.idempotencyKey, failed],
    [
      'the number of an invoice',
      () => documentNumber('invoice', { account_id: complaint.accountId, number: 1 }),
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
        more: false,
        hits: [
          {
            kind: 'download',
            id: complaint.failed,
            token: complaint.failed,
            account_id: complaint.accountId,
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
