import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { returnServiceFailure } from '../../../src/commands/return-service-failure.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { type Browser, follow, textOf } from '../browser.ts';
import { chargedAccount, closeAndInvoice, failDownloads } from './charged-accounts.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile({ STAFF_APPROVAL_CENTS: '60' });

let fay: StaffMember;
let support: Browser;
let finance: Browser;
let other: Browser;
beforeAll(async () => {
  fay = await service.invite('finance');
  support = await service.signedInAs('support');
  finance = await service.newStaffSession(fay);
  other = await service.signedInAs('finance');
});

const why = { reason: 'the file was broken', reference: 'CASE-1' };
const asking = (more: object = {}) => ({ correction_id: randomUUID(), amount: '0.25', ...why, ...more });
const logOf = (prefix: string) => service.installation.readLog(prefix);
it('a credit that the service has given back is shown as such', async () => {
  const account = await chargedAccount(service, 1, { downloads_limit: 10 });
  const [token = ''] = account.tokens;
  await failDownloads(service, account, { fault: 'service' });
  expect(textOf(await support.get(`/staff/downloads/${token}`))).toContain('Cost 1 credit of the plan Token');
  const dependencies = { ...service.commands, readCredits: () => Promise.resolve(undefined) };
  expect(await returnServiceFailure(dependencies, { token, timeoutMs: patienceMs })).toBe('credit_returned');
  const isReturned = async () =>
    textOf(await support.get(`/staff/downloads/${token}`)).includes('Cost 1 credit of the plan, given back Token');
  await waitFor(isReturned, { what: 'the return of the credit on the page' });
});

describe('a charge whose books are open', () => {
  it('is waived at once by finance within the limit, and the page says so', async () => {
    const { accountId, tokens, stream } = await chargedAccount(service, 1);
    const path = `/staff/downloads/${tokens[0]}/correct`;
    const form = await finance.get(path);
    expect(textOf(form)).toMatch(/Charged \$0\.25.*Left \$0\.25.*it is waived, and never stands on an invoice/);
    expect(form.text).toContain('value="0.25"');
    const fields = asking({ amount: '0.10' });
    const page = await follow(finance, await finance.post(path, fields));
    expect(page).toContain('$0.10 is given back.');
    expect(page).toContain('ChargeWaived');
    const waived = (await logOf(stream)).filter(({ type }) => type === 'ChargeWaived');
    expect(waived).toMatchObject([{ data: { cents: 10, reference: 'CASE-1', token: tokens[0] } }]);
    expect(waived[0]?.metadata).toMatchObject({
      actor: { type: 'staff', id: fay.staffId, role: 'finance', reason: 'the file was broken' },
    });
    expect(textOf(await finance.get(path))).toMatch(/Given back so far \$0\.10 Left \$0\.15/);
    // The same form once more.
    expect(await follow(finance, await finance.post(path, fields))).toContain('$0.10 is given back.');
    expect(await logOf(`corrections-${accountId}`)).toHaveLength(2);
  });

  it('waits for finance where support asks, and for somebody else above the limit', async () => {
    const { tokens, stream } = await chargedAccount(service, 4);
    const ask = (browser: Browser, index: number) =>
      browser.post(`/staff/downloads/${tokens[index]}/correct`, asking({ amount: '0.25' }));
    expect(await follow(support, await ask(support, 0))).toContain('it waits for another person, of finance');
    expect(await follow(finance, await ask(finance, 1))).toContain('$0.25 is given back.');
    expect(await follow(finance, await ask(finance, 2))).toContain('$0.25 is given back.');
    // The third would be 75 cents within a day.
    const third = await ask(finance, 3);
    expect(await follow(finance, third)).toContain('it waits for another person, of finance');
    const path = third.headers['location'] ?? '';
    const own = await finance.post(`${path}/approve`, { reason: 'my own' });
    expect([own.status, textOf(own)]).toEqual([403, expect.stringContaining('Nobody approves')]);
    expect((await support.post(`${path}/approve`, { reason: 'please' })).status).toBe(403);
    const page = await follow(other, await other.post(`${path}/approve`, { reason: 'checked' }));
    expect(page).toMatch(/\$0\.25 is given back\..*Approved by.*checked/);
    expect((await logOf(stream)).filter(({ type }) => type === 'ChargeWaived')).toHaveLength(3);
  });

  it('is given back neither twice under one reference, nor above what is left', async () => {
    const { tokens } = await chargedAccount(service, 1);
    const path = `/staff/downloads/${tokens[0]}/correct`;
    const expectRefused = async (fields: object, text: string) => {
      const answer = await finance.post(path, asking(fields));
      expect([answer.status, textOf(answer)]).toEqual([400, expect.stringContaining(text)]);
    };
    await expectRefused({ amount: '0.26' }, 'more than is left');
    await follow(finance, await finance.post(path, asking({ amount: '0.10' })));
    await expectRefused({ amount: '0.10' }, 'reference has given something back');
    await follow(finance, await finance.post(path, asking({ amount: '0.15', reference: 'CASE-2' })));
    await expectRefused({ reference: 'CASE-3' }, 'Nothing is left');
    expect(textOf(await finance.get(path))).toContain('All of it is given back.');
  });

  it.each([
    ['no reason', { reason: ' ' }, 'needs a reason'],
    ['no reference', { reference: '' }, 'reference must be one word'],
    ['a reference of two words', { reference: 'CASE 1' }, 'reference must be one word'],
    ['no amount', { amount: '' }, 'amount must be in dollars'],
    ['nothing', { amount: '0' }, 'amount must be in dollars'],
    ['an amount that is none', { amount: '-1' }, 'amount must be in dollars'],
    ['no id', { correction_id: 'x' }, 'form is not complete'],
  ])('is not given back for %s', async (_name, fields, text) => {
    const { tokens, accountId } = await chargedAccount(service, 1);
    const answer = await finance.post(`/staff/downloads/${tokens[0]}/correct`, asking(fields));
    expect([answer.status, textOf(answer)]).toEqual([400, expect.stringContaining(text)]);
    expect(await logOf(`corrections-${accountId}`)).toEqual([]);
  });
});

