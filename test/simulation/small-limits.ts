import type { Edit } from './module-hooks.ts';

/** Bounds of the service that are so small here that short histories meet them: what is behind them pages, waits or forgets. */
const limits: readonly (readonly [file: string, declaration: string, usual: string, small: string])[] = [
  ['src/commands/close-period.ts', 'tailEvents', '64', '3'],
  ['src/commands/issue-invoice.ts', 'pageEvents', '5_000', '4'],
  ['src/commands/give-back.ts', 'chargesAtOnce', 'maxChargesOfCorrection', '2'],
  ['src/worker/was-called-possible.ts', 'pageEvents', '500', '3'],
  ['src/commands/usage/account-writer.ts', 'maxKept', '10_000', '2'],
  ['src/commands/usage/decide-batch.ts', 'maxAppendEvents', '500', '8'],
  ['src/dispatcher/close-periods.ts', 'maxPeriods', '500', '2'],
  ['src/dispatcher/resolve-unknown-outcomes.ts', 'maxListed', '1_000', '2'],
  ['src/dispatcher/resolve-unknown-outcomes.ts', 'maxUnderWay', '16', '1'],
  ['src/dispatcher/sweep-lost-jobs.ts', 'maxWaitingJobs', '1_000', '2'],
  ['src/dispatcher/work-through-list.ts', 'maxEntries', '500', '2'],
];

export const smallLimits: readonly Edit[] = limits.map(([file, declaration, usual, small]) => ({
  file,
  replace: `const ${declaration} = ${usual};`,
  // As long as before, so that positions in the source stay what they are.
  by: `const ${declaration} = ${small.padEnd(usual.length)};`,
}));
