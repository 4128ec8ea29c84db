import type { Pool } from 'pg';
import { residentMebibytes } from '../support/process-memory.ts';
import type { Bench } from './engines.ts';
import { type Figure, perSecond, progress, ratio, type Results, series } from './figures.ts';
import { type Askers, type HttpCase, httpCases, manyConnections } from './http-cases.ts';
import { measure } from './load.ts';
import { resetWindows } from './population.ts';

/** Engines with accounts and their jobs. All accounts ask, whether they are few or many. */
export interface Side extends Askers {
  bench: Bench;
  pool: Pool;
  jobs: number;
}

/** The answer is in the cache by then: it is the look-up itself that is measured, and not yt-dlp. */
const lookups = 20;
const issued = 20;
const manyKeys = 50_000;

/** Every endpoint with few jobs in the read model and with many, in turns. */
export async function benchSizes(
  { few, many }: { few: Side; many: Side },
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Results> {
  const [apiOfFew, apiOfMany] = [await few.bench.startRole('api'), await many.bench.startRole('api')];
  const ofFew = await startMeasures(few, { url: apiOfFew.url, seconds });
  const ofMany = await startMeasures(many, { url: apiOfMany.url, seconds });
  const rates = [...ofFew.keys()].map((name) => ({ name, few: [] as number[], many: [] as number[] }));
  // The first round warms everything up, and is not kept.
  for (let round = 0; round <= rounds; round += 1) {
    for (const one of rates) {
      progress(`round ${round} of ${rounds}: ${one.name}, with ${few.jobs} jobs and with ${many.jobs}`);
      const [rateOfFew, rateOfMany] = [await ofFew.get(one.name)?.(), await ofMany.get(one.name)?.()];
      if (round === 0) continue;
      one.few.push(rateOfFew ?? NaN);
      one.many.push(rateOfMany ?? NaN);
    }
  }
  const unit = 'requests/s';
  return {
    ratios: rates.map((one) => ratio(sizesRatio(one.name, few.jobs, many.jobs), one.many, one.few)),
    figures: [
      ...rates.map((one) => ({ name: `${one.name}, ${few.jobs} jobs`, unit, values: one.few })),
      ...rates.map((one) => ({ name: `${one.name}, ${many.jobs} jobs`, unit, values: one.many })),
      { name: `memory of the API, ${few.jobs} jobs`, unit: 'MiB', values: [residentMebibytes(apiOfFew.pid)] },
      { name: `memory of the API, ${many.jobs} jobs`, unit: 'MiB', values: [residentMebibytes(apiOfMany.pid)] },
      ...(await measureBytes(many)),
    ],
  };
}

export const sizesRatio = (name: string, few: number, many: number): string => `${name}, ${many} jobs: to ${few} jobs`;

/** Starts what answers. @returns by what is measured, what gives its requests a second */
async function startMeasures(
  side: Side,
  { url, seconds }: { url: string; seconds: number },
): Promise<Map<string, () => Promise<number>>> {
  const { bench, pool, one, many } = side;
  await bench.startRole('worker');
  await warmUp(pool);
  // Many keys are never used up, and writing all their rows again would be measured too.
  const isUsedUp = many.length < manyKeys;
  const underLoad = async ({ connections, requests }: HttpCase) => {
    if (isUsedUp) await resetWindows(pool, 0);
    return (await measure({ url, processes: {} }, { connections, seconds, requests })).perSecond;
  };
  const film = encodeURIComponent(`${bench.sampleUrl}/watch/bars`);
  // In turns, so that no window is used up.
  let asked = 0;
  const nextKey = () => one.keys[asked++ % one.keys.length]?.key;
  const nextAccount = () => many[asked++ % many.length]?.keys[0]?.key;
  const cases = httpCases(side).filter(({ connections }) => connections === manyConnections);
  return new Map([
    ...cases.map((each) => [each.name.replace('10 000', 'many'), () => underLoad(each)] as const),
    ['metadata, one at a time', () => timed(lookups, () => ask(url, nextKey(), `/video/metadata?url=${film}`))],
    ['keys, one at a time', () => timed(issued, () => ask(url, nextAccount(), '/auth/key', { label: 'bench' }))],
  ]);
}

/**
 * Brings tables and keys into memory, as they are on a machine that has run for a while. Writes out what filled them, and then
 * every window once: the first change of a page after a checkpoint puts the whole page into Postgres's own log.
 */
async function warmUp(pool: Pool): Promise<void> {
  await pool.query('select sum(length(token)) from jobs');
  const client = await pool.connect();
  await client.query('set enable_seqscan = off');
  await client.query('select max(length(token)) from (select token from jobs order by token) t');
  client.release(true);
  await pool.query('checkpoint');
  await resetWindows(pool, 0);
}

/** What Postgres holds of each job and each account, indexes included. */
async function measureBytes({ pool, many, jobs }: Side): Promise<Figure[]> {
  const bytes = async (...tables: readonly string[]) => {
    const sum = tables.map((table) => `pg_total_relation_size('${table}')`).join(' + ');
    const { rows } = await pool.query<{ bytes: number }>(`select (${sum})::float8 as bytes`);
    return rows[0]?.bytes ?? NaN;
  };
  const ofAccounts = await bytes('credits', 'api_keys', 'api_key_window', 'hourly_limits', 'account_heads');
  return [
    { name: 'row of a job in Postgres', unit: 'bytes', values: [(await bytes('jobs')) / jobs] },
    { name: 'rows of an account with one key in Postgres', unit: 'bytes', values: [ofAccounts / many.length] },
  ];
}

const timed = (times: number, work: () => Promise<void>) => perSecond(times, () => series(times, work));

async function ask(url: string, key: string | undefined, path: string, body?: object): Promise<void> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${key ?? ''}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
}
