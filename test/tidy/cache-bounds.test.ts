import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { codeIn, sections } from './markdown.ts';
import { type SourceFile, sourceFiles, visitNodes } from './source-files.ts';

const page = 'docs/performance.md';
const [remembered = [], alsoBounded = []] =
  sections(page).find(({ title }) => title === 'What a process remembers')?.tables ?? [];
const sources = sourceFiles('src', 'projections');

/** A bound, and the file that has it. */
interface Bound {
  file: string;
  bound: number;
}

/** The number that an expression of a file stands for: digits, a product of them, or a constant of the file that is one. */
function numberOf(expression: ts.Expression, file: SourceFile): number {
  if (ts.isNumericLiteral(expression)) return Number(expression.text.replaceAll('_', ''));
  if (ts.isBinaryExpression(expression) && expression.operatorToken.kind === ts.SyntaxKind.AsteriskToken)
    return numberOf(expression.left, file) * numberOf(expression.right, file);
  if (ts.isIdentifier(expression)) return constantOf(file, expression.text);
  throw new Error(`${file.path}: ${expression.getText()} is no bound that a reader finds in this file`);
}

function constantOf(file: SourceFile, name: string): number {
  let value: number | undefined;
  visitNodes(file, (node) => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name && node.initializer)
      value = numberOf(node.initializer, file);
  });
  if (value === undefined) throw new Error(`${file.path} has no constant ${name}`);
  return value;
}

/** The bound of each `new LRUCache(…)` of a file: entries, or bytes where it weighs them. */
function cachesOf(file: SourceFile): Bound[] {
  const found: Bound[] = [];
  // Parsing every file takes seconds.
  if (!file.text.includes('new LRUCache')) return found;
  visitNodes(file, (node) => {
    if (!ts.isNewExpression(node) || node.expression.getText() !== 'LRUCache') return;
    const [options] = node.arguments ?? [];
    const bound =
      options && ts.isObjectLiteralExpression(options)
        ? options.properties.find((each) => ['max', 'maxSize'].includes(each.name?.getText() ?? ''))
        : undefined;
    if (!bound || !ts.isPropertyAssignment(bound)) throw new Error(`${file.path} has a cache without a bound`);
    found.push({ file: file.path, bound: numberOf(bound.initializer, file) });
  });
  return found;
}

const mebibyte = 1024 * 1024;

/** `10 000`, or `64 MiB`. */
function boundIn(cell: string | undefined): number {
  const [, digits = '', unit] = /^(?:`\w+`: )?([\d ]+?)( MiB)?$/.exec(cell ?? '') ?? [];
  return Number(digits.replaceAll(' ', '')) * (unit === undefined ? 1 : mebibyte);
}

const fileIn = (cell: string | undefined): string => /\]\(\.\.\/([^)]+)\)/.exec(cell ?? '')?.[1] ?? '';

const inOrder = (bounds: readonly Bound[]): Bound[] =>
  bounds.toSorted((a, b) => a.file.localeCompare(b.file) || a.bound - b.bound);

describe('the bounds of what a process remembers', () => {
  it('are those of docs/performance.md, for every cache', () => {
    const written = remembered.map((row) => ({ file: fileIn(row['file']), bound: boundIn(row['at most']) }));
    expect(inOrder(written)).toEqual(inOrder(sources.flatMap(cachesOf)));
  });

  it('have the values of their constants, for what else may grow', () => {
    expect(alsoBounded.length).toBeGreaterThan(0);
    for (const row of alsoBounded) {
      const file = sources.find(({ path }) => path === fileIn(row['file']));
      if (!file) throw new Error(`there is no ${fileIn(row['file'])}`);
      expect({ file, bound: boundIn(row['at most']) }).toEqual({
        file,
        bound: constantOf(file, codeIn(row['at most'])),
      });
    }
  });
});
