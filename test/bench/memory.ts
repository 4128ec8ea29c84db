import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { residentMebibytes } from '../support/process-memory.ts';
import type { ServiceProcess } from '../support/service.ts';
import type { Bench } from './engines.ts';
import { type Figure, progress, type Results } from './figures.ts';
import { type Askers, httpCases } from './http-cases.ts';
import { type Load, measure } from './load.ts';
import { resetWindows } from './population.ts';

/** For what the answers have left behind. */
const restMs = 2_000;

/** Memory of each role, in a process of its own, after so many requests. */
export async function benchMemory(
  bench: Bench,
  pool: Pool,
  { projector, ...askers }: Askers & { projector: ServiceProcess },
  { requests, seconds }: { requests: number; seconds: number },
): Promise<Results> {
  const roles = {
    API: await bench.startRole('api'),
    projector,
    dispatcher: await bench.startRole('dispatcher'),
    // Downloads stay queued: it finds too little room.
    worker: await bench.startRole('worker', { MIN_FREE_DISK_MIB: '1000000000' }),
  };
  const load = { connections: 64, seconds: 5 * seconds, requests: mixedRequests(askers) };
  // The first requests make the process what it is; growth counts from there.
  await measure({ url: roles.API.url, processes: {} }, { ...load, seconds: 2 });
  const figures = memoryOf(roles, 'at first');
  let answered = 0;
  // What grows for ever grows from the half to the whole as well.
  for (const [share, when] of [
    [0.5, 'after half of the requests'],
    [1, 'after the requests'],
  ] as const) {
    answered = await askUntil(share * requests, { url: roles.API.url, pool, load, answered });
    await sleep(restMs);
    figures.push(...memoryOf(roles, when));
  }
  return { ratios: [], figures };
}

/** Sends requests until so many are answered. @param answered so many are already @returns how many are now */
export async function askUntil(
  requests: number,
  { url, pool, load, answered }: { url: string; pool: Pool; load: Load; answered: number },
): Promise<number> {
  while (answered < requests) {
    progress(`${answered} of ${requests} requests`);
    await resetWindows(pool, 0);
    answered += Math.round((await measure({ url, processes: {} }, load)).perSecond * load.seconds);
  }
  return answered;
}

type Roles = Readonly<Record<string, ServiceProcess>>;

function memoryOf(roles: Roles, when: string): Figure[] {
  return Object.entries(roles).map(([name, { pid }]) => ({
    name: `memory of the ${name}, ${when}`,
    unit: 'MiB',
    values: [residentMebibytes(pid)],
  }));
}

/** 89 polls, ten requests for credits and one download, over and over. */
export function mixedRequests(askers: Askers) {
  const cases = new Map(httpCases(askers).map(({ name, requests }) => [name, requests]));
  const listsOf = (name: string) => cases.get(name) ?? [];
  const [polls, credits, downloads] = ['status poll', 'credits', 'downloads, 10 000 accounts'].map(listsOf);
  return (polls ?? []).map((list, connection) =>
    list.map((poll, index) => {
      const other = index % 100 === 0 ? downloads : index % 10 === 0 ? credits : undefined;
      return other?.[connection]?.[index] ?? poll;
    }),
  );
}
