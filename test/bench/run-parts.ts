import pg from 'pg';
import { pino } from 'pino';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { benchAppends } from './appends.ts';
import { benchClaims } from './claims.ts';
import { benchConsole } from './console.ts';
import { type Bench, startBench } from './engines.ts';
import { progress, type Results } from './figures.ts';
import { benchFiles } from './file-readers.ts';
import { benchHttp } from './http.ts';
import { benchJobs } from './jobs.ts';
import { benchLookups } from './lookups.ts';
import { benchMemory } from './memory.ts';
import { benchOneProcess } from './one-process.ts';
import type { BenchOptions, Part } from './options.ts';
import { benchParser } from './parser.ts';
import type { PartTimes } from './part-times.ts';
import { copyJobs, createTokens, openAccounts, putFiles, waitUntilKeysAreKnown } from './population.ts';
import { benchProjections } from './projections.ts';
import { benchSigning } from './signing.ts';
import { benchSizes } from './sizes.ts';
import { benchStaff } from './staff.ts';
import { benchStart } from './start.ts';
import { benchStorage } from './storage.ts';
import { benchTwoProcesses } from './two-processes.ts';
import { benchVerify } from './verify.ts';
import { benchWaiting } from './waiting.ts';

/**
 * Measures all parts that are wanted, one after the other.
 *
 * @param add told what a part has measured, when it is over
 */
export async function runParts(
  options: BenchOptions,
  { times, add }: { times: PartTimes; add: (results: Results) => void },
): Promise<void> {
  const { rounds, seconds, only, accounts, jobs, requests, fileMebibytes } = options;
  /** Accounts with a hundred downloads each. Every read model follows and rebuilds such a log by itself, and all of them together. */
  const withHistory = { projections: Math.ceil(accounts / 400), verify: Math.ceil(accounts / 100) };
  const manyAccounts = Math.max(Math.ceil(jobs / 100), Math.min(accounts, 500));
  const isWanted = (part: Part) => only === undefined || only === part;
  const run = async (part: Part, work: () => Promise<Results>) => {
    if (isWanted(part)) add(await times.run(part, work));
  };
  const onServers = async (wanted: readonly Part[], work: (bench: Bench) => Promise<void>) => {
    if (wanted.some(isWanted)) await withServers(times, work);
  };
  const onAccounts = async (
    wanted: readonly Part[],
    counts: { accounts: number; jobs: number },
    work: (prepared: Prepared) => Promise<void>,
  ) => {
    if (wanted.some(isWanted)) await withAccounts(times, counts, work);
  };

  await run('start', () => benchStart(rounds));
  await onAccounts(['http', 'waiting', 'processes', 'appends'], { accounts, jobs: 3 * accounts }, async (prepared) => {
    const { bench, pool, store } = prepared;
    await run('http', () => benchHttp(bench, pool, prepared, { ...prepared, ...options }));
    await run('waiting', () => benchWaiting(bench, pool, prepared, { rounds, seconds }));
    await run('processes', () => benchTwoProcesses(bench, pool, prepared, { ...prepared, rounds, seconds, requests }));
    await run('appends', () => benchAppends(store, rounds));
  });
  await run('http', async () => ({ ratios: [], figures: [await benchSigning(rounds)] }));
  await run('parser', async () => benchParser(rounds));
  await onAccounts(['projections'], { accounts: 1, jobs: 2 }, ({ bench, store }) =>
    run('projections', () =>
      benchProjections(bench, store, { accounts: withHistory.projections, rounds: Math.min(rounds, 3) }),
    ),
  );
  // Servers of its own: rows of the read models that are not in the log would be a divergence.
  await onServers(['verify'], (bench) =>
    run('verify', () => benchVerify(bench, { accounts: withHistory.verify, rounds })),
  );
  await run('jobs', () => benchJobs(rounds));
  // Of many rows that are not in the log, the sweep would publish those that wait.
  await onAccounts(['claims', 'lookups'], { accounts: 1, jobs: 2 }, async ({ bench, store, one }) => {
    await run('claims', () => benchClaims(bench, store, { account: one, rounds }));
    await run('lookups', () => benchLookups(bench, { account: one, rounds }));
  });
  await run('files', () => benchFiles({ rounds, fileMebibytes }));
  await onServers(['storage'], (bench) =>
    run('storage', () => benchStorage(bench, { accounts: Math.ceil(accounts / 20) })),
  );
  const few = { accounts: Math.min(accounts, 500), jobs: 1_000 };
  await onAccounts(['sizes'], few, async (small) => {
    // A process has one connection to a log.
    await small.store.close();
    await withAccounts(times, { accounts: manyAccounts, jobs }, (large) =>
      run('sizes', () => benchSizes({ few: { ...small, ...few }, many: { ...large, jobs } }, { rounds, seconds })),
    );
  });
  await onAccounts(['console'], { accounts: manyAccounts, jobs }, (prepared) =>
    run('console', () => benchConsole(prepared.bench, prepared.pool, prepared, { rounds, seconds })),
  );
  await onAccounts(['staff'], { accounts: manyAccounts, jobs }, ({ bench, pool, store }) => {
    const visits = Math.min(Math.ceil(requests / 800), 50);
    return run('staff', () => benchStaff(bench, { pool, store, jobs, visits, rounds }));
  });
  // Rows that are not in the log would be divergences, and the audit remembers those.
  await onAccounts(['memory'], { accounts, jobs: 0 }, (prepared) =>
    run('memory', () => benchMemory(prepared.bench, prepared.pool, prepared, { requests, seconds })),
  );
  await run('memory', async () => ({
    ratios: [],
    figures: await benchOneProcess({ accounts, requests, seconds: 5 * seconds }),
  }));
}

const preparing = 'servers, accounts and jobs';
const stopping = 'stopping';

async function withServers(times: PartTimes, work: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = await times.run(preparing, startBench);
  try {
    await work(bench);
  } finally {
    await times.run(stopping, async () => bench[Symbol.asyncDispose]());
  }
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

/**
 * Fresh engines with so many accounts and jobs, and one account with a thousand keys. Jobs are in the read model alone, two of
 * each account at least; without any, one download of each account waits in the log.
 */
async function withAccounts(
  times: PartTimes,
  counts: { accounts: number; jobs: number },
  work: (prepared: Prepared) => Promise<void>,
): Promise<void> {
  await withServers(times, async (bench) => {
    const prepared = await times.run(preparing, () => prepare(bench, counts));
    try {
      await work(prepared);
    } finally {
      await prepared.pool.end();
      await prepared.store.close();
    }
  });
}

async function prepare(bench: Bench, { accounts, jobs }: { accounts: number; jobs: number }) {
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
