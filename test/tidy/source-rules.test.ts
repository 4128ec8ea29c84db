import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { pages } from './markdown.ts';
import { root, type SourceFile, sourceFiles, visitNodes } from './source-files.ts';

const forbiddenFolders = [
  'utils',
  'util',
  'common',
  'helpers',
  'helper',
  'services',
  'types',
  'infrastructure',
  'misc',
];

/** Time, chance and the environment come in here and are handed on from here. Embedded parts and the program of the client are processes of their own. */
const mayAskTheMachine = [
  'src/system/clock-and-chance.ts',
  'src/main/settings/config.ts',
  'src/embedded/',
  'src/client/reeltally-client.ts',
  // In the reader's browser.
  'src/console/browser/',
];

const machineWords = /\bDate\b|\bMath\b|\bprocess\b|\brandomUUID\b/;

/** What a node asks the machine for, if it does. */
function askedOf(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) {
    const text = `${node.expression.getText()}.${node.name.text}`;
    return ['Date.now', 'Math.random', 'process.env'].includes(text) ? text : undefined;
  }
  if (ts.isIdentifier(node) && node.text === 'randomUUID') return 'randomUUID';
  const isDate = (expression: ts.Expression): boolean => ts.isIdentifier(expression) && expression.text === 'Date';
  if (ts.isNewExpression(node) && isDate(node.expression) && (node.arguments?.length ?? 0) === 0) return 'new Date()';
  if (ts.isCallExpression(node) && isDate(node.expression)) return 'Date()';
  return undefined;
}

/** @param words without one of which a file is not parsed, as it has nothing to find */
function findings(files: SourceFile[], words: RegExp, find: (node: ts.Node) => string | undefined): string[] {
  const found: string[] = [];
  for (const file of files.filter(({ text }) => words.test(text))) {
    visitNodes(file, (node, lineOf) => {
      const what = find(node);
      if (what !== undefined) found.push(`${file.path}:${lineOf(node)} ${what}`);
    });
  }
  return found;
}

it('sources and docs name only tests that there are', () => {
  const tests = new Set(sourceFiles('test').map(({ path }) => basename(path)));
  const ofDocs = pages().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
  const unknown = [...sourceFiles('src', 'projections', 'test'), ...ofDocs].flatMap(({ path, text }) =>
    [...text.matchAll(/(?<![\w.*-])[\w-]+(?:\.\w+)?\.test\.ts\b/g)]
      .map(([name]) => name)
      // `x.test.ts` stands for any of them.
      .filter((name) => !tests.has(name) && !name.startsWith('x.'))
      .map((name) => `${path} ${name}`),
  );
  expect(unknown).toEqual([]);
});

describe('the sources', () => {
  it('ask for time, chance and the environment in one place', () => {
    const files = sourceFiles('src', 'projections').filter(
      ({ path }) => !mayAskTheMachine.some((allowed) => path.startsWith(allowed)),
    );
    expect(findings(files, machineWords, askedOf)).toEqual([]);
  });

  it('have no test that is left out', () => {
    const leftOut = findings(sourceFiles('test'), /\.(?:skip|only|todo|fails)\b/, (node) => {
      if (!ts.isPropertyAccessExpression(node) || !['skip', 'only', 'todo', 'fails'].includes(node.name.text)) return;
      const runner = node.expression.getText().split('.')[0] ?? '';
      return ['it', 'test', 'describe', 'suite', 'bench'].includes(runner) ? node.getText() : undefined;
    });
    expect(leftOut).toEqual([]);
  });

  it('have no statement that orders by what it has selected as text: 9 comes behind 10 there', () => {
    const ordersByText = /\b([a-z_]+)::text\b(?! as)[^'`]*\border by (?:[\w., ]+, )?\1\b/;
    const found = sourceFiles('src', 'projections', 'test').filter(({ text }) => ordersByText.test(text));
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  it('have no folder that could hold anything', () => {
    const folders = ['src', 'projections', 'test'].flatMap((top) =>
      readdirSync(join(root, top), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isDirectory() && forbiddenFolders.includes(entry.name))
        .map((entry) => relative(root, join(entry.parentPath, entry.name))),
    );
    expect(folders).toEqual([]);
  });

  it('have no file that only passes on what others export', () => {
    const barrels = sourceFiles('src', 'projections').filter(({ path, text }) => {
      if (!/^export .*from /m.test(text)) return false;
      const { statements } = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
      const passesOn = (statement: ts.Statement): boolean =>
        ts.isExportDeclaration(statement) || ts.isImportDeclaration(statement);
      return statements.some(ts.isExportDeclaration) && statements.every(passesOn);
    });
    expect(barrels.map(({ path }) => path)).toEqual([]);
  });
});

describe('these rules themselves', () => {
  it('find what they look for, and only in code', () => {
    const text = [
      `// Date.now() in a comment`,
      `const sentence = 'process.env';`,
      `Date.now(); new Date(); new Date(0); Math.random(); process.env['X']; crypto.randomUUID(); Date();`,
    ].join('\n');
    expect(findings([{ path: 'example.ts', text }], machineWords, askedOf)).toEqual([
      ...['Date.now', 'new Date()', 'Math.random', 'process.env', 'randomUUID', 'Date()'].map(
        (what) => `example.ts:3 ${what}`,
      ),
    ]);
  });
});
