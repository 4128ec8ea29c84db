/** `npm run bench`: ratios within one run first, then what was measured. See docs/performance.md. */
import { loadavg } from 'node:os';
import { Command, Option } from 'commander';
import pg from 'pg';
import { pino } from 'pino';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { wholeNumber } from '../support/whole-number.ts';
import { benchAppends } from './appends.ts';
import { benchClaims } from './claims.ts';
import { benchConsole } from './console.ts';
import { startBench } from './engines.ts';
import { progress, type Results, tableOf } from './figures.ts';
import { benchFiles } from './file-readers.ts';
import { benchHttp } from './http.ts';
import { benchJobs } from './jobs.ts';
import { benchLookups } from './lookups.ts';
import { benchMemory } from './memory.ts';
import { benchParser } from './parser.ts';
import { copyJobs, createTokens, openAccounts, putFiles, waitUntilKeysAreKnown } from './population.ts';
import { benchProjections } from './projections.ts';
import { benchSigning } from './signing.ts';
import { benchSizes } from './sizes.ts';
import { benchStaff } from './staff.ts';
import { benchStorage } from './storage.ts';
import { benchTwoProcesses } from './two-processes.ts';
import { benchVerify } from './verify.ts';
import { benchWaiting } from './waiting.ts';

const parts = [
  'http',
  'appends',
  'claims',
  'projections',
  'verify',
  'sizes',
  'parser',
  'jobs',
  'lookups',
  'waiting',
  'console',
  'staff',
  'processes',
  'files',
  'storage',
  'memory',
] as const;
const { rounds, seconds, only, cases, accounts, jobs, requests, json } = new Command('bench')
  .description(
    'measures the service beside what could stand in its place; on loopback only, for about three quarters of an hour',
  )
  .option('--rounds <n>', 'how often everything is measured, in turns', wholeNumber, 4)
  .option('--seconds <n>', 'how long each server is under load in a round', wholeNumber, 2)
  .addOption(new Option('--only <part>', 'measure this part alone').choices(parts))
  .option('--cases <name>', 'of the part "http", only the requests whose names begin so, e.g. "downloads"', '')
  .option(
    '--accounts <n>',
    'how many accounts are opened; the parts that write whole logs take fewer',
    wholeNumber,
    10_000,
  )
  .option(
    '--jobs <n>',
    'of the parts "sizes", "console" and "staff", how many jobs the read model has, 100 of each account',
    wholeNumber,
    1_000_000,
  )
  .option(
    '--requests <n>',
    'of the parts "processes" and "memory", how many requests are sent; of "staff", how often each page is visited: a twentieth, 50 at most',
    wholeNumber,
    20_000,
  )
  .option('--json', 'print one JSON object instead of tables')
  .parse()
  .opts<{
    rounds: number;
    seconds: number;
    only?: (typeof parts)[number];
    cases: string;
    accounts: number;
    jobs: number;
    requests: number;
    json?: true;
  }>();
/** Accounts with a hundred downloads each. */
const withHistory = Math.ceil(accounts / 25);
const wanted = (part: (typeof parts)[number]) => only === undefined || only === part;

/**
 * Fresh engines with so many accounts and jobs, and one account with a thousand keys. Jobs are in the read model alone, two of
 * each account at least; without any, one download of each account waits in the log.
 */
async function withAccounts(
  counts: { accounts: number; jobs: number },
  work: (prepared: Awaited<ReturnType<typeof prepare>>) => Promise<void>,
): Promise<void> {
  await using bench = await startBench();
  const prepared = await prepare(bench, counts);
  try {
    await work(prepared);
  } finally {
    await prepared.pool.end();
    await prepared.store.close();
  }
}

async function prepare(
  bench: Awaited<ReturnType<typeof startBench>>,
  { accounts, jobs }: { accounts: number; jobs: number },
) {
  progress(`starting the engines, opening ${accounts} accounts`);
  const pool = new pg.Pool({ connectionString: bench.addresses.DATABASE_URL });
  const projector = await bench.startRole('projector');
  const store = connectEventStore({ url: bench.addresses.EVENTSTORE_URL, logger: pino({ level: 'silent' }) });
  const tokens = createTokens(bench.secret);
  const many = await openAccounts(store, { accounts, keys: 1, waiting: jobs === 0 }, tokens);
  const [one] = await openAccounts(store, { accounts: 1, keys: 900 }, tokens);
  if (!one) throw new Error('no account was opened');
  await waitUntilKeysAreKnown(pool, accounts + 900);
  const withFile = many.slice(0, 2_000);
  if (jobs > 0) {
    progress(`copying ${jobs} jobs into the read model`);
    await copyJobs(pool, { accounts: many, jobs, tokens, directory: bench.directory });
  }
  await putFiles(bench.directory, bench.secret, withFile);
  return { bench, pool, store, projector, many, withFile, one };
}

