import { beforeAll, expect, it } from 'vitest';
import type { ChargedAccount } from '../../commands/charged-account.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, type Page, textOf } from '../browser.ts';
import { chargedAccount, closeAndInvoice, failDownloads } from './charged-accounts.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile({ STAFF_APPROVAL_CENTS: '60' });

let finance: Browser;
let support: Browser;
let two: ChargedAccount;
let three: ChargedAccount;
let closed: ChargedAccount;

const minute = (secondsFromNow: number) => new Date(Date.now() + secondsFromNow * 1_000).toISOString().slice(0, 16);
/** An outage that is over: what the tests have failed is moved into it. */
const time = { from: minute(-7_200), to: minute(-3_600) };
const about = { platform: 'youtube', failure: 'private_video', ...time };
const query = (changed: object = {}) => new URLSearchParams({ ...about, ...changed }).toString();

beforeAll(async () => {
  finance = await service.signedInAs('finance');
  support = await service.signedInAs('support');
  two = await chargedAccount(service, 3);
  three = await chargedAccount(service, 3);
  closed = await chargedAccount(service, 1);
  await failDownloads(service, two, { which: two.tokens.slice(0, 2) });
  await failDownloads(service, two, { which: two.tokens.slice(2), reason: 'too_long' });
  await failDownloads(service, three);
  await failDownloads(service, closed);
  await closeAndInvoice(service, closed);
  await service.sql("update jobs set finished_at = $1::timestamptz + interval '10 minutes'", [`${time.from}Z`]);
});

const corrections = () => service.installation.readLog('corrections-');
const waivers = async ({ stream }: ChargedAccount) =>
  (await service.installation.readLog(stream)).filter(({ type }) => type === 'ChargeWaived');

it('is shown before anything is changed: charges and sums by account and period', async () => {
  expect(textOf(await finance.get('/staff/corrections/outage'))).toContain('Nothing is changed before');
  const page = textOf(await finance.get(`/staff/corrections/outage?${query()}`));
  expect(page).toMatch(/\$1\.50 for 6 charges in 3 periods\./);
  expect(page).toContain('The books of 1 period are closed: credit notes give their charges back.');
  expect(page).toMatch(new RegExp(`${three.accountId} .* 3 3 \\$0\\.75 open .*${two.accountId} .* 2 2 \\$0\\.50 open`));
  expect(textOf(await finance.get(`/staff/corrections/outage?${query({ failure: '' })}`))).toContain('7 charges');
  expect(textOf(await finance.get(`/staff/corrections/outage?${query({ platform: 'vimeo' })}`))).toContain(
    'has failed so',
  );
  expect(await corrections()).toEqual([]);
});

it.each([
  ['a time that is none', { from: 'x' }, 'is no time'],
  ['an end before the beginning', { to: time.from }, 'ends before it begins'],
  ['an end in the future', { to: minute(3_600) }, 'still to come'],
  ['more than a month', { from: '2026-01-01T00:00' }, 'at most 31 days'],
  ['an unknown reason', { failure: 'x' }, 'is no reason'],
])('is refused for %s', async (_name, changed, text) => {
  const { status, text: page } = await finance.get(`/staff/corrections/outage?${query(changed)}`);
  expect([status, page]).toEqual([400, expect.stringContaining(text)]);
});

/** The fields of the form at the foot of a page that shows what would be given back. */
const fieldsOf = ({ text }: Page, more: object = {}) => ({
  ...Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)]
      .map(([, name = '', value = '']) => [name, value] as const)
      .filter(([name]) => [...Object.keys(about), 'shown'].includes(name)),
  ),
  reference: 'OUTAGE-1',
  reason: 'the platform was away',
  ...more,
});
const look = async (changed: object = {}) => fieldsOf(await finance.get(`/staff/corrections/outage?${query(changed)}`));
/** Into the outage. */
const moveAll = () =>
  service.sql("update jobs set finished_at = $1::timestamptz + interval '10 minutes' where status = 'failed'", [
    `${time.from}Z`,
  ]);

it('gives nothing back that was not shown: failures that came in between are shown first, and closed books change nothing', async () => {
  const fields = await look();
  const late = await chargedAccount(service, 1);
  await failDownloads(service, late);
  await moveAll();
  const answer = await finance.post('/staff/corrections/outage', fields);
  expect(answer.status).toBe(409);
  expect(textOf(answer)).toMatch(/It has changed since it was shown\. Nothing was given back.*\$1\.75 for 7 charges/);
  // What was typed is kept.
  expect(answer.text).toContain('value="OUTAGE-1"');
  expect(answer.text).toContain('the platform was away</textarea>');
  const again = fieldsOf(answer);
  await closeAndInvoice(service, late);
  expect((await finance.post('/staff/corrections/outage', { ...again, shown: '' })).status).toBe(409);
  expect(await corrections()).toEqual([]);
});

it('is given back by one correction for each account and period, once under one reference', async () => {
  const fields = await look();
  const page = textOf(await finance.post('/staff/corrections/outage', fields));
  // Above the limit of 60 cents, the larger one waits.
  expect(page).toMatch(new RegExp(`${three.accountId} .* 3 \\$0\\.75 waits for approval`));
  expect(page).toMatch(new RegExp(`${two.accountId} .* 2 \\$0\\.50 given back`));
  expect(await waivers(two)).toHaveLength(2);
  expect(await waivers(three)).toHaveLength(0);
  const stored = await corrections();
  expect(stored.filter(({ type }) => type === 'CorrectionAsked')).toHaveLength(4);
  // Of closed books.
  const notes = (await service.installation.readLog('invoices-')).filter(({ type }) => type === 'CreditNoteIssued');
  expect(notes.map(({ data }) => data)).toMatchObject([
    { reference: 'OUTAGE-1', cents: 25, charges: [{ cents: 25 }] },
    { reference: 'OUTAGE-1', cents: 25, charges: [{ cents: 25 }] },
  ]);

  const again = textOf(await finance.post('/staff/corrections/outage', fields));
  expect(again).toMatch(new RegExp(`${two.accountId} .* 2 \\$0\\.50 given back`));
  expect(await corrections()).toEqual(stored);
  expect(await waivers(two)).toHaveLength(2);
  const byOther = textOf(await support.post('/staff/corrections/outage', fields));
  expect(byOther).toContain('This reference has given something back');
  expect(await corrections()).toEqual(stored);

  // The page is of the read model, which follows the log.
  const left = async () => textOf(await finance.get(`/staff/corrections/outage?${query()}`));
  await waitFor(async () => (await left()).includes('$0.75 for 3 charges'), { what: 'the charges that are left' });
});

it('with more charges is another correction: under the same reference the page says that it cannot be', async () => {
  // Any reason: one more download of an account whose other two are given back.
  const page = textOf(await finance.post('/staff/corrections/outage', await look({ failure: '' })));
  expect(page).toMatch(new RegExp(`${two.accountId} .* 3 This reference has given something back of it already`));
  const other = { ...(await look({ failure: '' })), reference: 'OUTAGE-2' };
  expect(textOf(await finance.post('/staff/corrections/outage', other))).toMatch(
    new RegExp(`${two.accountId} .* 3 \\$0\\.25 (?:given back|waits for approval)`),
  );
});
