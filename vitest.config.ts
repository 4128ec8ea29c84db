import { defineConfig, type ViteUserConfig } from 'vitest/config';
import PagesFirst from './test/support/pages-first.ts';
import ProgressReporter from './test/support/progress-reporter.ts';

// One seed for the order of tests and for all generated cases; a run is repeated by setting it to what the run printed.
export const seed = Number(process.env['PROOF_SEED'] ?? Date.now() % 2 ** 31);
if (!Number.isSafeInteger(seed)) throw new Error('PROOF_SEED must be a whole number.');
// PROOF_SCALE=long runs the same files with more generated cases and longer loads: see test/support/proof-scale.ts.
const isLong = process.env['PROOF_SCALE'] === 'long';
process.env['PROOF_SEED'] = String(seed);
console.log(`PROOF_SEED=${seed}${isLong ? ' PROOF_SCALE=long' : ''}`);

/** How all tests run. */
export const settings = {
  setupFiles: ['test/support/generated-cases.ts'],
  // Processes and not threads: tests start servers, send signals and read process numbers.
  pool: 'forks',
  // Files share them, with everything that is loaded: loading it takes longer than many of these tests.
  isolate: false,
  // Tests wait for other processes, so that five files keep two cores busy. With more, each process waits longer for its turn, and
  // limits of the service itself expire.
  maxWorkers: 5,
  sequence: { seed, sequencer: PagesFirst },
  reporters: [new ProgressReporter()],
  // Only there for a run to end, as is `patienceMs` of the waits in tests.
  testTimeout: isLong ? 7_200_000 : 600_000,
  hookTimeout: isLong ? 7_200_000 : 600_000,
  teardownTimeout: 60_000,
} satisfies ViteUserConfig['test'];

/** A file says by its name, or by its folder, in which group it runs: see test/README.md. */
const unit = 'test/**/*.unit.test.ts';
const extended = 'test/**/*.extended.test.ts';
const tidy = 'test/tidy/*.test.ts';
const globalSetup = ['test/support/global-setup.ts'];

export default defineConfig({
  test: {
    ...settings,
    projects: [
      { extends: true, test: { name: 'unit', include: [unit] } },
      {
        extends: true,
        test: { name: 'usual', include: ['test/**/*.test.ts'], exclude: [unit, extended, tidy], globalSetup },
      },
      { extends: true, test: { name: 'extended', include: [extended], globalSetup } },
      { extends: true, test: { name: 'tidy', include: [tidy], globalSetup } },
    ],
  },
});