const started = new Date();
const loadBefore = loadavg()[0] ?? 0;
const results: Results[] = [];
const add = (result: Results) => {
  results.push(result);
  progress(tableOf('ratio', result.ratios));
};
if (wanted('http') || wanted('appends') || wanted('waiting') || wanted('processes')) {
  await withAccounts({ accounts, jobs: 3 * accounts }, async (prepared) => {
    const { bench, pool, store } = prepared;
    if (wanted('http')) add(await benchHttp(bench, pool, prepared, { ...prepared, rounds, seconds, cases }));
    if (wanted('waiting')) add(await benchWaiting(bench, pool, prepared, { rounds, seconds }));
    if (wanted('processes'))
      add(await benchTwoProcesses(bench, pool, prepared, { ...prepared, rounds, seconds, requests }));
    if (wanted('appends')) add(await benchAppends(store, rounds));
  });
}
if (wanted('http')) add({ ratios: [], figures: [await benchSigning(rounds)] });
if (wanted('parser')) add(benchParser(rounds));
if (wanted('projections')) {
  await withAccounts({ accounts: 1, jobs: 2 }, async ({ bench, store }) => {
    add(await benchProjections(bench, store, { accounts: withHistory, rounds: Math.min(rounds, 3) }));
  });
}
if (wanted('verify')) {
  // Engines of its own: rows of the read models that are not in the log would be a divergence.
  await using bench = await startBench();
  add(await benchVerify(bench, { accounts: withHistory, rounds }));
}
if (wanted('jobs')) add(await benchJobs(rounds));
if (wanted('claims') || wanted('lookups')) {
  // Of many rows that are not in the log, the sweep would publish those that wait.
  await withAccounts({ accounts: 1, jobs: 2 }, async ({ bench, store, one }) => {
    if (wanted('claims')) add(await benchClaims(bench, store, { account: one, rounds }));
    if (wanted('lookups')) add(await benchLookups(bench, { account: one, rounds }));
  });
}
if (wanted('files')) add(await benchFiles(rounds));
if (wanted('storage')) {
  await using bench = await startBench();
  add(await benchStorage(bench, { accounts: Math.ceil(accounts / 10) }));
}
if (wanted('sizes')) {
  const few = { accounts: Math.min(accounts, 500), jobs: 1_000 };
  await withAccounts(few, async (small) => {
    // A process has one connection to a log.
    await small.store.close();
    await withAccounts({ accounts: Math.max(jobs / 100, few.accounts), jobs }, async (large) => {
      const sides = { few: { ...small, ...few }, many: { ...large, jobs } };
      add(await benchSizes(sides, { rounds, seconds }));
    });
  });
}
if (wanted('console')) {
  await withAccounts({ accounts: Math.max(jobs / 100, Math.min(accounts, 500)), jobs }, async (prepared) => {
    add(await benchConsole(prepared.bench, prepared.pool, prepared, { rounds, seconds }));
  });
}
if (wanted('staff')) {
  await withAccounts(
    { accounts: Math.max(jobs / 100, Math.min(accounts, 500)), jobs },
    async ({ bench, pool, store }) => {
      add(await benchStaff(bench, { pool, store, jobs, visits: Math.min(Math.ceil(requests / 20), 50), rounds }));
    },
  );
}
if (wanted('memory')) {
  // Rows that are not in the log would be divergences, and the audit remembers those.
  await withAccounts({ accounts, jobs: 0 }, async (prepared) => {
    add(await benchMemory(prepared.bench, prepared.pool, prepared, { requests, seconds }));
  });
}
const all = {
  started: started.toISOString(),
  minutes: (Date.now() - started.getTime()) / 60_000,
  /** Above about 0.5, something else was at work before the bench began. */
  loadBefore,
  ratios: results.flatMap(({ ratios }) => ratios),
  figures: results.flatMap(({ figures }) => figures),
};
if (json) console.log(JSON.stringify(all, undefined, 2));
else {
  console.log(`Begun ${all.started}, took ${all.minutes.toFixed(1)} minutes; load before ${loadBefore.toFixed(1)}.\n`);
  console.log(`${tableOf('ratio', all.ratios)}\n\n${tableOf('figure', all.figures)}`);
}
