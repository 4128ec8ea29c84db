import { randomUUID } from 'node:crypto';
import { createApiClient } from '../../../src/client/client.ts';
import { waitForDownload } from '../../../src/client/wait-for-download.ts';
import type { StaffRole } from '../../../src/domain/staff-events.ts';
import { demoOf } from '../../http/shared-service.ts';
import type { Session } from '../../support/browser.ts';
import { clockOffsetTo, nowWith } from '../../support/clock-offset.ts';
import { queue, underWay } from '../../support/downloads.ts';
import { type OpenedAccount, type Service, startService } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Browser, formTokenOf } from '../browser.ts';
import { beginEarlierMonth, type EarlierMonth } from '../earlier-month.ts';

/**
 * One service with what staff look at, always the same: three accounts over two billing periods, downloads that failed, and what
 * was given back of their charges. Its clock is moved to days that pages show.
 */
export interface ExampleOfStaff {
  service: Service;
  end: () => Promise<void>;
  /** Origin of the staff console. */
  url: string;
  sessions: Record<'support' | 'finance' | 'admin', Session>;
  /** The account of most pages. */
  accountId: string;
  /**
   * Of its downloads: one in its plan, one whose charge was given back in part, and one for which somebody has asked; and one of the
   * demo account, which runs for half a minute.
   */
  tokens: { done: string; given: string; asked: string; slow: string };
  /** A member of staff, who holds a token for programs. */
  supporterId: string;
  /** Of the correction that waits, and of the one that was made. */
  corrections: { waits: string; made: string };
  /** The service's clock, and the minute before which all its downloads have failed, in milliseconds. */
  now: () => number;
  failuresEnd: number;
}

/** Of all three accounts. */
export const ownersEmail = 'example@example.com';
const firstDay = '2027-01-20';
export const today = '2027-02-24';

export async function makeExampleOfStaff(): Promise<ExampleOfStaff> {
  await using undo = new AsyncDisposableStack();
  const month = undo.use(await beginEarlierMonth(firstDay));
  const [large, middle, small] = await openAccounts(month);
  const old = await month.fail(large, ['private', 'age', 'private', 'gone']);
  await month.fail(middle, ['private', 'geo']);
  await month.fail(small, ['song']);
  const clock = clockOffsetTo(today);
  // Without grace, so that the invoices of the earlier period are there.
  const settings = { WORKER_SLOTS: '4', CLOSING_GRACE_SECONDS: '0', ...clock };
  const service = undo.use(await startService({ ...(await month.over()), ...settings }));
  await service.cli('invoices', 'issue-due');
  const [done = '', , given = '', asked = ''] = await downloads(service, large, ['bars', 'song', 'private', 'gone']);
  await downloads(service, middle, ['private', 'geo']);
  const now = () => nowWith(clock);
  const failuresEnd = Math.ceil(now() / 60_000) * 60_000;
  const support = await signIn(service, 'support');
  const finance = await signIn(service, 'finance');
  const admin = await signIn(service, 'admin');
  await giveBack(finance, old[3] ?? '', { amount: '0.25', reference: 'CASE-1207', reason: 'the film was gone' });
  const waits = await giveBack(support, asked, {
    amount: '0.25',
    reference: 'CASE-1311',
    reason: 'The customer says that the video was there when they asked for it.',
  });
  const made = await giveBack(finance, given, {
    amount: '0.10',
    reference: 'CASE-1312',
    reason: 'A goodwill gesture, agreed by telephone.',
  });
  const sessions = { support: sessionOf(support), finance: sessionOf(finance), admin: sessionOf(admin) };
  const { accountId } = large;
  await lookFirst(finance, { accountId, tokens: [done, given] });
  const supporterId = await issueToken(admin);
  await waitFor(async () => (await admin.get('/staff/operation')).text.includes('note good'), {
    what: 'the verification',
  });
  const slow = await startSlow(service, finance);
  // The file ends it.
  const kept = undo.move();
  return {
    service,
    end: () => kept.disposeAsync(),
    url: service.staffUrl ?? '',
    sessions,
    accountId,
    tokens: { done, given, asked, slow },
    supporterId,
    corrections: { waits, made },
    now,
    failuresEnd,
  };
}

