/** What a bench measured, several times over, and how it is told. */
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

/** Half the distance between the largest and the smallest value, as a share of the median. */
function spread(values: readonly number[]): number {
  const middle = median(values);
  return middle === 0 ? 0 : (Math.max(...values) - Math.min(...values)) / 2 / middle;
}

/** Beyond it, a figure is said to be noisy. */
const noisySpread = 0.15;

/** Rounds are compared one by one: what slows the machine down for a while slows both down. */
export function ratio(name: string, one: readonly number[], other: readonly number[]): Figure {
  return { name, unit: '×', values: one.map((value, round) => value / (other[round] ?? NaN)) };
}

export function tableOf(title: string, figures: readonly Figure[]): string {
  const rows = figures.map(({ name, unit, values }) => [
    name,
    `${short(median(values))}${unit === '×' ? ' ×' : ` ${unit}`}`,
    values.length > 1 ? `± ${Math.round(spread(values) * 100)} %${spread(values) > noisySpread ? ' (noisy)' : ''}` : '',
  ]);
  const lines = rows.map((row) => `| ${row.join(' | ')} |`);
  return [`| ${title} | median | spread |`, '|---|---|---|', ...lines].join('\n');
}

function short(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}
