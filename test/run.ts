/**
 * Runs groups of tests with vitest: `node test/run.ts all`. Whatever follows goes to vitest. When it is told to end (Ctrl-C,
 * SIGTERM), everything that the tests have started ends too, and their folders are removed.
 *
 * With `--failed-again`, files that failed beside others run once more with nothing beside them. A fault of the service fails
 * both times. What passes then is named at the end, for somebody to explain.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endWhatIsLeft } from './support/end-what-is-left.ts';

/** The projects of `vitest.config.ts`. */
const groups: Readonly<Record<string, readonly string[]>> = {
  unit: ['unit'],
  usual: ['unit', 'usual'],
  extended: ['extended'],
  tidy: ['tidy'],
  all: ['unit', 'usual', 'extended', 'tidy'],
};

/** Most extended files start services of their own: three of them keep two cores busy, and limits of a service hold. */
const fewer = ['--maxWorkers=3'];

/** More failures than these are no matter of chance. */
const mostAgain = 3;

const [group = '', ...words] = process.argv.slice(2);
const projects = groups[group];
if (!projects) {
  console.error(`name a group of tests: ${Object.keys(groups).join(', ')}`);
  process.exit(2);
}

/** Names the folders of this run, and so all that works in one; the rest has it in its environment. */
const mark = `reeltally-test-${String(process.pid)}-`;
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const options = ['run', '--configLoader', 'runner', ...projects.map((name) => `--project=${name}`)];

let running: ChildProcess | undefined;
let told: 'SIGINT' | 'SIGTERM' | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    told ??= signal;
    running?.kill('SIGKILL');
  });

const failedFilesPath = join(tmpdir(), `${mark}failed`);
const again = words.indexOf('--failed-again');
if (again >= 0) words.splice(again, 1);

let code = await runVitest(projects.includes('extended') ? fewer : [], words);
const failed = again >= 0 && code !== 0 && !told ? failedFiles() : [];
if (failed.length > 0 && failed.length <= mostAgain) {
  console.log(`${String(failed.length)} FAILED beside others, and run once more, alone: ${failed.join(', ')}`);
  code = await runVitest(['--maxWorkers=1'], failed);
  if (code === 0) console.log(`FLAKY: passed alone, which is no excuse: ${failed.join(', ')}`);
}
await endWhatIsLeft(mark);
process.exitCode = told ? 128 + constants.signals[told] : (code ?? 1);

async function runVitest(workers: readonly string[], more: readonly string[]): Promise<number | null> {
  running = spawn(process.execPath, [vitest, ...options, ...workers, ...more], {
    stdio: 'inherit',
    env: { ...process.env, TEST_RUN: mark, FAILED_TEST_FILES: failedFilesPath },
  });
  const [exitCode] = (await once(running, 'exit')) as [number | null];
  return exitCode;
}

/** Empty where the run ended before it knew. */
function failedFiles(): string[] {
  return existsSync(failedFilesPath) ? readFileSync(failedFilesPath, 'utf8').split('\n').filter(Boolean) : [];
}
