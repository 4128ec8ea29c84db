import { beforeAll, describe, expect, it } from 'vitest';
import type { EventShown } from '../../../src/console/staff/views/event.ts';
import { type Browser, send } from '../browser.ts';
import { askFor, type Complaint, makeComplaint } from './complaint.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();

let browser: Browser;
let person: StaffMember;
let secret: string;
let complaint: Complaint;

beforeAll(async () => {
  await Promise.all([service.installation.startRole('worker'), service.installation.startRole('dispatcher')]);
  complaint = await makeComplaint(service);
  person = await service.invite('support');
  browser = await service.newStaffSession(person);
  ({ token: secret } = await service.issueToken(person.staffId, ['accounts']));
});

async function eventAt(id: string): Promise<EventShown> {
  const { text } = await send(service.staffUrl, {
    method: 'GET',
    path: `/staff/v1/events/${id}`,
    headers: { host: new URL(service.staffUrl).host, authorization: `Bearer ${secret}` },
  });
  return (JSON.parse(text) as { data: EventShown }).data;
}

async function idOf(type: string): Promise<string> {
  const [row] = await service.sql<{ event_id: string }>(
    'select event_id from job_timeline where token = $1 and type = $2',
    [complaint.failed, type],
  );
  return row?.event_id ?? '';
}

const namesOf = (places: EventShown['caused']) => places.map(({ type }) => type);
const events = () => service.installation.readLog();

describe('an event', () => {
  it('is shown as the log has it, by its id and by its place', async () => {
    const id = await idOf('OverageCharged');
    const stored = (await events()).find((each) => each.id === id);
    const shown = await eventAt(id);
    expect(shown).toMatchObject({
      id,
      type: 'OverageCharged',
      stream: stored?.stream,
      revision: stored?.revision,
      data: stored?.data,
      metadata: stored?.metadata,
      token: complaint.failed,
      account_id: complaint.accountId,
      chain: { holds: true },
    });
    expect(await eventAt(`${String(stored?.revision)}@${stored?.stream ?? ''}`)).toEqual(shown);
    const { text } = await browser.get(`/staff/events/${id}`);
    for (const each of [shown.metadata.hash, shown.chain.previous_hash, shown.position, complaint.requestId, 'follows'])
      expect(text).toContain(each);
  });

  it('leads to its neighbours, to its cause, and to what it has caused', async () => {
    const queued = await eventAt(await idOf('DownloadQueued'));
    expect(queued.before?.type).toBe('OverageCharged');
    expect(namesOf(queued.caused)).toEqual(
      expect.arrayContaining(['JobClaimed', 'JobStarted', 'JobFailed']) as string[],
    );
    const claimed = await eventAt(await idOf('JobClaimed'));
    expect([claimed.before, claimed.after?.type, claimed.cause.event]).toEqual([
      ...[
        null,
        'JobStarted',
        { id: queued.id, type: 'DownloadQueued', stream: queued.stream, revision: queued.revision },
      ],
    ]);
    const correctionId = await askFor(service, complaint);
    const [row] = await service.sql<{ asked_event_id: string }>(
      'select asked_event_id from corrections where correction_id = $1',
      [correctionId],
    );
    expect(await eventAt(row?.asked_event_id ?? '')).toMatchObject({
      type: 'CorrectionAsked',
      account_id: complaint.accountId,
      data: { correction_id: correctionId },
    });
  });

  it('leads to the others of its request', async () => {
    const failed = await eventAt(await idOf('JobFailed'));
    expect(namesOf(failed.same_request)).toEqual(['OverageCharged', 'DownloadQueued', 'JobClaimed', 'JobStarted']);
  });

  it('can be every event of an account', async () => {
    for (const { stream, revision, type } of await events()) {
      if (!stream.includes(complaint.accountId) && !stream.includes(complaint.failed)) continue;
      const shown = await eventAt(`${String(revision)}@${stream}`);
      expect([stream, shown.type, shown.chain.holds]).toEqual([stream, type, true]);
    }
  });

  it('of staff is shown to nobody here, and one that there is not does not exist', async () => {
    const nothing = ['00000000-0000-4000-8000-000000000000', `99999@account-${complaint.accountId}`, '0@other-system'];
    for (const id of [`0@staff-${person.staffId}`, ...nothing])
      expect([id, (await browser.get(`/staff/events/${id}`)).status]).toEqual([id, 404]);
    expect((await browser.get('/staff/events/nothing')).status).toBe(400);
  });
});

it('who has looked is in the log before the page comes', async () => {
  const looker = await service.invite('support');
  const session = await service.newStaffSession(looker);
  await session.get(`/staff/events/${await idOf('JobFailed')}`);
  await session.get(`/staff/events/0@account-${complaint.accountId}`);
  const looks = (await events()).filter(({ stream }) => stream === `staff-${looker.staffId}`).slice(1);
  const { accountId, failed } = complaint;
  expect(looks.map(({ data }) => data)).toEqual([
    { staff_id: looker.staffId, account_id: accountId, token: failed, page: 'download' },
    { staff_id: looker.staffId, account_id: accountId, token: null, page: 'account' },
  ]);
});
