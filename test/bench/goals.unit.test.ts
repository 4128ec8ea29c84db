import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { sourceFiles, visitNodes } from '../tidy/source-files.ts';
import { consolePages, consoleTime } from './console.ts';
import { goals, isNamed, verdictOn } from './goals.ts';
import { httpResults, turns } from './http.ts';
import { jobs, jobsRatio } from './jobs.ts';
import { moments, oneProcessFigures } from './one-process.ts';
import { sizesRatio } from './sizes.ts';
import { timedVisits } from './staff.ts';
import { exportRate, staffExports } from './staff-exports.ts';

const account = {
  id: 'acc',
  keys: [{ key: 'key', keyHash: 'hash', keyPrefix: 'key' }],
  queuedToken: '',
  doneToken: '',
};

/** The names that are put together while the bench runs, by what puts them together there. */
function composedNames(): string[] {
  const askers = { many: [account], withFile: [account], one: account };
  const { ratios, figures } = httpResults(turns(askers, '').map((turn) => ({ ...turn, rounds: [] })));
  const memory = Object.values(moments).flatMap((when) =>
    oneProcessFigures(when, { resident: 0, proportional: 0, besides: {} }),
  );
  const visits = timedVisits(1).flatMap((visit) => visit.figures());
  return [
    ...[...ratios, ...figures, ...memory, ...visits].map(({ name }) => name),
    ...jobs.flatMap((job) => [jobsRatio(job, 'time'), jobsRatio(job, 'processor time')]),
    ...consolePages.map(consoleTime),
    ...staffExports('2027-01').map(({ name }) => exportRate(name)),
    sizesRatio('status poll', 1_000, 100_000),
  ];
}

/** The names of figures that stand as they are in a part's source. */
function writtenNames(): string[] {
  const names: string[] = [];
  for (const file of sourceFiles('test/bench')) {
    visitNodes(file, (node) => {
      if (!ts.isStringLiteral(node)) return;
      const { parent } = node;
      const isName = ts.isPropertyAssignment(parent) && parent.name.getText() === 'name';
      const isRatio = ts.isCallExpression(parent) && parent.expression.getText() === 'ratio';
      if (isName || isRatio) names.push(node.text);
    });
  }
  return names;
}

describe('the goals of the bench', () => {
  it('name figures that it prints', () => {
    const names = [...composedNames(), ...writtenNames()];
    const unknown = goals.filter(([pattern]) => !names.some((name) => isNamed(pattern, name)));
    expect(unknown).toEqual([]);
  });

  it('name each figure once', () => {
    const names = new Set([...composedNames(), ...writtenNames()]);
    const twice = [...names].filter((name) => goals.filter(([pattern]) => isNamed(pattern, name)).length > 1);
    expect(twice).toEqual([]);
  });

  it.each([
    { values: [1.1, 1.2, 1.3], goal: { atLeast: 1 }, verdict: 'reached' },
    { values: [0.7, 0.8, 0.9], goal: { atLeast: 1 }, verdict: 'not reached' },
    { values: [0.8, 0.95, 1.2], goal: { atLeast: 1 }, verdict: 'within the noise' },
    { values: [2, 3, 2.5], goal: { atMost: 4 }, verdict: 'reached' },
    { values: [5], goal: { atMost: 4 }, verdict: 'not reached' },
    { values: [4], goal: { atMost: 4 }, verdict: 'reached' },
  ] as const)('are $verdict by $values where $goal is wanted', ({ values, goal, verdict }) => {
    expect(verdictOn({ name: 'a figure', unit: '×', values: [...values] }, goal)).toBe(verdict);
  });
});
