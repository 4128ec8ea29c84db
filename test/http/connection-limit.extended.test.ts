import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectionsOf } from '../../src/http/connection-limit.ts';
import { call } from '../support/client.ts';
import { readMetric } from '../support/scraped-metrics.ts';
import { type ServiceProcess, startProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { demoOf, ownService } from './shared-service.ts';

const service = ownService();
const openFiles = 400;
const limited = (command: readonly string[]) => ['prlimit', `--nofile=${openFiles}`, '--', ...command];
const start = (role: string) =>
  startProcess(role, { REELTALLY_DATA: service.dataDirectory, STAFF_PORT: '0', HEALTH_PORT: '0' }, limited);

const request = 'GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n';
const descriptorsOf = ({ pid }: ServiceProcess) => readdirSync(`/proc/${String(pid)}/fd`).length;
const portOf = (url: string | null) => Number(new URL(url ?? '').port);

/** More connections than the process has descriptors, to one of its listeners; each sends that, and then nothing. */
async function openMany(url: string | null, bytes = ''): Promise<Socket[]> {
  const sockets = Array.from({ length: openFiles + 100 }, () =>
    connect({ port: portOf(url), host: '127.0.0.1' }).on('error', () => undefined),
  );
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  const outcomes = sockets.map(async (socket) => {
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
    if (bytes === '' || socket.closed) return;
    socket.write(bytes);
    await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  });
  // One that is reset has had its outcome too.
  await Promise.allSettled(outcomes);
  return sockets;
}

describe('connections that nobody uses', () => {
  it.each([
    ['that send nothing', ''],
    ['that have sent a request', request],
  ])('%s, to the staff console, leave the API its own', async (_, bytes) => {
    await using api = await start('api');
    const sockets = await openMany(api.staffUrl, bytes);
    // All of them stay until the listener ends them.
    const { key } = demoOf(service);
    const answers = await Promise.all(Array.from({ length: 10 }, () => call(api.url, '/credits', { key })));
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(10).fill(200));
    expect(descriptorsOf(api)).toBeLessThan(openFiles - 100);
    expect(api.log()).not.toContain('EMFILE');
    // The console too comes back, while their owner keeps all that it has.
    const staffAnswers = async () => (await fetch(`${api.staffUrl ?? ''}/staff/sign-in`)).ok;
    await waitFor(() => staffAnswers().catch(() => false), { what: 'the staff console to answer', timeoutMs: 15_000 });
    expect(await readMetric(api.url, 'reeltally_connections_dropped_total')).toBeGreaterThan(0);
    for (const socket of sockets) socket.destroy();
  });

  it('to the API leave the staff console its own', async () => {
    await using api = await start('api');
    await openMany(api.url);
    expect((await fetch(`${api.staffUrl ?? ''}/staff/sign-in`)).status).toBe(200);
    expect(descriptorsOf(api)).toBeLessThan(openFiles - 100);
  });

  it('to the health checks of another role leave it its own', async () => {
    await using projector = await start('projector');
    await openMany(projector.url);
    expect(descriptorsOf(projector)).toBeLessThan(openFiles - 100);
    const isReady = async () => (await fetch(`${projector.url}/readyz`)).ok;
    await waitFor(() => isReady().catch(() => false), { what: 'the health checks to answer', timeoutMs: 15_000 });
  });
});

it('the listeners of a process together need fewer descriptors than there are', () => {
  const needed = (most: number) =>
    [
      ...(['api', 'egress', 'samplePlatform'] as const).map((name) => 2 * connectionsOf(name, most)!),
      ...(['staff', 'health'] as const).map((name) => connectionsOf(name, most)!),
    ].reduce((sum, each) => sum + each);
  for (const most of [1_024, 4_096, 20_000, 1_048_576]) expect(needed(most)).toBeLessThanOrEqual(most - 256);
  expect(connectionsOf('api', undefined)).toBeUndefined();
  expect(connectionsOf('staff', 48)).toBe(16);
});
