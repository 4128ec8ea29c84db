import { Command, Option } from 'commander';
import { wholeNumber } from '../support/whole-number.ts';
import { type EarlierRun, readEarlierRun } from './comparison.ts';

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
  'start',
] as const;
export type Part = (typeof parts)[number];

export interface BenchOptions {
  rounds: number;
  seconds: number;
  only?: Part;
  cases: string;
  accounts: number;
  jobs: number;
  requests: number;
  fileMebibytes: number;
  compare?: EarlierRun;
  json?: true;
}

/** A whole run with these takes about eighteen minutes on two cores. */
const defaults = {
  rounds: 4,
  seconds: 1,
  accounts: 10_000,
  jobs: 100_000,
  requests: 12_000,
  fileMebibytes: 8,
} as const;

/** Of each part with the default counts. Several times what any of them takes. */
const usualLimitMinutes = 20;

export function readOptions(): BenchOptions {
  return new Command('bench')
    .description(
      'measures the service beside what could stand in its place, on loopback only; a whole run with the default counts takes about eighteen minutes on a quiet machine with two cores',
    )
    .option(
      '--rounds <n>',
      'how often everything is measured, in turns; of "projections", twice at most, and exports three times',
      wholeNumber,
      defaults.rounds,
    )
    .option('--seconds <n>', 'how long each server is under load in a round', wholeNumber, defaults.seconds)
    .addOption(new Option('--only <part>', 'measure this part alone').choices(parts))
    .option('--cases <name>', 'of the part "http", only the requests whose names begin so, e.g. "downloads"', '')
    .option(
      '--accounts <n>',
      'how many accounts are opened; "storage" writes a twentieth as many with 20 downloads each, "verify" a hundredth and "projections" a four-hundredth with 100 each',
      wholeNumber,
      defaults.accounts,
    )
    .option(
      '--jobs <n>',
      'of the parts "sizes", "console" and "staff", how many jobs the read model has, 100 of each account; docs/performance.md says which claims need more than the default',
      wholeNumber,
      defaults.jobs,
    )
    .option(
      '--requests <n>',
      'of the parts "processes" and "memory", how many requests are sent; of "staff", how often each page is visited in a round: one of 800, 50 at most',
      wholeNumber,
      defaults.requests,
    )
    .option('--file-mebibytes <n>', 'of the part "files", how large the file is', wholeNumber, defaults.fileMebibytes)
    .option('--compare <file>', 'put the run beside an earlier one: what --json printed then', readEarlierRun)
    .option('--json', 'print one JSON object to the standard output, and the tables to the standard error')
    .addHelpText(
      'after',
      `\nA part that takes longer than ${usualLimitMinutes} minutes ends the bench with an error; with larger counts, it may take longer in proportion.`,
    )
    .parse()
    .opts<BenchOptions>();
}

/** How long each part may take: longer in proportion to each count above its default. */
export function limitMinutesOf(options: Pick<BenchOptions, keyof typeof defaults>): number {
  const counts = Object.entries(defaults) as [keyof typeof defaults, number][];
  return counts.reduce((limit, [name, usual]) => limit * Math.max(1, options[name] / usual), usualLimitMinutes);
}
