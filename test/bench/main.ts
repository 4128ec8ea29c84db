/** `npm run bench`: ratios within one run first, then what was measured. See docs/performance.md. */
import { constants, loadavg } from 'node:os';
import { endWhatIsLeft } from '../support/end-what-is-left.ts';
import { progress, type Results } from './figures.ts';
import { goals, isNamed } from './goals.ts';
import { limitMinutesOf, readOptions } from './options.ts';
import { PartTimes } from './part-times.ts';
import { runParts } from './run-parts.ts';
import { detailsOf, tableOf } from './tables.ts';

const options = readOptions();
const { compare: earlier, json } = options;

/** Names the folders of this run, and so all that works in one; the rest has it in its environment. */
const mark = `reeltally-bench-${process.pid}-`;
process.env['TEST_RUN'] = mark;

const started = new Date();
const loadBefore = loadavg()[0] ?? 0;
const results: Results = { ratios: [], figures: [] };
const times = new PartTimes(limitMinutesOf(options), (reason) => void end(1, reason));
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => void end(128 + constants.signals[signal], `ended by ${signal}`));
process.on('uncaughtException', (error) => void fail(error));
let ending: Promise<never> | undefined;

try {
  await runParts(options, {
    times,
    add: ({ ratios, figures }) => {
      results.ratios.push(...ratios);
      results.figures.push(...figures);
      if (ratios.length > 0) progress(tableOf('ratio', ratios, earlier));
    },
  });
  await end(0);
} catch (error) {
  await fail(error);
}

/** Parts that are ended while they are at work fail as well: that is not told. */
async function fail(error: unknown): Promise<never> {
  if (!ending) progress(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return await end(1, String(error));
}

/** Prints what was measured, and ends everything that is still running. The first reason counts. */
async function end(code: number, failure?: string): Promise<never> {
  return await (ending ??= printAndEnd(code, failure));
}

async function printAndEnd(code: number, failure: string | undefined): Promise<never> {
  const minutes = (Date.now() - started.getTime()) / 60_000;
  const print = json ? progress : console.log;
  print(
    `Begun ${started.toISOString()}, took ${minutes.toFixed(1)} minutes; load before ${loadBefore.toFixed(1)}.` +
      (earlier ? ` Beside the run begun ${earlier.started}.` : ''),
  );
  for (const [title, figures] of [
    ['ratio', results.ratios],
    ['figure', results.figures],
  ] as const)
    if (figures.length > 0) print(`\n${tableOf(title, figures, earlier)}`);
  const isWhole = failure === undefined && options.only === undefined && options.cases === '';
  if (isWhole) print(`\nGoals that were not measured: ${unmeasured().join('; ') || 'none'}.`);
  const seconds = Object.entries(times.seconds()).map(([part, took]) => `${part} ${took.toFixed(1)}`);
  print(`\nSeconds: ${seconds.join(', ')}.`);
  if (json)
    console.log(
      JSON.stringify(
        {
          started: started.toISOString(),
          minutes,
          /** Above about 0.5, something else was at work before the bench began. */
          loadBefore,
          /** Why not everything was measured. */
          ...(failure !== undefined && { failure }),
          seconds: times.seconds(),
          ratios: results.ratios.map((figure) => detailsOf(figure, earlier)),
          figures: results.figures.map((figure) => detailsOf(figure, earlier)),
        },
        undefined,
        2,
      ),
    );
  if (failure !== undefined) progress(`The bench ended early: ${failure}.`);
  await endWhatIsLeft(mark);
  process.exit(code);
}

/** Such as those beside a program that is not on this machine. */
function unmeasured(): string[] {
  const names = [...results.ratios, ...results.figures].map(({ name }) => name);
  return goals
    .filter(([pattern]) => !names.some((name) => isNamed(pattern, name)))
    .map(([pattern]) => (typeof pattern === 'string' ? pattern : pattern.source));
}