/** Lists sort them by their ids, which are not always the same: the first one is the largest. */
async function openAccounts({ cli }: EarlierMonth): Promise<[OpenedAccount, OpenedAccount, OpenedAccount]> {
  const open = ['accounts', 'open', '--email', ownersEmail, '--plan', 'dev_100'];
  const ids: string[] = [];
  while (ids.length < 3) ids.push((await cli<{ account_id: string }>(...open)).account_id);
  const [large, middle, small] = ids.sort() as [string, string, string];
  await cli('accounts', 'terms', large, '--downloads', '2', '--hourly', '500');
  await cli('accounts', 'cap', large, '1000');
  await cli('accounts', 'terms', middle, '--downloads', '1', '--hourly', '500');
  const withKey = async (accountId: string): Promise<OpenedAccount> => {
    const issue = ['keys', 'issue', accountId, '--label', 'nightly import'];
    const { key, key_id: keyId } = await cli<{ key: string; key_id: string }>(...issue);
    return { accountId, key, keyId };
  };
  return [await withKey(large), await withKey(middle), await withKey(small)];
}

/** Queues downloads, one after the other, and waits for the end of each. @returns their tokens */
async function downloads(service: Service, { key }: OpenedAccount, items: readonly string[]): Promise<string[]> {
  const client = createApiClient(service.url, key);
  const tokens: string[] = [];
  for (const item of items) {
    const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl(item) });
    tokens.push(token);
    await waitForDownload(client, token);
  }
  return tokens;
}

/** Of support. @returns whose it is */
async function issueToken(admin: Browser): Promise<string> {
  const row = (await admin.get('/staff/people')).text.split('<tr>').find((each) => each.includes('support@')) ?? '';
  const [, supporterId = ''] = /(stf_\w+)/.exec(row) ?? [];
  const fields = { label: 'monthly export', scope: 'money', days: '90', reason: 'the export of the warehouse' };
  const { status, text } = await admin.post(`/staff/people/${supporterId}/tokens`, fields);
  if (status !== 200) throw new Error(`a token was answered ${String(status)}: ${text}`);
  return supporterId;
}

/** A download that is looked at while it runs. @returns its token */
async function startSlow({ url, demo, sampleUrl }: Service, browser: Browser): Promise<string> {
  const { key } = demoOf({ demo });
  const { request_token: token } = await queue(url, key, { url: sampleUrl('slow') });
  await underWay(url, key, token);
  // Each of its pages shows this look, and no page shows another one.
  const isLookedAt = async () => (await browser.get(`/staff/downloads/${token}`)).text.includes('Looked at by staff');
  await waitFor(isLookedAt, { what: 'the look at the slow download' });
  return token;
}

/** By the link that the command line prints. */
async function signIn({ cli, staffUrl }: Service, role: StaffRole): Promise<Browser> {
  const invite = ['staff', 'invite', '--email', `${role}@staff.example.com`, '--role', role];
  const { link } = await cli<{ link: string }>(...invite);
  const browser = new Browser(staffUrl ?? '');
  await browser.post(new URL(link).pathname);
  browser.formToken = formTokenOf(await browser.get('/staff'));
  return browser;
}

function sessionOf({ url, session: [name, value] = ['', ''] }: Browser): Session {
  const place = { domain: new URL(url).hostname, path: '/', expires: -1 };
  return { cookies: [{ name, value, ...place, httpOnly: true, secure: false, sameSite: 'Lax' }], origins: [] };
}

/** Pages show who has looked: the same look is recorded once, and was before anybody takes a picture. */
async function lookFirst(
  browser: Browser,
  { accountId, tokens }: { accountId: string; tokens: readonly string[] },
): Promise<void> {
  const account = `/staff/accounts/${accountId}`;
  const paths = [
    ...[`${account}/downloads`, ...tokens.map((token) => `/staff/downloads/${token}`)],
    ...[`/staff/overage/${accountId}/2027-02-20`, account],
  ];
  await browser.post('/staff/search', { search: ownersEmail });
  for (const path of paths) await browser.get(path);
  const looks = async () => (await browser.get(account)).text.split('id="looks"')[1] ?? '';
  await waitFor(async () => /<td[^>]*>\s*account\s*<\/td>/.test(await looks()), { what: 'the looks on the page' });
}

/** @returns the path of the correction */
async function giveBack(
  browser: Browser,
  token: string,
  fields: { amount: string; reference: string; reason: string },
): Promise<string> {
  const form = `/staff/downloads/${token}/correct`;
  await waitFor(async () => (await browser.get(form)).text.includes('name="amount"'), {
    what: `the charge of ${token}`,
  });
  const { status, headers, text } = await browser.post(form, { correction_id: randomUUID(), ...fields });
  if (status !== 303) throw new Error(`giving back was answered ${String(status)}: ${text}`);
  return headers['location'] ?? '';
}
