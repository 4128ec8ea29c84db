import { once } from 'node:events';
import { readFileSync, truncateSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { buffer as readBuffer, text as readText } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ended, queue, statusOf } from '../support/downloads.ts';
import { scaled } from '../support/proof-scale.ts';
import { readMetric } from '../support/scraped-metrics.ts';
import { startProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { demoOf, ownService } from './shared-service.ts';

const [perLink, perAddress, idleSeconds] = [4, 10, 3];
const limits = {
  MAX_CONNECTIONS_PER_LINK: String(perLink),
  MAX_CONNECTIONS_PER_ADDRESS: String(perAddress),
  LINK_IDLE_SECONDS: String(idleSeconds),
};
const service = ownService({ ...limits, TRUSTED_PROXIES: '127.0.0.1' });
const mebibyte = 1024 * 1024;
const largeBytes = 64 * mebibyte;
let token: string;

beforeAll(async () => {
  const { url, sampleUrl, dataDirectory } = service;
  const { key } = demoOf(service);
  token = (await queue(url, key, { url: sampleUrl('bars'), quality: '360' })).request_token;
  expect(await ended(url, key, token)).toMatchObject({ status: 'done' });
  // More than the kernel takes for a client that reads nothing.
  truncateSync(join(dataDirectory, 'files', token, revisionOf(await newLink()), 'media.mp4'), largeBytes);
});

const revisionOf = (link: string): string => new URL(link).pathname.split('/')[3] ?? '';

async function newLink(): Promise<string> {
  const { data } = await statusOf(service.url, demoOf(service).key, token);
  return String(data['download_url']);
}

/** Asks for a file over a connection of its own, and reads no more than the head of the answer. */
async function begin(link: string, address = '192.0.2.1'): Promise<IncomingMessage> {
  const asked = get(link, { agent: false, headers: { 'x-forwarded-for': address } });
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  onTestFinished(() => void response.destroy());
  return response;
}

async function refusalOf(response: IncomingMessage): Promise<unknown[]> {
  const { statusCode, headers } = response;
  const { error } = JSON.parse(await readText(response)) as { error: { code: string } };
  return [statusCode, error.code, headers['content-type'], Number(headers['retry-after']) > 0];
}

const refused = [429, 'too_many_connections', 'application/json; charset=utf-8', true];

function residentBytes(pid: number): number {
  const [, kibibytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}

describe('readers that take a file slowly', () => {
  it('hold a quarter of a mebibyte each, at most', async () => {
    const readers = scaled(200, 1_000);
    const wide = { MAX_CONNECTIONS_PER_LINK: '10000', MAX_CONNECTIONS_PER_ADDRESS: '10000', LINK_IDLE_SECONDS: '600' };
    await using api = await service.startRole('api', wide);
    const { pathname, search } = new URL(await newLink());
    // What the first answers need is not theirs alone.
    await Promise.all(Array.from({ length: 20 }, () => begin(api.url + pathname + search)));
    const before = residentBytes(api.pid);
    await Promise.all(Array.from({ length: readers }, () => begin(api.url + pathname + search)));
    expect((residentBytes(api.pid) - before) / readers).toBeLessThan(mebibyte / 4);
  });

  it('are cut once they have taken nothing for as long as is set, and not before', async () => {
    const cut = async () =>
      (await readMetric(service.url, 'reeltally_requests_total', {
        route: '/files/*',
        status: 'cut',
      })) ?? 0;
    const before = await cut();
    const startedMs = performance.now();
    await begin(await newLink());
    const what = 'the connection of a client that reads nothing to be cut';
    await waitFor(async () => (await cut()) > before, { what, timeoutMs: idleSeconds * 3_000, pollMs: 100 });
    expect((performance.now() - startedMs) / 1000).toBeGreaterThan(idleSeconds);
  });

  it('are never cut while they take some of it', async () => {
    const response = await begin(await newLink());
    const untilMs = performance.now() + idleSeconds * 4_000;
    let takenBytes = 0;
    // Too little for the kernel to take more from the service for several times as long as is set.
    while (performance.now() < untilMs) {
      takenBytes += ((response.read() as Buffer | null) ?? '').length;
      await pause(500);
    }
    takenBytes += (await readBuffer(response)).length;
    expect(takenBytes).toBe(largeBytes);
  });
});

describe('429 too_many_connections', () => {
  it('beyond what a link may have at a time; each that ends makes room', async () => {
    // None of these readers is cut before the others are there, however busy the machine is.
    await using api = await service.startRole('api', { LINK_IDLE_SECONDS: '600' });
    const newLinkThere = async () => (await newLink()).replace(service.url, api.url);
    const link = await newLinkThere();
    const readers = await Promise.all(Array.from({ length: perLink }, () => begin(link, '192.0.2.2')));
    expect(readers.map(({ statusCode }) => statusCode)).toEqual(readers.map(() => 200));
    expect(await refusalOf(await begin(link, '192.0.2.3'))).toEqual(refused);
    expect((await begin(await newLinkThere(), '192.0.2.2')).statusCode).toBe(200);
    // One is read to its end, the other is given up.
    if (readers[0]) expect((await readBuffer(readers[0])).length).toBe(largeBytes);
    readers[1]?.destroy();
    for (let free = 0; free < 2; free += 1) {
      const admitted = async () => (await begin(link, '192.0.2.2')).statusCode === 200;
      await waitFor(admitted, { what: 'a place to be free again' });
    }
    expect(await refusalOf(await begin(link, '192.0.2.2'))).toEqual(refused);
  });

  it('also of requests that wait for their turn on one connection, until that is gone', async () => {
    const link = await newLink();
    const { hostname, port, pathname, search } = new URL(link);
    const socket = connect({ host: hostname, port: Number(port) });
    const request = `GET ${pathname}${search} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.4\r\n\r\n`;
    socket.write(request.repeat(perLink));
    const isFull = async () => (await begin(link, '192.0.2.5')).statusCode === 429;
    await waitFor(isFull, { what: 'all of them to have their places' });
    socket.destroy();
    await waitFor(async () => !(await isFull()), { what: 'their places to be free again' });
  });

  it('beyond what an address may have at a time, an IPv6 network counting as one', async () => {
    const inNetwork = (index: number) => `2001:db8::${String(index)}`;
    for (let index = 0; index < perAddress; index += 1)
      expect((await begin(await newLink(), inNetwork(index))).statusCode).toBe(200);
    expect(await refusalOf(await begin(await newLink(), inNetwork(99)))).toEqual(refused);
    expect((await begin(await newLink(), '2001:db8:1::1')).statusCode).toBe(200);
  });
});

describe('the connections of a process', () => {
  it('are fewer than its file descriptors, so that its own servers stay within reach', async () => {
    const limited = (command: readonly string[]) => ['prlimit', '--nofile=400', '--', ...command];
    await using api = await startProcess('api', { REELTALLY_DATA: service.dataDirectory }, limited);
    const sockets = Array.from({ length: 500 }, () =>
      connect({ port: Number(new URL(api.url).port), host: '127.0.0.1' }),
    );
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
    const closed = sockets.map((socket) =>
      once(
        socket.on('error', () => undefined),
        'close',
      ),
    );
    await waitFor(() => api.log().includes('more connections than'), { what: 'the log to say so' });
    await Promise.race(closed);
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
    const ready = async () => (await fetch(`${api.url}/readyz`)).ok;
    await waitFor(() => ready().catch(() => false), { what: 'the service to answer again' });
    expect(api.log()).not.toContain('EMFILE');
    expect(api.log().split('more connections than')).toHaveLength(2);
  });
});
