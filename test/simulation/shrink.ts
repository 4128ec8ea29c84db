import type { Runner } from './run.ts';
import type { History } from './simulation.ts';

const mostRuns = 400;

/**
 * Finds few clients and faults that break the same rule as a whole history: leaves out half of them, then quarters, and in the
 * end one by one (delta debugging).
 *
 * @returns the names of those that are needed
 */
export async function shrink(runner: Runner, { seed, violations, clients, faults }: History): Promise<string[]> {
  const rule = violations[0]?.rule;
  let runs = 0;
  const stillFails = async (only: readonly string[]): Promise<boolean> => {
    if (runs >= mostRuns) return false;
    runs += 1;
    const history = await runner.run(seed, { only });
    return history.violations.some((one) => one.rule === rule);
  };
  let kept = [...faults, ...clients];
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < kept.length;) {
      const rest = kept.toSpliced(from, size);
      if (await stillFails(rest)) kept = rest;
      else from += size;
    }
  }
  return kept.sort();
}
