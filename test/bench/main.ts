/** `npm run bench`: ratios within one run first, then what was measured. See docs/performance.md. */
import { Command, InvalidArgumentError } from 'commander';
import pg from 'pg';
import { pino } from 'pino';
import { connectEventStore } from '../../src/adapters/event-store.ts';
import { startBench } from './engines.ts';
import { tableOf } from './figures.ts';
import { benchHttp } from './http.ts';
import { createTokens, insertJobs, openAccounts, putFiles, waitUntilKeysAreKnown } from './population.ts';

const count = (text: string) => {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('must be a whole number from 1');
  return Number(text);
};
const program = new Command('bench')
  .description('measure the service beside what could stand in its place; only loopback, about ten minutes')
  .option('--rounds <n>', 'how often everything is measured, in turns', count, 5)
  .option('--seconds <n>', 'how long each server is under load in a round', count, 3)
  .option('--accounts <n>', 'accounts that ask', count, 10_000)
  .option('--jobs <n>', 'rows of jobs in the read model', count, 30_000)
  .option('--json', 'print one JSON object instead of tables')
  .parse();
const options = program.opts<{ rounds: number; seconds: number; accounts: number; jobs: number; json?: true }>();
const progress = (sentence: string) => process.stderr.write(`${sentence}\n`);

progress('starting the engines');
await using bench = await startBench();
const pool = new pg.Pool({ connectionString: bench.addresses.DATABASE_URL });
const projector = await bench.startRole('projector');
const store = connectEventStore({ url: bench.addresses.EVENTSTORE_URL, logger: pino({ level: 'silent' }) });
progress(`opening ${options.accounts} accounts`);
const tokens = createTokens(bench.secret);
const many = await openAccounts(store, { accounts: options.accounts, keys: 1 }, tokens);
const [one] = await openAccounts(store, { accounts: 1, keys: 1_000 }, tokens);
if (!one) throw new Error('no account was opened');
await waitUntilKeysAreKnown(pool, options.accounts + 1_000);
const withFile = many.slice(0, 500);
await insertJobs(pool, [...many, one], options.jobs);
await putFiles(bench.directory, bench.secret, withFile);
const http = await benchHttp(bench, pool, { many, withFile, one }, { ...options, projector, progress });
if (options.json) console.log(JSON.stringify(http, undefined, 2));
else console.log(`${tableOf('ratio', http.ratios)}\n\n${tableOf('figure', http.figures)}`);
await pool.end();
await store.close();
