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
  expect(textOf(await support.get(`/staff/downloads/${token}`))).toContain(
    'Cost 1 credit of the plan The service was at fault: it gives the charge back by itself, unless the terms',
  );
  const dependencies = { ...service.commands, readCredits: () => Promise.resolve(undefined) };
  expect(await returnServiceFailure(dependencies, { token, timeoutMs: patienceMs })).toBe('credit_returned');
  const isReturned = async () =>
    textOf(await support.get(`/staff/downloads/${token}`)).includes(
      'Cost 1 credit of the plan, given back Given back: the service was at fault. Token',
    );
  await waitFor(isReturned, { what: 'the return of the credit on the page' });
});

it('a charge that stays says whose fault the failure was', async () => {
  const account = await chargedAccount(service, 1);
  await failDownloads(service, account);
  expect(textOf(await support.get(`/staff/downloads/${account.tokens[0]}`))).toMatch(
    /Cost \$0\.25 Charged: the video or its platform was at fault\. Give back/,
  );
});

describe('a charge whose books are open', () => {
  it('is waived at once by finance within the limit, and the page says so', async () => {
    const { accountId, tokens, stream } = await chargedAccount(service, 1);
    const path = `/staff/downloads/${tokens[0]}/correct`;
    const form = await finance.get(path);
    expect(textOf(form)).toMatch(/Left \$0\.25.*\$0\.25 \$0\.25 kept.*it is waived, and never stands on an invoice/);
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
    expect(textOf(await finance.get(path))).toMatch(/Left \$0\.15/);
    // The same form once more.
    expect(await follow(finance, await finance.post(path, fields))).toContain('$0.10 is given back.');
    expect(await logOf(`corrections-${accountId}`)).toHaveLength(2);
  });

  it('waits for finance where support asks, and for somebody else above the limit', async () => {
    const { tokens, stream } = await chargedAccount(service, 4);
    const ask = (browser: Browser, index: number) =>
      browser.post(`/staff/downloads/${tokens[index]}/correct`, asking({ amount: '0.25' }));
    expect(await follow(support, await ask(support, 0))).toContain('it waits for another person, of finance');
    // Whoever looks at the charge next learns that it is asked back already.
    for (const path of [`/staff/downloads/${tokens[0]}`, `/staff/downloads/${tokens[0]}/correct`])
      expect(textOf(await finance.get(path))).toContain('A correction of $0.25 waits for approval (CASE-1)');
    for (const path of [`/staff/downloads/${tokens[1]}`, `/staff/downloads/${tokens[1]}/correct`])
      expect(textOf(await finance.get(path))).not.toContain('waits for approval');
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

it('a charge whose books are closed is credited by a note that names it', async () => {
  const account = await chargedAccount(service, 2);
  await closeAndInvoice(service, account);
  const path = `/staff/downloads/${account.tokens[1]}/correct`;
  expect(textOf(await finance.get(path))).toMatch(/Left \$0\.25.*a credit note gives it back, and names each/);
  const page = await follow(finance, await finance.post(path, asking({ amount: '0.20' })));
  expect(page).toMatch(/\$0\.20 is given back\..*CreditNoteIssued.*credit note 1/);
  const notes = (await logOf(`invoices-${account.accountId}`)).filter(({ type }) => type === 'CreditNoteIssued');
  const charges = (await logOf(account.stream)).filter(({ type }) => type === 'OverageCharged');
  expect(notes).toMatchObject([
    {
      data: {
        invoice_number: 1,
        line: 1,
        cents: 20,
        reference: 'CASE-1',
        charges: [{ token: account.tokens[1], charge_event_id: charges[1]?.id, cents: 20 }],
      },
    },
  ]);
  expect(textOf(await finance.get(path))).toContain('Left $0.05');
});

describe('ticked charges', () => {
  const day = '2026-11-01';
  const pathOf = ({ accountId }: { accountId: string }) => `/staff/overage/${accountId}/${day}`;
  const boxesOf = (text: string) =>
    [...text.matchAll(/name="charge"\s+value="(\d+)"/g)].map(([, value]) => value ?? '');
  /** As a browser sends it: one field for each box. */
  const postTicked = (browser: Browser, account: { accountId: string }, charges: readonly string[], amount: string) =>
    browser.send({
      method: 'POST',
      path: `${pathOf(account)}/give-back`,
      fields: new URLSearchParams([
        ...Object.entries({ form_token: browser.formToken ?? '', ...asking({ amount }) }),
        ...charges.map((charge) => ['charge', charge] as [string, string]),
      ]).toString(),
    });

  it('are one request under one reference, which one other person approves, and are waived in one append', async () => {
    const account = await chargedAccount(service, 4);
    const list = await support.get(`${pathOf(account)}?ticked=all`);
    const boxes = boxesOf(list.text);
    expect(boxes).toEqual(['1', '3', '5', '7']);
    const three = boxes.slice(0, 3);
    const page = await support.get(`${pathOf(account)}/give-back?${three.map((box) => `charge=${box}`).join('&')}`);
    expect(textOf(page)).toMatch(/Left \$0\.75 of 3 charges/);
    expect(boxesOf(page.text)).toEqual(three);
    for (const token of account.tokens.slice(0, 3)) expect(page.text).toContain(token);
    const asked = await postTicked(support, account, three, '0.75');
    expect(await follow(support, asked)).toContain('it waits for another person, of finance');
    const path = asked.headers['location'] ?? '';
    // Whoever approves sees what it is about.
    const shown = textOf(await finance.get(path));
    for (const token of account.tokens.slice(0, 3)) expect(shown).toContain(token);
    expect(shown).not.toContain(account.tokens[3]);
    const approved = await follow(finance, await finance.post(`${path}/approve`, { reason: 'checked' }));
    expect(approved).toContain('$0.75 is given back.');
    const log = await logOf(account.stream);
    expect(
      log.filter(({ type }) => type === 'ChargeWaived').map(({ data }) => (data as { token: string }).token),
    ).toEqual(account.tokens.slice(0, 3));
    expect(await logOf(`corrections-${account.accountId}`)).toHaveLength(3);
    const waived = async () => boxesOf((await support.get(pathOf(account))).text).length === 1;
    await waitFor(waived, { what: 'the waivers in the list' });
    expect(textOf(await support.get(pathOf(account)))).toMatch(/waived.*kept/);
  });

  it('may be one alone, of which a part is given back', async () => {
    const account = await chargedAccount(service, 2);
    const page = await finance.get(`${pathOf(account)}/give-back?charge=3`);
    expect(boxesOf(page.text)).toEqual(['3']);
    expect(page.text).toContain('value="0.25"');
    const asked = await postTicked(finance, account, boxesOf(page.text), '0.10');
    expect(await follow(finance, asked)).toContain('$0.10 is given back.');
    const waived = (await logOf(account.stream)).filter(({ type }) => type === 'ChargeWaived');
    expect(waived).toMatchObject([{ data: { cents: 10, token: account.tokens[1] } }]);
  });

  it('are credited by one note that names them, if the books close while the request waits', async () => {
    const account = await chargedAccount(service, 3);
    const asked = await postTicked(support, account, ['1', '5'], '0.50');
    await closeAndInvoice(service, account);
    const path = asked.headers['location'] ?? '';
    const approved = await follow(finance, await finance.post(`${path}/approve`, { reason: 'checked' }));
    expect(approved).toMatch(/\$0\.50 is given back\..*CreditNoteIssued.*credit note 1/);
    const notes = (await logOf(`invoices-${account.accountId}`)).filter(({ type }) => type === 'CreditNoteIssued');
    const [one, , three] = account.tokens;
    expect(notes).toMatchObject([{ data: { cents: 50, charges: [{ token: one }, { token: three }] } }]);
    const shown = textOf(await finance.get(`/staff/accounts/${account.accountId}/credit-notes/1`));
    expect(shown).toMatch(new RegExp(`Charges given back .*${one ?? ''}.*${three ?? ''}`));
    expect(textOf(await finance.get(pathOf(account)))).toMatch(/credited.*kept.*credited/);
  });

  it('are given back as they were shown, or not at all', async () => {
    const account = await chargedAccount(service, 2);
    await follow(
      finance,
      await finance.post(`/staff/downloads/${account.tokens[0]}/correct`, asking({ amount: '0.10', reference: 'X' })),
    );
    const answer = await postTicked(finance, account, ['1', '3'], '0.50');
    expect([answer.status, textOf(answer)]).toEqual([
      409,
      expect.stringContaining('It has changed since it was shown'),
    ]);
    for (const [query, status] of [
      ['', 400],
      ['?charge=x', 400],
      ['?charge=2', 404],
      ['?charge=1&charge=99', 404],
      [`?${Array.from({ length: 201 }, (_, index) => `charge=${String(index)}`).join('&')}`, 400],
    ] as const)
      expect([query.slice(0, 20), (await finance.get(`${pathOf(account)}/give-back${query}`)).status]).toEqual([
        query.slice(0, 20),
        status,
      ]);
  });

  it('are found by the state of their download, by its address and by a day', async () => {
    const account = await chargedAccount(service, 3);
    await failDownloads(service, account, { which: account.tokens.slice(1, 2) });
    const [job] = await service.sql<{ url: string; day: string }>(
      `select url, to_char(queued_at at time zone 'utc', 'YYYY-MM-DD') as day from jobs where token = $1`,
      [account.tokens[2]],
    );
    const list = async (query: string) => boxesOf((await support.get(`${pathOf(account)}?${query}`)).text);
    expect(await list('job=failed')).toEqual(['3']);
    expect(await list(`search=${account.tokens[2] ?? ''}`)).toEqual(['5']);
    expect(await list(`search=${encodeURIComponent(job?.url ?? '')}`)).toContain('5');
    expect(await list('search=nothing')).toEqual([]);
    expect(await list(`on=${job?.day ?? ''}`)).toEqual(['1', '3', '5']);
    expect(await list('on=2026-11-30')).toEqual([]);
    expect((await support.get(`${pathOf(account)}?job=x`)).status).toBe(400);
    const shown = textOf(await support.get(`${pathOf(account)}?job=failed`));
    expect(shown).toMatch(/\d\d:\d\d:\d\d UTC/);
    expect(shown).toContain(`private_video`);
  });
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
