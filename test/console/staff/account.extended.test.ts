import { beforeAll, describe, expect, it } from 'vitest';
import { type Browser, textOf } from '../browser.ts';
import { askFor, type Complaint, makeComplaint } from './complaint.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();

let browser: Browser;
let person: StaffMember;
let complaint: Complaint;

beforeAll(async () => {
  await Promise.all([service.installation.startRole('worker'), service.installation.startRole('dispatcher')]);
  complaint = await makeComplaint(service);
  await service.installation.cli(['keys', 'revoke', complaint.keyId]);
  await service.installation.cli(['people', 'invite', complaint.accountId, 'mate@example.com']);
  person = await service.invite('support');
  browser = await service.newStaffSession(person);
});

const show = (path = '') => browser.get(`/staff/accounts/${complaint.accountId}${path}`);

describe('the page of an account', () => {
  it('shows what it has bought and used, with the numbers of the log', async () => {
    const text = textOf(await show());
    expect(text).toContain(complaint.accountId);
    expect(text).toMatch(/Downloads, .* 1 of 1 Plan Dev 100/);
    expect(text).toContain('Overage $0.20 for 1 download');
    expect(text).toMatch(/Requests in the past hour \d+ of 500/);
    // Charged, waived, credited, invoiced, not invoiced.
    expect(text).toMatch(/Dev 100 open 1 \$0\.25 -\$0\.05 \$0\.00 \$0\.00 \$0\.20/);
    expect(text).toMatch(/Dev 100 1 \$0\.25 2026-11 none/);
  });

  it('shows its people, keys and downloads, and what was given back', async () => {
    await askFor(service, complaint);
    const page = await show();
    const text = textOf(page);
    for (const each of [
      complaint.email,
      'mate@example.com',
      'nightly import',
      'Revoked keys (1)',
      'The video is private.',
    ])
      expect(text).toContain(each);
    for (const token of [complaint.done, complaint.failed])
      expect(page.text).toContain(`href="/staff/downloads/${token}"`);
    expect(page.text).toContain(`id="${complaint.keyId}"`);
    expect(text).toMatch(/ask-\w+ waits for approval staff stf_\w+ \$0\.20/);
  });

  it('is there for an account that has done nothing yet', async () => {
    const email = `new-${complaint.email}`;
    const accountId = await service.openAccount(email);
    const page = await browser.get(`/staff/accounts/${accountId}`);
    expect(page.status).toBe(200);
    expect(textOf(page)).toContain(email);
    expect(textOf(page)).toContain('No download yet.');
  });

  it('does not exist for an account that does not', async () => {
    expect((await browser.get('/staff/accounts/acc_00000000000000000000')).status).toBe(404);
    expect((await browser.get('/staff/accounts/nothing')).status).toBe(400);
  });
});

describe('the downloads of an account', () => {
  it('are found around a time that somebody names', async () => {
    const [queued] = await service.sql<{ queued_at: string }>('select queued_at from jobs where token = $1', [
      complaint.failed,
    ]);
    const minutesLater = (minutes: number) =>
      new Date(Date.parse(queued?.queued_at ?? '') + minutes * 60_000).toISOString().slice(0, 16);
    expect((await show(`/downloads?at=${minutesLater(10)}`)).text).toContain(complaint.failed);
    expect((await show(`/downloads?at=${minutesLater(-15)}`)).text).toContain(complaint.failed);
    expect((await show(`/downloads?at=${minutesLater(-40)}`)).text).not.toContain(complaint.failed);
    expect((await show('/downloads?at=')).text).toContain(complaint.failed);
    expect((await browser.get(`/staff/accounts/${complaint.accountId}/downloads?at=yesterday`)).status).toBe(400);
  });

  it("are filtered and searched as on their owner's page, and saved so", async () => {
    for (const query of ['status=failed', `search=${complaint.failed}`]) {
      const { text: failed } = await show(`/downloads?${query}`);
      expect(failed).toContain(complaint.failed);
      expect(failed).not.toContain(complaint.done);
      const csv = await show(`/downloads.csv?${query}`);
      expect(csv.text.trimEnd().split('\n')).toHaveLength(2);
      expect(csv.text).toContain(`,${complaint.failed},sample,private,`);
    }
    expect(textOf(await show('/downloads?search=nothing'))).toContain('No download matches.');
    const all = textOf(await show('/downloads'));
    expect(all).toMatch(/nightly import \(rtk_\w{8}\) with an Idempotency-Key \$0\.25 \$0\.05 given back/);
    expect(all).toContain('All 2 1 credit $0.25 $0.05 given back');
    expect((await browser.get(`/staff/accounts/${complaint.accountId}/downloads?status=x`)).status).toBe(400);
    expect(textOf(await show('/downloads?platform=vimeo'))).toContain('No download matches.');
  });
});

it('who has looked is in the log before the page comes', async () => {
  const looker = await service.invite('support');
  const session = await service.newStaffSession(looker);
  await session.get(`/staff/accounts/${complaint.accountId}`);
  await session.get(`/staff/accounts/${complaint.accountId}/downloads`);
  const events = await service.installation.readLog(`staff-${looker.staffId}`);
  const look = { staff_id: looker.staffId, account_id: complaint.accountId, token: null };
  expect(events.slice(1).map(({ data }) => data)).toEqual([
    { ...look, page: 'account' },
    { ...look, page: 'downloads' },
  ]);
});
