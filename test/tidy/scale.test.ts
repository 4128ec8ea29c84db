import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { codeIn, sections, tableOf } from './markdown.ts';

/** The arithmetic of docs/scale.md, done again from the figures and formulas that stand there. */
const page = 'docs/scale.md';
const figures = tableOf(page, 'What things cost');
const unitResults = tableOf(page, 'One of each');
const results = tableOf(page, 'Arithmetic');
const measuredTables = sections('docs/performance.md').flatMap(({ tables }) => tables.flat());

const numberIn = (cell = '') => (cell === '' ? NaN : Number(cell.replaceAll(' ', '')));
const given = Object.fromEntries(figures.map((row) => [codeIn(row['name']), numberIn(row['value'])]));
const columns = Object.keys(results[0] ?? {}).filter((title) => title.endsWith(' accounts'));

/** As the page shows it: two digits that count, and a space before each three. */
function shown(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en', { maximumFractionDigits: 20 }).replaceAll(',', ' ');
}

type Row = Record<string, string>;
type Numbers = Record<string, number>;

/** @returns the results of a table by the names of its rows; a formula may use those above it, and what is known */
function compute(rows: readonly Row[], known: Numbers): Numbers {
  const computed: Numbers = {};
  for (const row of rows) {
    const name = codeIn(row['name']);
    const context = { ...known, ...computed, max: Math.max, ceil: Math.ceil };
    const value: unknown = runInNewContext(codeIn(row['formula']), context);
    if (typeof value !== 'number') throw new Error(`the formula of ${name} gives no number`);
    computed[name] = value;
  }
  return computed;
}

const shownAll = (numbers: Numbers): Row =>
  Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, shown(value)]));

const columnOf = (rows: readonly Row[], title: string) =>
  Object.fromEntries(rows.map((row) => [codeIn(row['name']), row[title]]));

describe('docs/scale.md', () => {
  it('has a number for each figure, and each name once', () => {
    expect(columns.length).toBeGreaterThan(3);
    const names = [...figures, ...unitResults, ...results].map((row) => codeIn(row['name']));
    expect(new Set(names).size).toBe(names.length);
    expect(Object.entries(given).filter(([name, value]) => name === '' || !Number.isFinite(value))).toEqual([]);
  });

  it('uses every figure', () => {
    const used = [...unitResults, ...results].flatMap((row) => codeIn(row['formula']).match(/[a-z]\w*/g) ?? []);
    expect(Object.keys(given).filter((name) => !used.includes(name))).toEqual([]);
  });

  it('computes what one of each costs', () => {
    expect(columnOf(unitResults, 'value')).toEqual(shownAll(compute(unitResults, given)));
  });

  it.each(columns)('computes the column of %s', (column) => {
    const accounts = numberIn(column.replace(' accounts', ''));
    const known = { ...given, ...compute(unitResults, given), accounts };
    expect(columnOf(results, column)).toEqual(shownAll(compute(results, known)));
  });

  it('repeats figures as docs/performance.md has them', () => {
    const repeated = figures.filter(({ source }) => source?.includes('performance.md'));
    expect(repeated.length).toBeGreaterThan(5);
    const wrong = repeated.filter(({ value, source }) => {
      const [, measured, phrase = ''] = /`([^`]+)`, `([^`]+)`$/.exec(source ?? '') ?? [];
      const row = measuredTables.find((cells) => Object.values(cells)[0] === measured) ?? {};
      const phrases = Object.values(row).flatMap((cell) => cell.split(/, | µs| events/));
      return phrase.replace(/^[a-z ]+/i, '') !== value || !phrases.includes(phrase);
    });
    expect(wrong).toEqual([]);
  });
});
