import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { residentMebibytes } from '../support/process-memory.ts';
import { readMetric } from '../support/scraped-metrics.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Bench } from './engines.ts';
import { progress, ratio, type Results } from './figures.ts';
import { type Askers, httpCases } from './http-cases.ts';
import { measure, type Measured, type Target } from './load.ts';
import { resetWindows } from './population.ts';
import { processorMicros } from './processor-time.ts';

/** As many as a process takes. */
const mostWaiting = 2_000;
/** Too many at a time would not find room among the connections that wait to be accepted. */
const openedAtOnce = 100;

/** Ordinary polls of a process without and with as many waiting ones as it takes, in turns. */
export async function benchWaiting(
  bench: Bench,
  pool: Pool,
  askers: Askers,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Results> {
  const waitingPolls = Math.min(askers.many.length, mostWaiting);
  const api = await bench.startRole('api');
  const target = { url: api.url, processes: { service: api.pid, Postgres: bench.processes.postgres } };
  const polls = httpCases(askers).find(({ name }) => name === 'status poll');
  if (!polls) throw new Error('there are no status polls to measure');
  const [without, beside]: [Measured[], Measured[]] = [[], []];
  const kibibytes: number[] = [];
  const idle: Record<string, number[]> = { service: [], Postgres: [] };
  const measured = async (load: Measured[]) => {
    await resetWindows(pool);
    load.push(await measure(target, { ...polls, seconds }));
  };
  // The first round warms everything up, and is not kept.
  for (let round = 0; round <= rounds; round += 1) {
    progress(`round ${round} of ${rounds}: ordinary polls, then beside ${waitingPolls} waiting ones`);
    await measured(without);
    const before = residentMebibytes(api.pid);
    const sockets = await startWaiting(target, askers);
    kibibytes.push(((residentMebibytes(api.pid) - before) * 1024) / waitingPolls);
    for (const [process, micros] of Object.entries(await microsASecond(target))) idle[process]?.push(micros);
    await measured(beside);
    if ((await countWaiting(target)) !== waitingPolls) throw new Error('not all of them waited to the end');
    for (const socket of sockets) socket.destroy();
    await waitFor(async () => (await countWaiting(target)) === 0, { what: 'all places to be free again' });
  }
  return figuresOf(target, { waitingPolls, without, beside, kibibytes, idle });
}

interface WaitingSeries {
  waitingPolls: number;
  without: Measured[];
  beside: Measured[];
  /** Of each waiting poll. */
  kibibytes: number[];
  /** Microseconds of processor time a second while nothing else is asked, by process. */
  idle: Record<string, number[]>;
}

function figuresOf(target: Target, series: WaitingSeries): Results {
  const { waitingPolls } = series;
  const [without, beside] = [series.without.slice(1), series.beside.slice(1)];
  const rates = (load: readonly Measured[]) => load.map(({ perSecond }) => perSecond);
  const named = `beside ${waitingPolls} waiting polls`;
  return {
    ratios: [ratio(`status poll ${named}: to without`, rates(beside), rates(without))],
    figures: [
      { name: 'status poll, none waiting', unit: 'requests/s', values: rates(without) },
      { name: `status poll ${named}`, unit: 'requests/s', values: rates(beside) },
      ...Object.keys(target.processes).flatMap((process) => [
        {
          name: `status poll, none waiting, CPU of ${process}`,
          unit: 'µs/request',
          values: without.map(({ micros }) => micros[process] ?? NaN),
        },
        {
          name: `status poll ${named}, CPU of ${process}`,
          unit: 'µs/request',
          values: beside.map(({ micros }) => micros[process] ?? NaN),
        },
      ]),
      ...Object.entries(series.idle).map(([process, micros]) => ({
        name: `${waitingPolls} waiting polls alone, CPU of ${process}`,
        unit: 'ms/s',
        values: micros.slice(1).map((each) => each / 1000),
      })),
      { name: `status poll ${named}, p99`, unit: 'ms', values: beside.map(({ p99Ms }) => p99Ms) },
      // The first round is the one in which the process has no memory of such polls to use again.
      { name: 'resident memory of a waiting poll', unit: 'KiB', values: series.kibibytes.slice(0, 1) },
    ],
  };
}

const idleMs = 1_000;

async function microsASecond({ processes }: Target): Promise<Record<string, number>> {
  const before = Object.entries(processes).map(([name, pid]) => [name, pid, processorMicros(pid)] as const);
  await sleep(idleMs);
  const perSecond = 1_000 / idleMs;
  return Object.fromEntries(before.map(([name, pid, micros]) => [name, (processorMicros(pid) - micros) * perSecond]));
}

async function startWaiting(target: Target, { many }: Askers): Promise<Socket[]> {
  const { hostname, port } = new URL(target.url);
  const sockets: Socket[] = [];
  for (const { keys, queuedToken } of many.slice(0, mostWaiting)) {
    const request = `GET /api/v1/video/status?token=${queuedToken} HTTP/1.1\r\nHost: ${hostname}\r\nPrefer: wait=60\r\n`;
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => undefined).write(`${request}Authorization: Bearer ${keys[0]?.key ?? ''}\r\n\r\n`);
    sockets.push(socket);
    if (sockets.length % openedAtOnce === 0) await untilWaiting(target, sockets.length);
  }
  return sockets;
}

async function untilWaiting(target: Target, count: number): Promise<void> {
  await waitFor(async () => (await countWaiting(target)) === count, {
    what: `${count} polls to wait`,
    timeoutMs: 30_000,
  });
}

async function countWaiting({ url }: Target): Promise<number | undefined> {
  return readMetric(url, 'reeltally_waiting_polls');
}
