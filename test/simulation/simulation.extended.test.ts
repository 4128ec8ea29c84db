import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import { isLongProof, scaled } from '../support/proof-scale.ts';
import { expectNoViolation } from './expect-no-violation.ts';
import { plantedBugs } from './planted-bugs.ts';
import { Runner, runSeeds } from './run.ts';
import { shrink } from './shrink.ts';

/** Other seeds in each run, and others than those of `simulation.test.ts`; `npm run simulate -- --seed N` repeats one. */
const first = Number(process.env['PROOF_SEED'] ?? 1) + 1_000;
const threads = Math.min(2, availableParallelism());

it('no history of the service, whatever fails in it, breaks a promise', async () => {
  const totals = await runSeeds({ first, count: scaled(500, 200_000), threads });
  if (isLongProof)
    console.log(`simulated from seed ${String(first)}: ${JSON.stringify({ ...totals, traceHashes: [] })}`);
  expectNoViolation(totals);
});

it('the same seed gives the same history', async () => {
  const seeds = { first, count: scaled(50, 1_000) };
  const [one, other] = [await runSeeds({ ...seeds, threads: 1 }), await runSeeds({ ...seeds, threads })];
  expect(one.traceHashes).toHaveLength(seeds.count);
  expect(other.traceHashes).toEqual(one.traceHashes);
});

it('a planted bug is found, and shrunk to the few clients and faults that show it', async () => {
  const bug = plantedBugs.find(({ name }) => name === 'unknown-is-not-stored');
  const runner = new Runner(bug?.edits);
  let seed = 1;
  let history = await runner.run(seed);
  while (history.violations.length === 0) history = await runner.run((seed += 1));
  const only = await shrink(runner, history);
  expect(only.length).toBeLessThan(history.faults.length + history.clients.length);
  const again = await runner.run(seed, { only });
  await runner.end();
  expect(again.violations.map(({ rule }) => rule)).toContain(history.violations[0]?.rule);
  // The source as it stands keeps the promise in the same history.
  const sound = new Runner();
  expect((await sound.run(seed, { only })).violations).toEqual([]);
  await sound.end();
});
