import type { Pool } from 'pg';
import type { ServiceProcess } from '../support/service.ts';
import type { Bench } from './engines.ts';
import { progress, ratio } from './figures.ts';
import type { Figure, Results } from './figures.ts';
import { httpCases } from './http-cases.ts';
import type { Askers } from './http-cases.ts';
import { measure } from './load.ts';
import type { Measured, Target } from './load.ts';
import { resetWindows } from './population.ts';

/** One server under one load, in each round. */
interface Series {
  target: string;
  name: string;
  rounds: Measured[];
}

interface HttpOptions {
  rounds: number;
  seconds: number;
  /** The running projector: part of what a download costs. */
  projector: ServiceProcess;
}

/** The API beside a bare node:http server, a bare Fastify route and a plain CRUD service, in turns. */
export async function benchHttp(
  bench: Bench,
  pool: Pool,
  askers: Askers,
  { rounds, seconds, projector }: HttpOptions,
): Promise<Results> {
  const targets = await startTargets(bench, pool, { askers, projector });
  const series: Series[] = [];
  // The first round warms everything up, and is not kept.
  for (let round = 0; round <= rounds; round += 1) {
    for (const { target, name, connections, requests } of turns(askers)) {
      progress(`round ${round} of ${rounds}: ${target}, ${name}`);
      const measured = await measure(targets[target], {
        connections,
        seconds,
        ...(requests && { requests }),
      });
      if (name.startsWith('downloads') || target === 'reeltally') await resetWindows(pool);
      if (round > 0) seriesOf(series, target, name).rounds.push(measured);
    }
  }
  return { ratios: ratiosOf(series), figures: series.flatMap(figuresOf) };
}

type TargetName = 'node:http' | 'fastify' | 'crud' | 'reeltally';

function turns(askers: Askers) {
  const cases = httpCases(askers);
  const answered = cases.flatMap((one) => [
    { target: 'crud' as const, ...one },
    { target: 'reeltally' as const, ...one },
  ]);
  const bare = (['node:http', 'fastify'] as const).flatMap((target) => [
    { target, name: 'fixed answer', connections: 64, requests: undefined },
    { target, name: 'fixed answer, 4 connections', connections: 4, requests: undefined },
  ]);
  return [...bare, ...answered];
}

async function startTargets(
  bench: Bench,
  pool: Pool,
  { askers, projector }: { askers: Askers; projector: ServiceProcess },
): Promise<Record<TargetName, Target>> {
  const node = await bench.startContender('bare-node.ts');
  const fastify = await bench.startContender('bare-fastify.ts');
  const crud = await bench.startContender('crud-service.ts');
  await populateCrud(pool, askers);
  const api = await bench.startRole('api');
  return {
    'node:http': { url: node.url, processes: { service: node.pid } },
    fastify: { url: fastify.url, processes: { service: fastify.pid } },
    crud: { url: crud.url, processes: { service: crud.pid, Postgres: bench.processes.postgres } },
    reeltally: {
      url: api.url,
      processes: {
        service: api.pid,
        projector: projector.pid,
        Postgres: bench.processes.postgres,
        'event store': bench.processes['event store'],
      },
    },
  };
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

function seriesOf(series: Series[], target: string, name: string): Series {
  const known = series.find((one) => one.target === target && one.name === name);
  if (known) return known;
  const made = { target, name, rounds: [] };
  series.push(made);
  return made;
}

function ratiosOf(series: readonly Series[]): Figure[] {
  const rates = (target: string, name: string) =>
    series.find((one) => one.target === target && one.name === name)?.rounds.map(({ perSecond }) => perSecond) ?? [];
  return series
    .filter(({ target }) => target === 'reeltally')
    .flatMap(({ name }) => {
      const fixed = name.endsWith('4 connections') ? 'fixed answer, 4 connections' : 'fixed answer';
      const own = rates('reeltally', name);
      const bare = (['node:http', 'fastify'] as const).map((target) =>
        ratio(`${name}: to a fixed answer of ${target}`, own, rates(target, fixed)),
      );
      return [
        ratio(`${name}: to the CRUD service`, own, rates('crud', name)),
        ...(name.startsWith('downloads') ? [] : bare),
      ];
    });
}

function figuresOf({ target, name, rounds }: Series): Figure[] {
  const named = `${target}: ${name}`;
  const figures = [
    { name: named, unit: 'requests/s', values: rounds.map(({ perSecond }) => perSecond) },
    { name: `${named}, p50`, unit: 'ms', values: rounds.map(({ p50Ms }) => p50Ms) },
    { name: `${named}, p99`, unit: 'ms', values: rounds.map(({ p99Ms }) => p99Ms) },
  ];
  const processes = Object.keys(rounds[0]?.micros ?? {}).map((process) => ({
    name: `${named}, CPU of ${process}`,
    unit: 'µs/request',
    values: rounds.map(({ micros }) => micros[process] ?? NaN),
  }));
  return [...figures, ...processes];
}
