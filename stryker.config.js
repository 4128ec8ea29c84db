/**
 * `npm run test:mutants`: changes the money rules in one place after the other, and expects a test to fail each time. Those of
 * the audit have a run of their own (stryker.audit.config.js), because their tests make a log by the rules of the domain.
 */
export default {
  plugins: ['@stryker-mutator/vitest-runner'],
  testRunner: 'vitest',
  vitest: { configFile: 'vitest.mutants.config.ts', dir: 'test/domain' },
  coverageAnalysis: 'perTest',
  // What decides or folds usage, periods, charges, corrections and invoices.
  mutate: [
    'src/domain/{decide-usage,evolve-usage,change-charge,change-plan,usage-periods,usage-summary,usage-notices}.ts',
    'src/domain/{billing-period,closing-grace,correction-requests,failed-job-keeps-charge,invoice,invoice-lines}.ts',
    'src/domain/{next-invoice,document-number,cents,plans,key-limits}.ts',
  ],
  // The sandbox holds only what the tests read. It is not below node_modules, from where Node runs no TypeScript.
  ignorePatterns: [
    '**',
    '!package.json',
    '!vitest.mutants.config.ts',
    '!{src,projections,test}/**',
    '!deploy/plans.json',
  ],
  tempDirName: 'coverage/mutants',
  incremental: true,
  incrementalFile: 'node_modules/.cache/mutants/incremental.json',
  reporters: ['progress-append-only', 'clear-text', 'html', 'json'],
  clearTextReporter: { reportTests: false, allowColor: false },
  htmlReporter: { fileName: 'node_modules/.cache/mutants/report.html' },
  jsonReporter: { fileName: 'node_modules/.cache/mutants/report.json' },
  concurrency: 1,
};
