import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Browser, follow, textOf } from '../browser.ts';
import { chargedAccount, closeAndInvoice } from './charged-accounts.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile({ STAFF_APPROVAL_CENTS: '60' });

let fay: StaffMember;
let finance: Browser;
let support: Browser;
beforeAll(async () => {
  fay = await service.invite('finance');
  finance = await service.newStaffSession(fay);
  support = await service.signedInAs('support');
});

const asking = (amount: string, more: object = {}) => ({
  correction_id: randomUUID(),
  amount,
  reason: 'the file was broken',
  reference: 'CASE-1',
  ...more,
});
const logOf = (prefix: string) => service.installation.readLog(prefix);
const notesOf = async (accountId: string) =>
  (await logOf(`invoices-${accountId}`)).filter(({ type }) => type === 'CreditNoteIssued');

/** An account with invoice 1: three downloads at 25 cents, one of which was waived before by 10 cents; and a fee. */
async function invoicedAccount(): Promise<{ accountId: string; path: string }> {
  const account = await chargedAccount(service, 3, { fee_cents: 100 });
  const waived = await finance.post(`/staff/downloads/${account.tokens[0]}/correct`, asking('0.10'));
  expect(waived.status).toBe(303);
  await closeAndInvoice(service, account);
  const { accountId } = account;
  return { accountId, path: `/staff/accounts/${accountId}/invoices/1` };
}

describe('an invoice', () => {
  it('shows what is left of each line, and leads to credit it; the look is recorded', async () => {
    const { accountId, path } = await invoicedAccount();
    const page = await support.get(path);
    const shown = textOf(page);
    expect(shown).toMatch(/Invoice 1 .*Total \$1\.65 /);
    expect(shown).toMatch(/Downloads beyond the allowance 3 \$0\.25 \$0\.75 \$0\.65 its charges Credit…/);
    expect(shown).toMatch(/Charges waived 1 \$0\.25 -\$0\.10 its charges/);
    expect(shown).toMatch(/Monthly fee.* \$1\.00 \$1\.00 its event Credit…/);
    const links = [...page.text.matchAll(/href="([^"]+\/credit)"/g)].map(([, link]) => link);
    expect(links).toEqual([`${path}/lines/1/credit`, `${path}/lines/3/credit`]);
    const looks = (await logOf('staff-')).filter(({ type }) => type === 'PersonalDataViewed');
    expect(looks.at(-1)).toMatchObject({ data: { account_id: accountId, token: null, page: 'account' } });
    const [, event = ''] = /href="(\/staff\/events\/\d+@[^"]+)"/.exec(page.text) ?? [];
    expect((await support.get(event)).status).toBe(200);
  });

  it('that nobody has issued has no page, and neither has such a line or credit note', async () => {
    const { accountId, path } = await invoicedAccount();
    const account = `/staff/accounts/${accountId}`;
    for (const unknown of [`${account}/invoices/2`, `${account}/credit-notes/1`, `${path}/lines/9/credit`])
      expect([unknown, (await support.get(unknown)).status]).toEqual([unknown, 404]);
    for (const wrong of [`${account}/invoices/0`, `${account}/invoices/x`, '/staff/accounts/x/invoices/1'])
      expect([wrong, (await support.get(wrong)).status]).toEqual([wrong, 400]);
  });
});

describe('a line of an invoice', () => {
  it('is credited by finance within the limit, by default all that is left', async () => {
    const { accountId, path } = await invoicedAccount();
    const form = await finance.get(`${path}/lines/1/credit`);
    expect(textOf(form)).toMatch(/Line 1 of invoice 1 : Downloads beyond.*Amount \$0\.75 Left \$0\.65/);
    expect(form.text).toContain('value="0.65"');
    // 10 cents were waived before.
    const fields = asking('0.20');
    const answer = await finance.post(`${path}/lines/1/credit`, fields);
    const correction = answer.headers['location'] ?? '';
    const page = await follow(finance, answer);
    expect(page).toMatch(/\$0\.20 is given back\..*line 1 of invoice 1.*CreditNoteIssued.*credit note 1/);
    expect((await finance.get(correction)).text).toContain(`href="/staff/accounts/${accountId}/credit-notes/1"`);
    const [note, ...others] = await notesOf(accountId);
    expect(others).toEqual([]);
    expect(note).toMatchObject({
      data: { invoice_number: 1, line: 1, charges: [], cents: 20, reference: 'CASE-1' },
      metadata: { actor: { type: 'staff', id: fay.staffId, role: 'finance', reason: 'the file was broken' } },
    });
    expect(textOf(await finance.get(path))).toMatch(
      /of which \$0\.20 is credited.*\$0\.75 \$0\.45 its charges.*Credit note 1 .* 1 CASE-1 the file was broken -\$0\.20/,
    );
    expect(textOf(await support.get(`/staff/accounts/${accountId}/credit-notes/1`))).toMatch(
      new RegExp(`Gives back \\$0\\.20 of invoice 1 , line 1: Downloads.*Issued by ${fay.staffId} Reason the file`),
    );
    // The same form once more.
    expect(await follow(finance, await finance.post(`${path}/lines/1/credit`, fields))).toContain(
      '$0.20 is given back',
    );
    expect(await notesOf(accountId)).toHaveLength(1);
  });

  it('waits for somebody of finance where support asks, and is then credited', async () => {
    const { accountId, path } = await invoicedAccount();
    const asked = await support.post(`${path}/lines/3/credit`, asking('1.00', { reference: 'CASE-2' }));
    expect(await follow(support, asked)).toContain('it waits for another person, of finance');
    expect(await notesOf(accountId)).toEqual([]);
    const approved = await finance.post(`${asked.headers['location'] ?? ''}/approve`, { reason: 'checked' });
    expect(await follow(finance, approved)).toMatch(/\$1\.00 is given back/);
    const form = await finance.get(`${path}/lines/3/credit`);
    expect(textOf(form)).toContain('Nothing of this line can be credited any more.');
    expect(form.text).not.toContain('<textarea');
    const again = await finance.post(`${path}/lines/3/credit`, asking('0.01', { reference: 'CASE-3' }));
    expect([again.status, textOf(again)]).toEqual([400, expect.stringContaining('Nothing is left')]);
    expect(await notesOf(accountId)).toHaveLength(1);
  });

  it.each([
    ['more than is left', 1, asking('0.66', { reference: 'CASE-9' }), 'more than is left'],
    ['a line of waivers', 2, asking('0.01'), 'Nothing is left'],
    ['nothing', 1, asking('0'), 'amount must be in dollars'],
    ['no reason', 1, asking('0.10', { reason: '' }), 'needs a reason'],
    ['no reference', 1, asking('0.10', { reference: '' }), 'reference must be one word'],
  ])('is not credited for %s', async (_name, line, fields, text) => {
    const { accountId, path } = await invoicedAccount();
    const before = await logOf(`corrections-${accountId}`);
    const answer = await finance.post(`${path}/lines/${String(line)}/credit`, fields);
    expect([answer.status, textOf(answer)]).toEqual([400, expect.stringContaining(text)]);
    expect(await notesOf(accountId)).toEqual([]);
    expect(await logOf(`corrections-${accountId}`)).toHaveLength(before.length);
  });
});
