import { beforeAll, expect, it } from 'vitest';
import { noDownloads } from '../../http/shared-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, textOf } from '../browser.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfRun } from './staff-of-run.ts';

/** Customers by name wherever staff see the id of an account, and who has seen these names. */

const service = staffOfRun(noDownloads);

let sue: StaffMember;
let support: Browser;
let accountId: string;
const email = 'names@example.com';
const customer = 'Kühn & Partner';
const overage = () => `/staff/overage?month=all&account=${accountId}`;

beforeAll(async () => {
  sue = await service.invite('support');
  support = await service.newStaffSession(sue);
  accountId = await service.openAccount(email, 'dev_100');
  const known = async () =>
    (await service.sql('select from period_money where account_id = $1', [accountId])).length === 1;
  await waitFor(known, { what: 'the period in the read model' });
});

/** Once the read model has the newest. */
async function looks({ staffId }: StaffMember): Promise<object[]> {
  const read = () =>
    service.sql('select account_id, token, page from staff_looks where staff_id = $1 order by position', [staffId]);
  await waitFor(async () => (await read()).length > 0, { what: 'a look' });
  return await read();
}

it('a list has the address that an account was opened with, then the name on its invoices, with the id', async () => {
  const shown = async () => textOf(await support.get(overage()));
  expect(await shown()).toContain(`${email} ${accountId}`);
  await service.installation.cli(['accounts', 'billing', accountId, '--name', customer]);
  await waitFor(async () => (await shown()).includes(`Kühn &amp; Partner ${accountId}`), { what: 'the name' });
  const month = new Date().toISOString().slice(0, 7);
  const close = textOf(await support.get(`/staff/months/${month}?account=${accountId}`));
  expect(close).toContain(`Kühn &amp; Partner ${accountId}`);
});

it('the files have it in a column of its own', async () => {
  const csv = await support.get(overage().replace('?', '.csv?'));
  const [head = '', row = ''] = csv.text.trimEnd().split('\n');
  expect(head).toMatch(/^account_id,customer,period_start,/);
  expect(row).toMatch(new RegExp(`^${accountId},${customer},`));
  const json = await support.get(overage().replace('?', '.json?'));
  expect(JSON.parse(json.text)).toMatchObject({ rows: [{ account_id: accountId, customer }] });
  const month = new Date().toISOString().slice(0, 7);
  const close = await support.get(`/staff/months/${month}.csv?account=${accountId}`);
  expect(close.text).toContain(`${accountId},${customer},`);
});

it('what was given back is a file with it, and what was asked for', async () => {
  await service.installation.cli([
    ...['invoices', 'credit', accountId, '1', '--line', '1', '--cents', '150'],
    ...['--reference', 'NAMES-1', '--reason', 'a test', '--by', 'Ada'],
  ]);
  const list = `/staff/corrections.csv?account=${accountId}`;
  await waitFor(async () => (await support.get(list)).text.includes('NAMES-1'), { what: 'the credit note' });
  const [head = '', row = '', ...more] = (await support.get(list)).text.trimEnd().split('\n');
  expect(more).toEqual([]);
  expect(head).toMatch(/type,event_id,account_id,customer,.*,by_id,by_role,by_reason,.*,approved_by_id,/);
  expect(row).toMatch(new RegExp(`^CreditNoteIssued,.*,${accountId},${customer},.*,150,NAMES-1,Ada,operator,a test,`));
  const page = await support.get(`/staff/corrections?account=${accountId}`);
  expect(page.text).toContain(`href="${list}"`);
  const asked = await support.get(`${list}&list=asked`);
  expect(asked.headers['content-disposition']).toBe('attachment; filename="corrections.csv"');
  expect(asked.text.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/correction_id,account_id,customer,status,.*,asked_by_id,asked_by_role,asked_by_reason,/),
    expect.stringMatching(new RegExp(`,${accountId},${customer},made,credit_line,.*,150,.*,Ada,operator,a test,`)),
  ]);
});

it('the months are a file with their sums', async () => {
  const month = new Date().toISOString().slice(0, 7);
  const csv = await support.get('/staff/months.csv');
  expect(csv.headers['content-disposition']).toBe('attachment; filename="months.csv"');
  expect(csv.text).toMatch(/month,periods,open,ended,fee_cents,/);
  expect(csv.text).toContain(`\n${month},`);
  const json = JSON.parse((await support.get('/staff/months.json')).text) as { rows: object[] };
  expect(json.rows).toContainEqual(expect.objectContaining({ month }));
});

it('programs get it too', async () => {
  const { token } = await service.issueToken(sue.staffId, ['money']);
  const address = `${service.staffUrl}${overage().replace('/staff/', '/staff/v1/')}`;
  const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
  expect(await answer.json()).toMatchObject({ data: { rows: [{ account_id: accountId, customer }] } });
});

it('who has seen names in lists is recorded once for all of them, before they are shown', async () => {
  const other = await service.invite('support');
  const browser = await service.newStaffSession(other);
  await browser.get(overage());
  const one = { account_id: null, token: null, page: 'names' };
  expect(await looks(other)).toEqual([one]);
  await browser.get('/staff/months');
  await browser.get(overage().replace('?', '.csv?'));
  await browser.get('/staff/corrections');
  expect(await looks(other)).toEqual([one]);
  const admin = await service.newStaffSession(await service.invite('admin'));
  await waitFor(
    async () => textOf(await admin.get(`/staff/people/looks?person=${other.staffId}`)).includes('names in lists'),
    { what: 'the look' },
  );
});

it('a page about one account records that account alone', async () => {
  const other = await service.invite('support');
  const browser = await service.newStaffSession(other);
  const downloads = await browser.get(`/staff/accounts/${accountId}/downloads`);
  expect(textOf(downloads)).toContain(`Account Kühn &amp; Partner ${accountId}`);
  expect(await looks(other)).toEqual([{ account_id: accountId, token: null, page: 'downloads' }]);
});