it('a charge whose books are closed is credited: the line of its invoice, and that charge', async () => {
  const account = await chargedAccount(service, 2);
  await closeAndInvoice(service, account);
  const path = `/staff/downloads/${account.tokens[1]}/correct`;
  expect(textOf(await finance.get(path))).toMatch(/Left \$0\.25.*a credit note gives it back, of line 1 of invoice 1/);
  const page = await follow(finance, await finance.post(path, asking({ amount: '0.20' })));
  expect(page).toMatch(/\$0\.20 is given back\..*CreditNoteIssued.*credit note 1/);
  const notes = (await logOf(`invoices-${account.accountId}`)).filter(({ type }) => type === 'CreditNoteIssued');
  const charges = (await logOf(account.stream)).filter(({ type }) => type === 'OverageCharged');
  expect(notes).toMatchObject([
    { data: { invoice_number: 1, line: 1, charge_event_id: charges[1]?.id, cents: 20, reference: 'CASE-1' } },
  ]);
  expect(textOf(await finance.get(path))).toContain('Left $0.05');
});

it('a download that took a credit has nothing to give back in money', async () => {
  const { tokens, accountId } = await chargedAccount(service, 1, { downloads_limit: 5 });
  const path = `/staff/downloads/${tokens[0]}/correct`;
  const form = await finance.get(path);
  expect(textOf(form)).toContain('Nothing can be given back in money.');
  expect(form.text).not.toContain('<textarea');
  const answer = await finance.post(path, asking());
  expect([answer.status, textOf(answer)]).toEqual([400, expect.stringContaining('Nothing is left')]);
  expect(await logOf(`corrections-${accountId}`)).toEqual([]);
});

it('a download that nobody knows has no page; a look at one is recorded', async () => {
  expect((await finance.get('/staff/downloads/nothing/correct')).status).toBe(404);
  const { tokens, accountId } = await chargedAccount(service, 1);
  await support.get(`/staff/downloads/${tokens[0]}/correct`);
  const looks = (await logOf('staff-')).filter(({ type }) => type === 'PersonalDataViewed');
  expect(looks.at(-1)).toMatchObject({ data: { account_id: accountId, token: tokens[0], page: 'download' } });
});
