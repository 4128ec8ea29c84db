import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Download } from '../../../src/console/staff/views/download.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, send } from '../browser.ts';
import { chargedAccount, closeAndInvoice } from './charged-accounts.ts';
import { askFor, type Complaint, makeComplaint } from './complaint.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();

let browser: Browser;
let person: StaffMember;
let complaint: Complaint;
let correctionId: string;

beforeAll(async () => {
  await Promise.all([service.installation.startRole('worker'), service.installation.startRole('dispatcher')]);
  complaint = await makeComplaint(service);
  correctionId = await askFor(service, complaint);
  person = await service.invite('support');
  browser = await service.newStaffSession(person);
});

const show = async (token: string, query = '') => (await browser.get(`/staff/downloads/${token}${query}`)).text;
const titlesOf = (text: string) => [...text.matchAll(/<strong>([^<]*)<\/strong>/g)].map(([, title]) => title);

async function asProgram(token: string): Promise<Download> {
  const { token: secret } = await service.issueToken(person.staffId, ['jobs']);
  const { text } = await send(service.staffUrl, {
    method: 'GET',
    path: `/staff/v1/downloads/${token}`,
    headers: { host: new URL(service.staffUrl).host, authorization: `Bearer ${secret}` },
  });
  return (JSON.parse(text) as { data: Download }).data;
}

it('tells what is left of a charge, and where the period stands, across waivers and a credit note', async () => {
  const account = await chargedAccount(service, 3, { fee_cents: 100 });
  const finance = await service.signedInAs('finance');
  const [first = '', second = ''] = account.tokens;
  const give = async (token: string, amount: string, reference: string) => {
    const fields = { correction_id: randomUUID(), amount, reference, reason: 'a test' };
    expect((await finance.post(`/staff/downloads/${token}/correct`, fields)).status).toBe(303);
  };
  const stepsOf = async (token: string) =>
    (await asProgram(token)).steps.flatMap(({ cents, download_cents: left, period_cents: period }) =>
      cents === null ? [] : [[cents, left, period]],
    );
  await give(first, '0.10', 'CASE-1');
  await give(second, '0.05', 'CASE-2');
  await give(first, '0.02', 'CASE-3');
  await waitFor(async () => (await stepsOf(first)).length === 3, { what: 'the waivers' });
  await closeAndInvoice(service, account);
  await give(first, '0.03', 'CASE-4');
  const all = await waitFor(
    async () => {
      const steps = await stepsOf(first);
      return steps.length === 4 ? steps : undefined;
    },
    { what: 'the credit note' },
  );
  expect(all).toEqual([
    [25, 25, 25],
    [-10, 15, 65],
    [-2, 13, 58],
    [-3, 10, null],
  ]);
  expect(await stepsOf(second)).toEqual([
    [25, 25, 50],
    [-5, 20, 60],
  ]);
});

describe('a failed download beyond the plan', () => {
  it('is replayed from its request to whoever has asked for its money back', async () => {
    const text = await show(complaint.failed);
    expect(titlesOf(text)).toEqual([
      ...['Asked for:', 'Decided:', 'Charged', 'Queued:', 'Taken by a worker:', 'Started', 'Failed:'],
      // By the operator, and by the member of staff whose request waits.
      ...['Asked to give back:', 'Waived', 'Asked to give back:'],
    ]);
    expect(text).toContain(`request ${complaint.requestId}`);
    expect(text).toContain('accepted beyond the allowance, at $0.25 of the price list 2026-11');
    expect(text).toContain('$0.25; the period stands at $0.25');
    expect(text).toContain('The video is private.');
    expect(text).toContain('under ' + complaint.reference);
    expect(text).toMatch(/-\$0\.05, \$0\.20 left; the period stands at \$\d/);
    expect(text).toContain('the customer is right');
    expect(text).toContain(`href="/staff/corrections/${correctionId}"`);
    expect(text).toContain('$0.25, $0.05 given back, $0.20 left');
    expect(text).toContain(`href="/staff/downloads/${complaint.failed}/correct"`);
  });

  it('links each event, and its neighbours in the usage of the account', async () => {
    const text = await show(complaint.failed);
    const { usage, steps } = await asProgram(complaint.failed);
    expect(usage.before?.type).toBeDefined();
    for (const { event } of steps) if (event) expect(text).toContain(`href="/staff/events/${event.id}"`);
    expect(text).toContain(`data-key="[" href="/staff/events/${String(usage.before?.revision)}@${usage.stream}"`);
    expect(text).toContain(`data-key="]" href="/staff/events/${String(usage.after?.revision)}@${usage.stream}"`);
  });

  it('shows the steps of one kind alone', async () => {
    expect(titlesOf(await show(complaint.failed, '?kind=money'))).toEqual(['Charged', 'Waived']);
    expect(titlesOf(await show(complaint.failed, '?kind=nothing')).length).toBeGreaterThan(7);
  });

  it('is shown as it was after one of its events', async () => {
    const { steps } = await asProgram(complaint.failed);
    const started = steps.find(({ event }) => event?.type === 'JobStarted')?.event?.id ?? '';
    const text = await show(complaint.failed, `?at=${started}`);
    expect(text.replaceAll(/\s+/g, ' ')).toMatch(
      /After step 4 of \d+: <span class="tag info" data-status>running<\/span> \$0.25 charged/,
    );
  });
});

it('a download in the plan costs a credit, and nothing can be given back', async () => {
  const text = await show(complaint.done);
  expect(text).toContain('1 credit of the plan');
  expect(text).toContain('accepted within the allowance of the plan');
  expect(text).not.toContain(`${complaint.done}/correct`);
});

it('what a client is answered now takes no request of the hour, and its link has no signature', async () => {
  const used = () =>
    service.sql('select cardinality(admitted_ms) as used from api_key_window where key_id = $1', [complaint.keyId]);
  const before = await used();
  const { answer } = await asProgram(complaint.done);
  const text = await show(complaint.done);
  expect(await used()).toEqual(before);
  expect(answer).toEqual({
    status: 200,
    body: {
      success: true,
      data: expect.objectContaining({ status: 'done', request_token: complaint.done, expires_in: 3_600 }) as object,
    },
  });
  const { data } = answer.body as { data: { download_url: string } };
  expect(data.download_url).toMatch(/^http:\/\/[^?]+\/files\/[^?]+\?…$/);
  expect(text).not.toContain('signature=');
  expect((await asProgram(complaint.failed)).answer.body).toMatchObject({
    data: { status: 'failed', error: 'private_video' },
  });
});

it('who has looked is in the log before the page comes, and on the page', async () => {
  const looker = await service.invite('finance');
  const session = await service.newStaffSession(looker);
  await session.get(`/staff/downloads/${complaint.failed}`);
  await session.get(`/staff/downloads/${complaint.failed}`);
  const events = await service.installation.readLog(`staff-${looker.staffId}`);
  const { accountId, failed } = complaint;
  expect(events.slice(1).map(({ data }) => data)).toEqual([
    { staff_id: looker.staffId, account_id: accountId, token: failed, page: 'download' },
  ]);
  await waitFor(async () => (await show(failed)).includes(looker.staffId), { what: 'the look on the page' });
  expect(titlesOf(await show(failed))).toContain('Looked at');
});

it('there is nothing at a token that nobody has', async () => {
  const { status, text } = await browser.get('/staff/downloads/nothing');
  expect([status, text.includes('There is nothing at this address')]).toEqual([404, true]);
});
