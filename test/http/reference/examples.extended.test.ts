import { afterAll, describe, expect, it } from 'vitest';
import { endpoints } from '../../../src/http/endpoints.ts';
import { examplesDirectory, readExamples } from '../../../src/http/reference/examples.ts';
import { call } from '../../support/client.ts';
import { ended, queue, underWay } from '../../support/downloads.ts';
import { waitFor } from '../../support/wait-for.ts';
import { exhaust, issueKey } from '../requests.ts';
import { demoOf, ownService } from '../shared-service.ts';
import { steady } from './steady.ts';

/** The examples of the reference are what the service really answers. `npm run update:examples` writes them anew. */
// Its own, because an example shows what is left of the window of requests without a valid key, which is the address's.
const service = ownService();
const shownHeaders = [
  'Content-Type',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Credits-Remaining',
  'Retry-After',
];
const written = new Set<string>();

interface Asked {
  method: 'GET' | 'POST';
  path: string;
  query?: Record<string, string>;
  body?: Record<string, unknown>;
}

/** Sends a request and compares what happened with the example of that name. */
async function expectExample(name: string, summary: string, asked: Asked & { key?: string }): Promise<void> {
  const { key, ...request } = asked;
  const { method, path, query, body } = request;
  const search = query ? `?${String(new URLSearchParams(query))}` : '';
  const { status, headers, text } = await call(service.url, path + search, {
    method,
    ...(key !== undefined && { key }),
    ...(body && { body }),
  });
  const shown = shownHeaders.flatMap((header) => {
    const value = headers.get(header);
    return value === null ? [] : [[header, value] as const];
  });
  const response = { status, headers: Object.fromEntries(shown), body: JSON.parse(text) as object };
  const example = steady(
    { summary, request, response },
    { [service.url]: 'https://api.example.com', [service.samplePlatformUrl ?? '-']: 'https://videos.example.com' },
  );
  written.add(name);
  await expect(`${JSON.stringify(example, null, 2)}\n`).toMatchFileSnapshot(
    new URL(`${name}.json`, examplesDirectory).pathname,
  );
}

/** An account with a key of its own, so that counts do not depend on other tests. */
const newKey = async (plan: string): Promise<string> => (await service.openAccount(plan)).key;
const bars = () => service.sampleUrl('bars');

