import { beforeAll, expect, it } from 'vitest';
import { startPostgresProxy } from '../../support/postgres-proxy.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Browser, textOf } from '../browser.ts';
import { askFor, type Complaint, makeComplaint } from './complaint.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();

let browser: Browser;
let complaint: Complaint;

beforeAll(async () => {
  browser = await service.signedInAs('support');
  await Promise.all([service.installation.startRole('worker'), service.installation.startRole('dispatcher')]);
});

it('says that nothing waits where nothing does', async () => {
  const text = textOf(await browser.get('/staff'));
  expect(text).toContain('No correction waits for a second person, and all books that should be closed are.');
  expect(text).toContain('None that is known here.');
});

it('shows what waits and the newest failures, and nobody’s videos', async () => {
  complaint = await makeComplaint(service);
  const correctionId = await askFor(service, complaint);
  const page = await browser.get('/staff');
  const { text } = page;
  expect(text).toContain(`href="/staff/corrections/${correctionId}"`);
  expect(text).toContain('the customer is right');
  expect(text).toContain(`href="/staff/downloads/${complaint.failed}"`);
  expect(textOf(page)).toContain('The video is private.');
  expect(text).not.toContain('sample private');
  await service.sql(
    "update credits set phase = 'ended', period_end = now() - interval '90 days' where account_id = $1",
    [complaint.accountId],
  );
  expect(textOf(await browser.get('/staff'))).toContain('Books that should be closed');
});

it('is begun by a box whose text is sent in a form', async () => {
  const { text } = await browser.get('/staff');
  const forms = [...text.matchAll(/<form method="(\w+)" action="\/staff\/search"/g)].map(([, method]) => method);
  expect(forms).toEqual(['post', 'post']);
});

it('and all pages about accounts and downloads ask Postgres one to three times, besides for the session and for names', async () => {
  const { environment, startRole } = service.installation;
  await using proxy = await startPostgresProxy(environment.DATABASE_URL);
  const api = await startRole('api', { DATABASE_URL: proxy.url, STAFF_PORT: '0' });
  const { accountId, failed, email } = complaint;
  const looker = await service.signedInAs('support');
  const other = new Browser(api.staffUrl ?? '');
  for (const [name, value] of looker.cookies) other.cookies.set(name, value);
  other.formToken = looker.formToken;
  const [charge] = await service.sql<{ event_id: string }>('select event_id from overage_ledger where token = $1', [
    failed,
  ]);
  const pages: readonly (readonly [string, () => Promise<unknown>])[] = [
    ...[
      ...['', `/accounts/${accountId}`, `/accounts/${accountId}/downloads`, `/downloads/${failed}`],
      ...[`/events/${charge?.event_id ?? ''}`, `/events/0@account-${accountId}`],
    ].map((path) => [path, () => other.get(`/staff${path}`)] as const),
    ['/search', () => other.post('/staff/search', { search: email })],
  ];
  await waitFor(async () => (await other.get('/staff')).status === 200, { what: 'the other process' });
  for (const [path, open] of pages) {
    // The first request opens connections, which take round trips of their own.
    await open();
    const before = proxy.roundTrips();
    await open();
    const [ofSession, ofNames] = [2, 1];
    expect([path, proxy.roundTrips() - before - ofSession - ofNames]).toEqual([
      path,
      expect.toSatisfy((trips: number) => trips <= 3) as number,
    ]);
  }
});
