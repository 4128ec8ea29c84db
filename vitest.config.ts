import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// One seed for the order of tests and for all generated cases; a run is repeated by setting it to what the run printed.
export const seed = Number(process.env['PROOF_SEED'] ?? Date.now() % 2 ** 31);
if (!Number.isSafeInteger(seed)) throw new Error('PROOF_SEED must be a whole number.');
// PROOF_SCALE=long runs the same files with more generated cases and longer loads: see test/support/proof-scale.ts.
const isLong = process.env['PROOF_SCALE'] === 'long';
process.env['PROOF_SEED'] = String(seed);
console.log(`PROOF_SEED=${seed}${isLong ? ' PROOF_SCALE=long' : ''}`);

/** Tests that start no server: `npm run test:unit`. */
const unitTests = [
  'test/{domain,documents}/**/*.test.ts',
  // The schema is read from a database.
  'test/tidy/!(schema).test.ts',
  'test/{adapters/postgres/business-clock,adapters/derive-keys,audit/known-divergences,dispatcher/warning-mail-text,docs/billing,deploy/{alerts,dashboards,kubernetes}}.test.ts',
  'test/cli/{disk-failure,progress-bar,table}.test.ts',
  'test/client/with-retries.test.ts',
  'test/console/{sign-in/cookies,owner/forecast,origins,read-dollars}.test.ts',
  'test/commands/{handler,ids}/*.test.ts',
  'test/downloader/yt-dlp/{arguments,installed-tree,output}.test.ts',
  'test/{http/retry-after,main/{required-parts,shutdown},system/machine-parts,worker/attempts-directory}.test.ts',
];
/** The longest files, and some that mostly wait: they start first, so that none is left to run alone at the end. */
const longest = [
  'console/staff/pages',
  'docs/commands',
  'simulation/real-processes',
  'audit/planted-lies',
  'console/staff/story',
  'console/owner/story',
  'console/owner/pages',
  'projections/runner/rebuild',
  'main/sandboxes',
  'projections/runner/one-reader',
  'main/stopping',
  'main/backups',
  'projections/month-close',
  'flow/rolling-upgrade',
  'projections/runner/log-positions',
  'flow/kill-everything',
  'console/owner/hostile-requests',
  'docs/client-examples',
  'demo/tell-story',
  'console/staff/hostile-requests',
  'http/slow-readers',
  'main/installed',
  'embedded/postgres',
  'console/staff/provider',
  'console/owner/sign-in',
  'downloader/yt-dlp/warm-parent',
  'flow/quotas',
  'cli/ledger/verify',
  'flow/outage-lines',
  'flow/files-in-a-bucket',
  'flow/three-years',
  'flow/wrong-clocks',
  'http/give-back-rate-limit',
  'main/full-disk',
  'cli/wait-for-read-models',
  'cli/on-a-terminal',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return rank === -1 ? longest.length : rank;
    };
    return (await super.sort(files)).sort((one, other) => rankOf(one) - rankOf(other));
  }
}

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
  sequence: { seed, sequencer: LongestFirst },
  // Only there for a run to end, as is `patienceMs` of the waits in tests.
  testTimeout: isLong ? 7_200_000 : 600_000,
  hookTimeout: isLong ? 7_200_000 : 600_000,
  teardownTimeout: 60_000,
} satisfies ViteUserConfig['test'];

export default defineConfig({
  test: {
    ...settings,
    projects: [
      {
        extends: true,
        test: {
          name: 'servers',
          include: ['test/**/*.test.ts'],
          exclude: unitTests,
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
      { extends: true, test: { name: 'unit', include: unitTests } },
    ],
  },
});