describe('the examples of the reference', () => {
  const polled = (token: string, key: string) =>
    ({ method: 'GET', path: '/video/status', query: { token }, key }) as const;
  /** A key whose window is untouched. */
  const freshKey = async () => {
    const answer = await call(service.url, '/auth/key', { key: demoOf(service).key, method: 'POST' });
    return String(answer.data['key']);
  };
  let slow: string;

  it('getDownloadStatus, while it is under way', async () => {
    const { url, sampleUrl } = service;
    const { key } = demoOf(service);
    const keyOfRunning = await freshKey();
    slow = (await queue(url, key, { url: sampleUrl('slow') })).request_token;
    await underWay(url, key, slow);
    await expectExample('getDownloadStatus.200-running', 'One that is being fetched', polled(slow, keyOfRunning));
    const failed = (await queue(url, key, { url: sampleUrl('private') })).request_token;
    await ended(url, key, failed);
    await expectExample('getDownloadStatus.200-failed', 'One that failed', polled(failed, await freshKey()));
    const unknown = polled('no-such-token', await freshKey());
    await expectExample('getDownloadStatus.404', 'A token that is nobody’s', unknown);
  });

  it('getVideoMetadata', async () => {
    const key = await newKey('dev_100');
    const asked = { method: 'GET', path: '/video/metadata', key } as const;
    await expectExample('getVideoMetadata.200', 'A video', { ...asked, query: { url: bars() } });
    const elsewhere = { url: 'https://example.com/watch?v=1' };
    await expectExample('getVideoMetadata.400', 'The address of another site', { ...asked, query: elsewhere });
    const gone = { url: service.sampleUrl('gone') };
    await expectExample('getVideoMetadata.502', 'A video that is gone', { ...asked, query: gone });
  });

  it('queueDownload', async () => {
    const asked = { method: 'POST', path: '/video/download', body: { url: bars(), quality: '720' } } as const;
    await expectExample('queueDownload.202', 'A film in 720p', { ...asked, key: await newKey('dev_100') });
    await expectExample('queueDownload.402', 'On the free plan', { ...asked, key: await newKey('sandbox') });
    const unknown = { ...asked, body: { url: bars(), quality: '999' } };
    await expectExample('queueDownload.400', 'A quality that there is not', {
      ...unknown,
      key: await newKey('dev_100'),
    });
  });

  it('getCredits', async () => {
    const key = await newKey('dev_100');
    await queue(service.url, key, { url: service.sampleUrl('private') });
    await expectExample('getCredits.200', 'After one download', { method: 'GET', path: '/credits', key });
    await expectExample('getCredits.401', 'Without a key', { method: 'GET', path: '/credits' });
    const poor = await newKey('sandbox');
    await exhaust(service.url, poor);
    await expectExample('getCredits.429', 'The eleventh request in an hour', {
      method: 'GET',
      path: '/credits',
      key: poor,
    });
  });

  it('listDownloadEvents', async () => {
    const { url, sampleUrl } = service;
    const { key } = await service.openAccount('dev_100');
    for (const item of ['bars', 'private'])
      await ended(url, key, (await queue(url, key, { url: sampleUrl(item), quality: '360' })).request_token);
    const asked = { method: 'GET', path: '/video/events', key: await issueKey(url, key) } as const;
    await expectExample('listDownloadEvents.200', 'A film, and one that failed', asked);
    const changed = { ...asked, query: { after: 'changed' } };
    await expectExample('listDownloadEvents.400', 'A cursor that was changed', changed);
  });

  it('listDownloads and getUsage', async () => {
    const { url, sampleUrl } = service;
    const { key } = await service.openAccount('dev_100');
    await ended(url, key, (await queue(url, key, { url: sampleUrl('private') })).request_token);
    await waitFor(async () => (await call(url, '/usage', { key })).text.includes('"days":[{'), { what: 'its day' });
    const asked = { method: 'GET', key: await issueKey(url, key) } as const;
    await expectExample('listDownloads.200', 'One that failed', { ...asked, path: '/downloads' });
    await expectExample('getUsage.200', 'After one download', { ...asked, path: '/usage' });
  });

  it('listDocuments', async () => {
    const { key } = await service.openAccount('dev_100');
    await service.cli('invoices', 'issue-due');
    const isThere = async () => (await call(service.url, '/documents', { key })).text.includes('"type":"invoice"');
    await waitFor(isThere, { what: 'the first invoice' });
    const other = await issueKey(service.url, key);
    const asked = { method: 'GET', path: '/documents', key: other } as const;
    await expectExample('listDocuments.200', 'The invoice of the first fee', asked);
  });

  it('issueKey', async () => {
    const key = await newKey('dev_100');
    const body = { label: 'build server' };
    await expectExample('issueKey.201', 'A key with a label', { method: 'POST', path: '/auth/key', body, key });
  });

  // The slow download has had the time of the other tests.
  it('getDownloadStatus, at its end', async () => {
    await ended(service.url, demoOf(service).key, slow);
    await expectExample('getDownloadStatus.200-done', 'One that is done', polled(slow, await freshKey()));
  });

  afterAll(() => {
    const left = readExamples().filter(({ name }) => !written.has(name));
    expect(left.map(({ name }) => name)).toEqual([]);
    const succeeding = endpoints.map(({ reference }) => `${reference.operationId}.${String(reference.success.status)}`);
    for (const name of succeeding) expect([...written].join()).toContain(name);
  });
});
