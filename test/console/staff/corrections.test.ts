import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { noDownloads } from '../../http/shared-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, send, textOf } from '../browser.ts';
import { type QueuedAccount, queuedAccount } from './charged-accounts.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfRun } from './staff-of-run.ts';

const service = staffOfRun(noDownloads);

let sue: StaffMember;
let fay: StaffMember;
let support: Browser;
let finance: Browser;
let account: QueuedAccount;
beforeAll(async () => {
  sue = await service.invite('support');
  fay = await service.invite('finance');
  support = await service.newStaffSession(sue);
  finance = await service.newStaffSession(fay);
});

/** @returns the path of the new correction */
async function ask(browser: Browser, token: string | undefined, fields: object = {}): Promise<string> {
  const asked = { correction_id: randomUUID(), amount: '0.25', reason: 'no sound', reference: 'CASE-1', ...fields };
  const answer = await browser.post(`/staff/downloads/${token}/correct`, asked);
  expect(answer.status).toBe(303);
  return answer.headers['location'] ?? '';
}

describe('with corrections', () => {
  let waits: string;
  beforeAll(async () => {
    account = await queuedAccount(service, { downloads: 3 });
    const [first, second, third = ''] = account.tokens;
    await ask(finance, first, { reason: 'too dark', amount: '0.20' });
    waits = await ask(support, second);
    const decision = ['--cents', '5', '--reference', 'OLD-1', '--by', 'root', '--reason', 'by hand'];
    await service.installation.cli(['ledger', 'waive', third, ...decision]);
    const text = "select from overage_ledger where token = $1 and reference = 'OLD-1'";
    await waitFor(async () => (await service.sql(text, [third])).length === 1, {
      what: 'the waiver of the command line',
    });
  });

  const asked = async (query: string) =>
    textOf(await support.get(`/staff/corrections?account=${account.accountId}&${query}`));

  it('shows what waits, and who gave what back, why and with whose approval', async () => {
    const page = await asked('');
    expect(page).toMatch(
      new RegExp(`Waiting for a second person.*${account.accountId}.*\\$0\\.25.*${sue.staffId}.*no sound`),
    );
    expect(page).toMatch(/Given back.*\$0\.05 root operator within the limit OLD-1 by hand.*\$0\.20 .*too dark/);
    expect(page).toContain('within the limit');
  });

  it('has filters', async () => {
    const shown = async (query: string) => (await asked(query)).replace(/.*Asked for here/, '');
    expect(await shown('list=asked')).toMatch(/no sound.*too dark/);
    expect(await shown(`by=${fay.staffId}`)).not.toContain('no sound');
    expect(await shown('status=asked')).not.toContain('too dark');
    expect(await shown('reference=CASE-2')).toContain('No correction matches.');
    const nobody = `/staff/corrections?account=acc_${'0'.repeat(16)}`;
    expect(textOf(await support.get(nobody))).toContain('Nothing was given back.');
    expect((await support.get('/staff/corrections?before=x')).status).toBe(400);
    expect((await support.get('/staff/corrections?status=x')).status).toBe(400);
  });

  it('answers programs with the same', async () => {
    const { token } = await service.issueToken(sue.staffId, ['money']);
    const { text } = await send(service.staffUrl, {
      method: 'GET',
      path: `/staff/v1/corrections?account=${account.accountId}`,
      headers: { authorization: `Bearer ${token}`, host: new URL(service.staffUrl).host },
    });
    expect(JSON.parse(text)).toMatchObject({
      success: true,
      data: {
        waiting: [{ account_id: account.accountId, cents: 25, status: 'asked', asked_by: { id: sue.staffId } }],
        given_back: [
          { cents: 5, by: { id: 'root', role: 'operator' }, correction_id: expect.any(String) as string },
          { cents: 20, by: { id: fay.staffId }, approved_by: null, reference: 'CASE-1' },
        ],
        asked: [],
        next: null,
      },
    });
  });

  it('offers to approve or refuse only to those who may', async () => {
    const own = await support.get(waits);
    expect(textOf(own)).toContain('it waits for another person, of finance');
    expect(textOf(own)).toContain('Take it back');
    expect(own.text).not.toContain('Approve and give back');
    expect((await finance.get(waits)).text).toContain('Approve and give back $0.25');
    const otherSupport = await (await service.signedInAs('support')).get(waits);
    expect(textOf(otherSupport)).toContain('Somebody of finance decides it.');
    expect(otherSupport.text).not.toContain('<textarea');
  });

  it('is refused with a reason, once', async () => {
    const noReason = await finance.post(`${waits}/refuse`, { reason: '' });
    expect([noReason.status, textOf(noReason)]).toEqual([400, expect.stringContaining('needs a reason')]);
    expect((await finance.post(`${waits}/refuse`, { reason: 'it has sound' })).status).toBe(303);
    const page = await finance.get(waits);
    expect(textOf(page)).toMatch(
      /It was refused\. Nothing is given back\..*Asked by.*no sound.*Refused by.*it has sound/,
    );
    expect(page.text).not.toContain('<textarea');
    const late = await finance.post(`${waits}/approve`, { reason: 'after all' });
    expect([late.status, textOf(late)]).toEqual([409, expect.stringContaining('has decided')]);
  });

  it('is taken back by whoever asked', async () => {
    const path = await ask(support, account.tokens[1], { reference: 'CASE-9' });
    await support.post(`${path}/refuse`, { reason: 'a mistake' });
    expect(textOf(await support.get(path))).toMatch(/Taken back by.*a mistake/);
  });
});
