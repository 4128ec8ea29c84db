import type { Pool } from 'pg';
import type { EventStore } from '../../src/ports/event-store.ts';
import type { ServiceProcess } from '../support/service.ts';
import { sum } from '../support/sum.ts';
import type { Bench } from './engines.ts';
import { type Figure, progress, ratio, type Results } from './figures.ts';
import { testHourlyLimits } from './hourly-limits.ts';
import { untilProjected } from './http.ts';
import { type Askers, httpCases } from './http-cases.ts';
import { measure, type Measured, type Target } from './load.ts';
import { resetWindows } from './population.ts';

interface TwoProcessesOptions {
  rounds: number;
  seconds: number;
  /** How many requests test the hourly limits. */
  requests: number;
  projector: ServiceProcess;
  store: EventStore;
}

const caseNames = ['status poll', 'downloads, 10 000 accounts'];

/** One load on one API process, and the same load spread over two of them; then whether both together keep hourly limits. */
export async function benchTwoProcesses(
  bench: Bench,
  pool: Pool,
  askers: Askers,
  options: TwoProcessesOptions,
): Promise<Results> {
  const apis = [await bench.startRole('api'), await bench.startRole('api')] as const;
  const pairs = await measurePairs(bench, pool, askers, { ...options, apis });
  await resetWindows(pool, 0);
  const limits = await testHourlyLimits([apis[0].url, apis[1].url], askers.many, options.requests);
  for (const api of apis) await api.stop();
  return {
    ratios: pairs.map(({ name, one, two }) =>
      ratio(`${name}, two processes: requests per CPU second to one`, perCpuSecond(two), perCpuSecond(one)),
    ),
    figures: [
      ...pairs.flatMap(({ name, one, two }) => [
        ...figuresOf(`${name}, one process`, one),
        ...figuresOf(`${name}, two processes`, two),
      ]),
      ...limits,
    ],
  };
}

interface Pair {
  name: string;
  one: Measured[];
  two: Measured[];
}

async function measurePairs(
  bench: Bench,
  pool: Pool,
  askers: Askers,
  {
    rounds,
    seconds,
    projector,
    store,
    apis,
  }: TwoProcessesOptions & { apis: readonly [ServiceProcess, ServiceProcess] },
): Promise<Pair[]> {
  const { postgres: Postgres, 'event store': eventStore } = bench.processes;
  const shared = { projector: projector.pid, Postgres, 'event store': eventStore };
  const cases = httpCases(askers).filter(({ name }) => caseNames.includes(name));
  const pairs = cases.map(({ name }): Pair => ({ name, one: [], two: [] }));
  // The first round warms everything up, and is not kept.
  for (let round = 0; round <= rounds; round += 1) {
    const [first, second] = round % 2 === 0 ? apis : [apis[1], apis[0]];
    const processes = { service: first.pid, ...shared };
    const one = { url: first.url, processes, settled: () => untilProjected({ store, pool }) };
    const two = { ...one, otherUrls: [second.url], processes: { ...processes, 'the second process': second.pid } };
    for (const [index, { name, connections, requests }] of cases.entries()) {
      for (const [kind, target] of Object.entries({ one, two }) as ['one' | 'two', Target][]) {
        progress(`round ${round} of ${rounds}: ${name}, processes: ${kind}`);
        await resetWindows(pool);
        const measured = await measure(target, { connections, seconds, requests });
        if (round > 0) pairs[index]?.[kind].push(measured);
      }
    }
  }
  return pairs;
}

/** The projector does the same for each download, however many processes accepted it: it would hide a difference. */
function perCpuSecond(rounds: readonly Measured[]): number[] {
  return rounds.map(({ micros }) => {
    const { projector: _, ...own } = micros;
    return 1_000_000 / sum(Object.values(own));
  });
}

function figuresOf(name: string, rounds: readonly Measured[]): Figure[] {
  const processes = Object.keys(rounds[0]?.micros ?? {}).map((process) => ({
    name: `${name}, CPU of ${process}`,
    unit: 'µs/request',
    values: rounds.map(({ micros }) => micros[process] ?? NaN),
  }));
  return [
    { name, unit: 'requests/s', values: rounds.map(({ perSecond }) => perSecond) },
    { name: `${name}, per CPU second`, unit: 'requests', values: perCpuSecond(rounds) },
    ...processes,
  ];
}
