import domain from './stryker.config.js';

/**
 * The second part of `npm run test:mutants`: the rules of the audit, by the lies that they must find.
 */
export default {
  ...domain,
  vitest: { ...domain.vitest, dir: 'test/audit' },
  mutate: ['src/audit/rules/{period,invoices,invoice-lines,correction-requests,permitted-money,cents-taken}.ts'],
  tempDirName: 'coverage/mutants-of-audit',
  incrementalFile: 'node_modules/.cache/mutants/incremental-audit.json',
  htmlReporter: { fileName: 'node_modules/.cache/mutants/report-audit.html' },
  jsonReporter: { fileName: 'node_modules/.cache/mutants/report-audit.json' },
};
