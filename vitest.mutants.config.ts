import { defineConfig } from 'vitest/config';

// Each run has the same generated cases, so that it kills the same mutants.
process.env['PROOF_SEED'] ??= '20261128';

/**
 * The tests of `npm run test:mutants`: those of the money rules that start no server and no process. The names are relative to
 * the folder that the configuration of the run gives (`stryker.config.js`, `stryker.audit.config.js`).
 */
export default defineConfig({
  test: {
    setupFiles: ['test/support/generated-cases.ts'],
    include: [
      '{usage-*,*-usage,change-*,closing-grace,correction-requests,failed-job-keeps-charge,plans}.unit.test.ts',
      '{account-life,billing-period,invoice,next-invoice,document-number,cents}.unit.test.ts',
      '{rules,period,key-limits,suspension,invoices,invoice-lines,permitted-money}.unit.test.ts',
    ],
    testTimeout: 60_000,
  },
});
