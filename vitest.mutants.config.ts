import { defineConfig } from 'vitest/config';

// Each run has the same generated cases, so that it kills the same mutants.
process.env['PROOF_SEED'] ??= '20261128';

/** The tests of `npm run test:mutants` (`stryker.config.js`): those of the money rules that start no server and no process. */
export default defineConfig({
  test: {
    setupFiles: ['test/support/generated-cases.ts'],
    include: [
      'test/domain/{usage-*,*-usage,change-*,closing-grace,correction-requests,failed-job-keeps-charge,plans}.test.ts',
      'test/domain/{billing-period,invoice,next-invoice,document-number,cents}.test.ts',
      'test/audit/rules*.test.ts',
    ],
    testTimeout: 60_000,
  },
});
