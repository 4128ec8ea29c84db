import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { Pool } from 'pg';
import { residentMebibytes } from '../support/process-memory.ts';
import { type Figure, progress } from './figures.ts';
import type { Guest } from './staff.ts';
import { addMonths } from './staff-population.ts';

/** Measures large exports: as many rows of everybody's overage as there are jobs, and a month's close. */
export async function benchExports({
  guest,
  pid,
  pool,
  jobs,
  rounds,
}: {
  guest: Guest;
  pid: number;
  pool: Pool;
  jobs: number;
  rounds: number;
}): Promise<Figure[]> {
  const { rows } = await pool.query<{ count: number; month: string }>(
    `select count(distinct account_id)::int as count, to_char(now() at time zone 'utc' - interval '1 month', 'YYYY-MM') as month
     from credits`,
  );
  const [{ count, month } = { count: 1, month: '' }] = rows;
  progress(`making ${jobs} rows to export`);
  await addMonths(pool, { from: 25, to: Math.ceil(jobs / count) });
  const figures: Figure[] = [];
  for (const each of staffExports(month)) figures.push(...(await measure(each, { guest, pid, rounds })));
  return figures;
}

export const staffExports = (month: string) =>
  ['csv', 'json'].flatMap((form) => [
    { name: `overage of all months as ${form}`, path: `/staff/overage.${form}?month=all&sort=charged` },
    { name: `the close of a month as ${form}`, path: `/staff/months/${month}.${form}` },
  ]);

export const exportRate = (name: string): string => `export of ${name}`;

async function measure(
  { name, path }: { name: string; path: string },
  { guest, pid, rounds }: { guest: Guest; pid: number; rounds: number },
): Promise<Figure[]> {
  const [seconds, perSecond, before, most]: [number[], number[], number[], number[]] = [[], [], [], []];
  let lines = 0;
  for (let round = 0; round < rounds; round += 1) {
    progress(`export of ${name}, round ${round + 1} of ${rounds}`);
    const at = residentMebibytes(pid);
    const startedMs = performance.now();
    const read = await readAll(guest, path, () => residentMebibytes(pid));
    const took = (performance.now() - startedMs) / 1_000;
    lines = read.lines;
    seconds.push(took);
    perSecond.push(lines / took);
    before.push(at);
    most.push(Math.max(at, read.most));
  }
  return [
    { name: `export of ${name}, ${lines} lines`, unit: 's', values: seconds },
    { name: exportRate(name), unit: 'lines/s', values: perSecond },
    { name: `export of ${name}: memory before`, unit: 'MiB', values: before },
    { name: `export of ${name}: most memory`, unit: 'MiB', values: most },
  ];
}

async function readAll(
  { url, cookie }: Guest,
  path: string,
  memory: () => number,
): Promise<{ lines: number; most: number }> {
  const [answer] = (await once(get(url + path, { headers: { cookie }, agent: false }), 'response')) as [
    IncomingMessage,
  ];
  if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}`);
  let [lines, most] = [0, 0];
  const watch = setInterval(() => (most = Math.max(most, memory())), 100);
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) for (const byte of chunk) if (byte === 10) lines += 1;
  } finally {
    clearInterval(watch);
  }
  return { lines, most };
}
