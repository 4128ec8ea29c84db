import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../tidy/source-files.ts';
import { expectNoViolation } from './expect-no-violation.ts';
import { applyEdit } from './module-hooks.ts';
import { plantedBugs } from './planted-bugs.ts';
import { runSeeds } from './run.ts';
import { smallLimits } from './small-limits.ts';

/** Other seeds in each run; `npm run simulate -- --seed N` repeats one. */
const first = Number(process.env['PROOF_SEED'] ?? 1);

it('no history of the service, whatever fails in it, breaks a promise: forty', async () => {
  expectNoViolation(await runSeeds({ first, count: 40, threads: Math.min(2, availableParallelism()) }));
});

it.each(smallLimits)('the source has the limit that is made small in $file', (edit) => {
  expect(applyEdit(readFileSync(join(root, edit.file), 'utf8'), edit)).toContain(edit.by);
});

it.each(plantedBugs)('the source has what the bug $name changes', ({ edits }) => {
  for (const edit of edits) expect(applyEdit(readFileSync(join(root, edit.file), 'utf8'), edit)).toContain(edit.by);
});
