/** `npm run simulate`: whole histories of the service, on virtual time, from seeds. See docs/simulation.md. */
import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { wholeNumber } from '../support/whole-number.ts';
import { type Coverage, readCoverage } from './coverage.ts';
import { explains, explanations, isSimulated } from './explained-branches.ts';
import { findAll, median } from './find-planted-bugs.ts';
import { plantedBugs } from './planted-bugs.ts';
import { Runner, runSeeds, type Totals } from './run.ts';
import { shrink } from './shrink.ts';
import type { History } from './simulation.ts';

interface Options {
  seed: number;
  seeds?: number;
  only?: string[];
  plant?: string;
  plants?: true;
  coverage?: true;
  trace?: true;
  json?: true;
  threads: number;
}

const options = new Command('simulate')
  .description('runs whole histories of the service with faults on virtual time, and judges each')
  .option('--seed <n>', 'the first seed', wholeNumber, 1)
  .option('--seeds <n>', 'how many seeds; default: 5000, and 1 with --seed')
  .option('--only <names>', 'the clients and faults that take part, separated by commas', (text) => text.split(','))
  .option('--plant <name>', 'plants a bug into the service, and looks for the first seed that shows it')
  .option('--plants', 'plants each bug in turn, and tells how many seeds it takes to find it')
  .option('--coverage', 'tells which code of the simulated files no history has reached, and why')
  .option('--trace', 'prints what happens in a history')
  .option('--json', 'prints one JSON object')
  .option('--threads <n>', 'how many threads run histories', wholeNumber, availableParallelism())
  .parse();

async function main(options: Options, isSeedGiven: boolean): Promise<boolean> {
  if (options.plants) return await findPlants(options);
  const seeds = options.seeds === undefined ? (isSeedGiven ? 1 : 5_000) : wholeNumber(String(options.seeds));
  if (options.plant !== undefined || options.only || options.trace || seeds === 1) return await runOne(options, seeds);
  return await runMany(options, seeds);
}

/** One history after the other in one thread, up to the first that fails. */
async function runOne({ seed: first, only, plant, trace, json }: Options, seeds: number): Promise<boolean> {
  const bug = plantedBugs.find(({ name }) => name === plant);
  if (plant !== undefined && !bug) throw new Error(`there is no planted bug ${plant}`);
  const runner = new Runner(bug?.edits);
  const print = trace && ((line: string) => console.log(line));
  for (let seed = first; seed < first + seeds; seed += 1) {
    const history = await runner.run(seed, { only, ...(print && { print }) });
    const isLast = seed === first + seeds - 1;
    if (history.violations.length === 0 && !isLast) continue;
    if (json) console.log(JSON.stringify(history));
    else await tell(runner, history, { plant, shrinks: only === undefined });
    await runner.end();
    return history.violations.length === 0;
  }
  return true;
}

async function tell(
  runner: Runner,
  history: History,
  { plant, shrinks }: { plant: string | undefined; shrinks: boolean },
) {
  const { seed, violations, traceHash, requests, faults, virtualMs } = history;
  const seconds = Math.round(virtualMs / 1_000);
  console.log(
    `seed ${seed}: ${requests} requests, ${faults.length} faults, ${seconds} virtual seconds, trace ${traceHash}`,
  );
  for (const { rule, what } of violations) console.log(`  ${rule}: ${what}`);
  if (violations.length === 0 || !shrinks) return;
  const only = await shrink(runner, history);
  console.log(`  the shortest that shows it: npm run simulate -- ${commandOf(seed, only, plant)} --trace`);
}

const commandOf = (seed: number, only: readonly string[], plant: string | undefined) =>
  [`--seed ${seed}`, ...(plant === undefined ? [] : [`--plant ${plant}`]), `--only ${only.join()}`].join(' ');

async function runMany({ seed: first, json, threads, coverage: covers }: Options, seeds: number) {
  const showsProgress = process.stderr.isTTY;
  const { coverage, ...totals } = await runSeeds({ first, count: seeds, threads, covers: covers === true }, (done) => {
    if (showsProgress && done % 20 === 0) process.stderr.write(`\r${done} of ${seeds} histories`);
  });
  if (showsProgress) process.stderr.write('\r\x1b[K');
  const covered = covers && explain(coverage);
  if (json) {
    const traces = hashOf(totals);
    console.log(JSON.stringify({ ...totals, traceHashes: undefined, traces, coverage: covered }));
  } else {
    await tellTotals(totals);
    if (covered) tellCoverage(covered);
  }
  return totals.failed.length === 0 && (covered?.unexplained.length ?? 0) === 0;
}

/** Of all histories together. */
const hashOf = ({ traceHashes }: Pick<Totals, 'traceHashes'>): string =>
  createHash('sha256').update(traceHashes.join()).digest('hex').slice(0, 16);

async function tellTotals({ failed, ...totals }: Omit<Totals, 'coverage'>): Promise<void> {
  const { seeds, requests, events, faults, virtualHours, seconds } = totals;
  const held = `${requests} requests, ${events} events, ${faults} faults, ${virtualHours.toFixed(1)} virtual hours`;
  const speed = `${seconds.toFixed(1)} s, ${(seeds / seconds).toFixed(0)} seeds a second`;
  console.log(`${seeds} histories: ${held}; ${failed.length} with violations; ${speed}; traces ${hashOf(totals)}`);
  const [first] = failed.sort((one, other) => one.seed - other.seed);
  for (const { seed, violations } of failed)
    console.log(`  seed ${seed}: ${violations[0]?.rule ?? ''}: ${violations[0]?.what ?? ''}`);
  if (!first) return;
  const runner = new Runner();
  await tell(runner, first, { plant: undefined, shrinks: true });
  await runner.end();
}

function explain(coverage: Coverage) {
  const { ran, lines, unreached } = readCoverage(coverage, isSimulated);
  const explained = explanations.map((each) => ({
    why: each.why,
    branches: unreached.filter((branch) => explains(each, branch)).length,
  }));
  const unexplained = unreached.filter((branch) => !explanations.some((each) => explains(each, branch)));
  return { ran, lines, unreached: unreached.length, explained, unexplained };
}

function tellCoverage({ ran, lines, unreached, explained, unexplained }: ReturnType<typeof explain>): void {
  console.log(`${ran} of ${lines} lines ran; ${unreached} branches did not, ${unexplained.length} of them unexplained`);
  for (const { why, branches } of explained) console.log(`  ${branches}: ${why}`);
  for (const { path, line, text } of unexplained) console.log(`  ${path}:${line}: ${text.slice(0, 120)}`);
}

/** @returns whether all were found */
async function findPlants({ seed: first, seeds, threads, json }: Options): Promise<boolean> {
  const most = wholeNumber(String(seeds ?? 20_000));
  const found = await findAll({ first, most, threads }, ({ name, what, seeds: needed, rules }) => {
    if (!json) console.log(`| ${name} | ${what} | ${median(needed)} | ${rules.join(', ')} |`);
  });
  if (json) console.log(JSON.stringify(found));
  return found.every(({ seeds: needed }) => !needed.includes(undefined));
}

const isFine = await main(options.opts<Options>(), options.getOptionValueSource('seed') === 'cli');
process.exitCode = isFine ? 0 : 1;
