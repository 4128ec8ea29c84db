import pMap from 'p-map';
import type { Pool } from 'pg';
import { projections } from '../../projections/all.ts';
import { catchUp } from '../../projections/runner/wait-for-checkpoint.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import type { ServiceProcess } from '../support/service.ts';
import type { Bench } from './engines.ts';
import { type Figure, progress, ratio, type Results } from './figures.ts';
import { type Askers, connectionsNamed, fewConnections, httpCases, manyConnections } from './http-cases.ts';
import { measure, type Measured, type Target } from './load.ts';
import { resetWindows } from './population.ts';

/** One server under one load, in each round. */
export interface Series {
  target: string;
  name: string;
  connections: number;
  rounds: Measured[];
}

interface HttpOptions {
  rounds: number;
  seconds: number;
  /** The beginning of the names of those that are measured. */
  cases: string;
  /** The running projector: part of what a download costs. */
  projector: ServiceProcess;
  store: EventStore;
}

const settleLimitMs = 60_000;

/** The API beside a bare node:http server, a bare Fastify route, and CRUD services without and with a queue, in turns. */
export async function benchHttp(
  bench: Bench,
  pool: Pool,
  askers: Askers,
  { rounds, seconds, cases, projector, store }: HttpOptions,
): Promise<Results> {
  const targets = await startTargets(bench, pool, { askers, projector, store });
  if (!targets.BullMQ)
    progress('BullMQ is left out: it needs a redis-server on the PATH, and "npm install --no-save bullmq ioredis"');
  const series: Series[] = [];
  // The first round warms everything up, and is not kept.
  for (let round = 0; round <= rounds; round += 1) {
    for (const { target, name, connections, requests } of turns(askers, cases)) {
      const server = targets[target];
      if (!server) continue;
      progress(`round ${round} of ${rounds}: ${target}, ${name}`);
      const measured = await measure(server, {
        connections,
        seconds,
        ...(requests && { requests }),
      });
      if (name.startsWith('downloads') || target === 'reeltally') await resetWindows(pool);
      if (round > 0) seriesOf(series, { target, name, connections }).rounds.push(measured);
    }
  }
  return httpResults(series);
}

export const httpResults = (series: readonly Series[]): Results => ({
  ratios: ratiosOf(series),
  figures: series.flatMap(figuresOf),
});

const bareNames = ['node:http', 'fastify'] as const;
/** What the CRUD service may hand downloads to. */
const queueNames = ['graphile-worker', 'BullMQ', 'procedure'] as const;
type QueueName = (typeof queueNames)[number];
type TargetName = (typeof bareNames)[number] | 'crud' | QueueName | 'reeltally';
type Targets = Partial<Record<TargetName, Target>>;

/** Each server with each request that it answers. @param cases as `HttpOptions` */
export function turns(askers: Askers, cases: string) {
  const answered = httpCases(askers)
    .filter(({ name }) => name.startsWith(cases))
    .flatMap((one) => {
      const queues = one.name.startsWith('downloads') ? queueNames : [];
      return (['crud', ...queues, 'reeltally'] as const).map((target) => ({ target, ...one }));
    });
  const bare = bareNames.flatMap((target) =>
    [manyConnections, ...fewConnections].map((connections) => ({
      target,
      name: fixedAnswer(connections),
      connections,
      requests: undefined,
    })),
  );
  return [...bare, ...answered];
}

const fixedAnswer = (connections: number): string =>
  connections === manyConnections ? 'fixed answer' : `fixed answer, ${connectionsNamed(connections)}`;

