/** One thing that the bench measured. */
export interface Figure {
  name: string;
  unit: string;
  /** One for each round. */
  values: number[];
}

export interface Results {
  ratios: Figure[];
  figures: Figure[];
}

export const progress = (sentence: string) => void process.stderr.write(`${sentence}\n`);

/** @param work that does so many things */
export async function perSecond(times: number, work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return times / ((performance.now() - startedMs) / 1000);
}

export async function series(times: number, work: () => Promise<void>): Promise<void> {
  for (let time = 0; time < times; time += 1) await work();
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** Half the distance between the largest and the smallest value. */
export function halfRange(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / 2;
}

/** Rounds are compared one by one: what slows the machine down for a while slows both down. */
export function ratio(name: string, one: readonly number[], other: readonly number[]): Figure {
  return { name, unit: '×', values: one.map((value, round) => value / (other[round] ?? NaN)) };
}
