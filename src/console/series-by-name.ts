interface Value {
  name: string;
  /** UTC, YYYY-MM-DD. */
  day: string;
  value: number;
}

interface Series {
  label: string;
  token: string;
  values: number[];
}

/** Colours of what should not be, and of what should. */
export const coloursOfFailures = ['bad', 'warn', 'info', 'accent'];
export const coloursOfUse = ['accent', 'info', 'warn', 'bad'];
const others = 'all others';

/**
 * The series of a plot, one for each name: the four with the largest sums, and all others together, because more colours than that
 * cannot be told apart.
 *
 * @param days those of the plot, in their order
 */
export function seriesByName(values: readonly Value[], days: readonly string[], tokens: readonly string[]): Series[] {
  const sums = new Map<string, number>();
  for (const { name, value } of values) sums.set(name, (sums.get(name) ?? 0) + value);
  const names = [...sums].sort(([, one], [, other]) => other - one).map(([name]) => name);
  const largest = names.slice(0, tokens.length);
  const ofDays = new Map<string, number>();
  for (const { name, day, value } of values) {
    const key = `${day} ${largest.includes(name) ? name : others}`;
    ofDays.set(key, (ofDays.get(key) ?? 0) + value);
  }
  return [...largest, ...(names.length > largest.length ? [others] : [])].map((label, index) => ({
    label,
    token: tokens[index] ?? 'line-strong',
    values: days.map((day) => ofDays.get(`${day} ${label}`) ?? 0),
  }));
}