async function startTargets(
  bench: Bench,
  pool: Pool,
  { askers, projector, store }: Pick<HttpOptions, 'projector' | 'store'> & { askers: Askers },
): Promise<Targets> {
  const node = await bench.startContender('bare-node.ts');
  const fastify = await bench.startContender('bare-fastify.ts');
  const { postgres, Redis, 'event store': eventStore } = bench.processes;
  const startCrud = async (kind?: QueueName): Promise<Target> => {
    const { url, pid } = await bench.startContender('crud-service.ts', kind);
    return {
      url,
      processes: { service: pid, Postgres: postgres, ...(kind === 'BullMQ' && Redis !== undefined && { Redis }) },
    };
  };
  const crud = await startCrud();
  await populateCrud(pool, askers);
  const api = await bench.startRole('api');
  return {
    'node:http': { url: node.url, processes: { service: node.pid } },
    fastify: { url: fastify.url, processes: { service: fastify.pid } },
    crud,
    'graphile-worker': await startCrud('graphile-worker'),
    ...(Redis !== undefined && { BullMQ: await startCrud('BullMQ') }),
    procedure: await startCrud('procedure'),
    reeltally: {
      url: api.url,
      processes: {
        service: api.pid,
        projector: projector.pid,
        Postgres: postgres,
        'event store': eventStore,
      },
      settled: () => untilProjected({ store, pool }),
    },
  };
}

/** Waits until all read models show what the log has now. */
export async function untilProjected(behind: { store: EventStore; pool: Pool }): Promise<void> {
  await pMap(projections, (projection) => catchUp(behind, projection, settleLimitMs));
}

/** The same accounts, keys and jobs as the service has. */
async function populateCrud(pool: Pool, { many, one }: Askers): Promise<void> {
  const accounts = [...many, one];
  await pool.query('insert into crud_accounts select unnest($1::text[]), 1000000, 0, 0, 25, 120', [
    accounts.map(({ id }) => id),
  ]);
  const keys = accounts.flatMap(({ id, keys: issued }) => issued.map(({ keyHash }) => ({ id, keyHash })));
  await pool.query('insert into crud_keys (hash, account_id) select * from unnest($1::text[], $2::text[])', [
    keys.map(({ keyHash }) => keyHash),
    keys.map(({ id }) => id),
  ]);
  await pool.query(
    `insert into crud_jobs (token, account_id, platform, video_id, url, format, quality, status, file_name, file_size)
     select token, account_id, platform, video_id, url, format, quality, status, file_name, file_size_bytes from jobs`,
  );
  await pool.query('vacuum analyze crud_accounts, crud_keys, crud_jobs');
}

function seriesOf(series: Series[], { target, name, connections }: Omit<Series, 'rounds'>): Series {
  const known = series.find((one) => one.target === target && one.name === name);
  if (known) return known;
  const made = { target, name, connections, rounds: [] };
  series.push(made);
  return made;
}

function ratiosOf(series: readonly Series[]): Figure[] {
  const rates = ({ rounds }: Series) => rounds.map(({ perSecond }) => perSecond);
  return series
    .filter(({ target }) => target === 'reeltally')
    .flatMap((own) => {
      const others = series.filter(({ name, target }) => name === own.name && target !== 'reeltally');
      const bare = own.name.startsWith('downloads')
        ? []
        : series.filter(({ name }) => name === fixedAnswer(own.connections));
      return [...others, ...bare].map((other) => {
        const against = bare.includes(other) ? `a fixed answer of ${other.target}` : crudNamed(other.target);
        return ratio(`${own.name}: to ${against}`, rates(own), rates(other));
      });
    });
}

function crudNamed(target: string): string {
  if (target === 'crud') return 'the CRUD service';
  return target === 'procedure' ? 'one stored procedure' : `the CRUD service with ${target}`;
}

function figuresOf({ target, name, connections, rounds }: Series): Figure[] {
  const named = `${target}: ${name}`;
  const byProcess = (what: string, unit: string, of: (round: Measured) => Record<string, number>): Figure[] =>
    Object.keys(rounds[0] ? of(rounds[0]) : {}).map((process) => ({
      name: `${named}, ${what} of ${process}`,
      unit,
      values: rounds.map((round) => of(round)[process] ?? NaN),
    }));
  return [
    { name: named, unit: 'requests/s', values: rounds.map(({ perSecond }) => perSecond) },
    { name: `${named}, p50`, unit: 'ms', values: rounds.map(({ p50Ms }) => p50Ms) },
    { name: `${named}, p99`, unit: 'ms', values: rounds.map(({ p99Ms }) => p99Ms) },
    ...byProcess('CPU', 'µs/request', ({ micros }) => micros),
    // With many connections, a thread finds more work whenever it looks.
    ...(connections === manyConnections ? [] : byProcess('switches', 'switches/request', ({ switches }) => switches)),
  ];
}
