import { defineConfig } from 'vitest/config';

// One seed for the order of tests and for all generated cases; a run is repeated by setting it to what the run printed.
export const seed = Number(process.env['PROOF_SEED'] ?? Date.now() % 2 ** 31);
if (!Number.isSafeInteger(seed)) throw new Error('PROOF_SEED must be a whole number.');
// PROOF_SCALE=long runs the same files with more generated cases and longer loads: see test/support/proof-scale.ts.
const isLong = process.env['PROOF_SCALE'] === 'long';
process.env['PROOF_SEED'] = String(seed);
console.log(`PROOF_SEED=${seed}${isLong ? ' PROOF_SCALE=long' : ''}`);

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/generated-cases.ts'],
    // Processes and not threads: tests start servers, send signals and read process numbers.
    pool: 'forks',
    // Most of a test's time is spent waiting for other processes, so that there may be more files at a time than cores.
    maxWorkers: 3,
    sequence: { seed },
    testTimeout: isLong ? 600_000 : 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 30_000,
  },
});
