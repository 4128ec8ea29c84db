import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { type Figure, halfRange, median } from './figures.ts';

/** The figures of an earlier run. */
export type EarlierRun = z.infer<typeof earlierRun>;

/** JSON has null in the place of NaN. */
const value = z.union([z.number(), z.null().transform(() => NaN)]);
const figure = z.object({ name: z.string(), unit: z.string(), values: z.array(value).min(1) });
const earlierRun = z.object({ started: z.string(), ratios: z.array(figure), figures: z.array(figure) });

const howToMakeOne = 'Make one with "npm run -s bench -- --json > FILE".';

/** Reads what `--json` printed. @throws {InvalidArgumentError} with what to do, where the file is missing or another one */
export function readEarlierRun(path: string): EarlierRun {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new InvalidArgumentError(
      `The file cannot be read (${(error as NodeJS.ErrnoException).code}). ${howToMakeOne}`,
    );
  }
  const parsed = earlierRun.safeParse(jsonOf(text));
  if (!parsed.success) throw new InvalidArgumentError(`The file is no result of the bench. ${howToMakeOne}`);
  return parsed.data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface Change {
  before: number[];
  /** The median now to the median before. */
  change: number;
  /** Whether the medians are further apart than the noise of both runs together. */
  exceedsNoise: boolean;
}

/** @returns undefined where the earlier run has no such figure */
export function changeSince(earlier: EarlierRun, { name, unit, values }: Figure): Change | undefined {
  const before = [...earlier.ratios, ...earlier.figures].find(
    (each) => each.name === name && each.unit === unit,
  )?.values;
  if (!before) return undefined;
  const [middle, earlierMiddle] = [median(values), median(before)];
  const exceedsNoise = Math.abs(middle - earlierMiddle) > halfRange(values) + halfRange(before);
  return { before, change: middle / earlierMiddle, exceedsNoise };
}
