import { type PlantedBug, plantedBugs } from './planted-bugs.ts';
import { Runner } from './run.ts';

export interface Found {
  name: string;
  what: string;
  /** How many seeds it took, from several first seeds on; undefined: it was not found. */
  seeds: (number | undefined)[];
  /** The rules that broke first. */
  rules: string[];
}

/** Looks for each bug from several first seeds on, so that one lucky seed does not count. */
const beginnings = 3;

export async function findAll(
  { first, most, threads }: { first: number; most: number; threads: number },
  onFound: (found: Found) => void,
): Promise<Found[]> {
  const waiting = [...plantedBugs];
  const found: Found[] = [];
  const work = async () => {
    for (let planted = waiting.shift(); planted; planted = waiting.shift()) {
      const one = await findOne(planted, first, most);
      onFound(one);
      found.push(one);
    }
  };
  await Promise.all(Array.from({ length: threads }, work));
  return found;
}

async function findOne({ name, what, edits }: PlantedBug, first: number, most: number): Promise<Found> {
  const seeds: (number | undefined)[] = [];
  const rules = new Set<string>();
  const runner = new Runner(edits);
  for (let beginning = 0; beginning < beginnings; beginning += 1) {
    const from = first + beginning * 1_000_000;
    let count = 0;
    let rule: string | undefined;
    while (rule === undefined && count < most) {
      const { violations } = await runner.run(from + count);
      count += 1;
      rule = violations[0]?.rule;
    }
    seeds.push(rule === undefined ? undefined : count);
    if (rule === undefined) break;
    rules.add(rule);
  }
  await runner.end();
  return { name, what, seeds, rules: [...rules] };
}

export const median = (seeds: readonly (number | undefined)[]): number =>
  seeds.map((count) => count ?? Infinity).sort((one, other) => one - other)[Math.floor(seeds.length / 2)] ?? Infinity;
