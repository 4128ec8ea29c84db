import { get } from 'node:http';
import { describe, expect, it } from 'vitest';
import { ended, queue } from '../support/downloads.ts';
import { readiness } from '../support/readiness.ts';
import { readMetric } from '../support/scraped-metrics.ts';
import { waitFor } from '../support/wait-for.ts';
import { halfClosedExchange } from './raw-request.ts';
import { demoOf, ownService } from './shared-service.ts';

/** A client may say with its request that it sends no more (RFC 9112 section 9.6: a FIN), and read on. */
const service = ownService();

/** A request as a client writes it that half-closes its connection with the last byte. */
const requestFor = (path: string, headers: Readonly<Record<string, string>> = {}): string =>
  [`GET ${path} HTTP/1.1`, 'Host: reeltally', ...Object.entries(headers).map((field) => field.join(': ')), '', ''].join(
    '\r\n',
  );

describe('a client that has closed its writing side', () => {
  it.each([
    ['the API', '/api/v1/credits', 200],
    ['metadata, which takes longer', '/api/v1/video/metadata?url=', 200],
    ['health', '/readyz', 200],
    ['the reference', '/openapi.json', 200],
    ['the console', '/console', 303],
  ])('is answered by %s', async (_listener, path, status) => {
    const { url, sampleUrl } = service;
    await readiness(url);
    const asked = path.endsWith('url=') ? path + encodeURIComponent(sampleUrl('bars')) : path;
    const answer = await halfClosedExchange(url, requestFor(asked, { Authorization: `Bearer ${demoOf(service).key}` }));
    expect(answer.status, answer.text).toBe(status);
  });

  it('is answered by the staff listener', async () => {
    const answer = await halfClosedExchange(service.staffUrl ?? '', requestFor('/staff/sign-in'));
    expect(answer.status, answer.text).toBe(303);
  });

  it('gets its file whole', async () => {
    const { url, sampleUrl } = service;
    const { key } = demoOf(service);
    const { request_token: token } = await queue(url, key, { url: sampleUrl('bars'), quality: '360' });
    const done = await ended(url, key, token);
    if (done.status !== 'done') throw new Error(`the download has ${done.status}`);
    const link = new URL(done.download_url);
    const { status, headers, text } = await halfClosedExchange(url, requestFor(link.pathname + link.search));
    expect([status, headers['content-length']]).toEqual([200, String(done.file_size_bytes)]);
    expect(text.length).toBeGreaterThan(done.file_size_bytes / 2);
  });

  it('is answered at once where its poll would wait: whether it reads on is not to be known', async () => {
    const { url, sampleUrl } = service;
    const { key } = demoOf(service);
    const { request_token: token } = await queue(url, key, { url: sampleUrl('slow') });
    const fields = { Authorization: `Bearer ${key}`, Prefer: 'wait=60, until=ended' };
    const startedMs = performance.now();
    const answer = await halfClosedExchange(url, requestFor(`/api/v1/video/status?token=${token}`, fields));
    expect(answer.status, answer.text).toBe(200);
    expect(performance.now() - startedMs).toBeLessThan(30_000);
  });

  it('holds no place once it has gone', async () => {
    const { url, sampleUrl } = service;
    const { key } = demoOf(service);
    const { request_token: token } = await queue(url, key, { url: sampleUrl('slow') });
    const waiting = () => readMetric(url, 'reeltally_waiting_polls');
    const headers = { authorization: `Bearer ${key}`, prefer: 'wait=60, until=ended' };
    const sent = get(`${url}/api/v1/video/status?token=${token}`, { headers, agent: false });
    sent.on('error', () => undefined);
    await waitFor(async () => (await waiting()) === 1, { what: 'the poll to wait' });
    sent.destroy();
    await waitFor(async () => (await waiting()) === 0, { what: 'its place to be free' });
  });
});
