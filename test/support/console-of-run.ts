import { createApiClient } from '../../src/client/client.ts';
import { waitForDownload } from '../../src/client/wait-for-download.ts';
import type { EarlierMonth } from '../console/earlier-month.ts';
import type { Session } from './browser.ts';
import { clockOffsetTo } from './clock-offset.ts';
import type { Made } from './offers-of-run.ts';
import type { Environment, OpenedAccount, Running, Service } from './service.ts';

/**
 * One service for all tests of the console, with an account that has an earlier billing period, invoices, keys and downloads. Its
 * clock is moved to days that are always the same, because pages show them.
 */
export interface ConsoleOfRun {
  running: Running;
  /** Of commands on the same installation. */
  environment: Environment;
  account: OpenedAccount & { session: Session; tokens: { done: string; failed: string } };
}

const firstDay = '2027-01-20';
const laterDay = '2027-02-24';

export async function makeConsole(): Promise<Made> {
  // Loaded by the first file that needs it.
  const { startService } = await import('./service.ts');
  const { endService } = await import('./services-of-run.ts');
  const { beginEarlierMonth } = await import('../console/earlier-month.ts');
  await using undo = new AsyncDisposableStack();
  const month = undo.use(await beginEarlierMonth(firstDay));
  const opened = await openExample(month);
  await month.fail(opened, ['private', 'age', 'private']);
  // Without grace, so that the invoice of the earlier period is there.
  const environment = { ...(await month.over()), CLOSING_GRACE_SECONDS: '0', ...clockOffsetTo(laterDay) };
  const later = await startService({ WORKER_SLOTS: '4', ...environment });
  undo.defer(() => endService(later));
  await later.cli('invoices', 'issue-due');
  const failed = await download(later, opened.key, { item: 'private' });
  await download(later, opened.key, { item: 'gone' });
  const done = await download(later, opened.key, { item: 'bars', quality: '360' });
  await download(later, opened.key, { item: 'song', format: 'audio' });
  await download(later, opened.key, { item: 'geo' });
  const told: ConsoleOfRun = {
    running: later,
    environment,
    account: { ...opened, session: await signIn(later), tokens: { done, failed } },
  };
  const made = undo.move();
  return { told, end: () => made.disposeAsync() };
}

const email = 'example@example.com';

/** Few downloads in its plan, so that one is beyond them, and three keys, one of them revoked. */
async function openExample({ cli }: EarlierMonth): Promise<OpenedAccount> {
  const { account_id: accountId } = await cli<{ account_id: string }>(
    ...['accounts', 'open', '--email', email, '--plan', 'dev_100'],
  );
  await cli('accounts', 'terms', accountId, '--downloads', '4', '--hourly', '500');
  await cli('accounts', 'cap', accountId, '1000');
  const issue = (label: string) => cli<{ key: string; key_id: string }>('keys', 'issue', accountId, '--label', label);
  const revoked = await issue('old laptop');
  await cli('keys', 'revoke', revoked.key_id);
  await issue('website');
  const { key, key_id: keyId } = await issue('nightly import');
  return { accountId, key, keyId };
}

interface Wanted {
  item: string;
  format?: 'video' | 'audio';
  quality?: '360';
}

/** Queues a download and waits for its end. @returns its token */
async function download(service: Service, key: string, { item, ...options }: Wanted): Promise<string> {
  const client = createApiClient(service.url, key);
  const { data } = await client.POST('/video/download', { body: { url: service.sampleUrl(item), ...options } });
  if (!data) throw new Error(`the download of ${item} was not queued`);
  const { request_token: token } = data.data;
  await waitForDownload(client, token);
  return token;
}

/** One session alone, which the page of settings shows. */
async function signIn({ url, dataDirectory }: Service): Promise<Session> {
  const { mailedLink } = await import('./mailed-links.ts');
  const cookieOf = (answer: Response) => answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const body = new URLSearchParams({ email });
  const asked = await fetch(`${url}/console/sign-in`, { method: 'POST', headers: { origin: url }, body });
  const link = await mailedLink(dataDirectory, email);
  const headers = { cookie: cookieOf(asked), 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/153.0.0.0' };
  const signedIn = await fetch(link, { headers, redirect: 'manual' });
  const [name = '', value = ''] = cookieOf(signedIn).split('=');
  const place = { domain: new URL(url).hostname, path: '/', expires: -1 };
  return { cookies: [{ name, value, ...place, httpOnly: true, secure: false, sameSite: 'Lax' }], origins: [] };
}
