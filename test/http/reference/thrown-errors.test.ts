import { join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { endpoints } from '../../../src/http/endpoints.ts';
import { errorsOfEveryEndpoint } from '../../../src/http/errors.ts';
import { root } from '../../tidy/source-files.ts';

/** The compiler knows every code that `new ApiError(…)` may be given, also where it is computed. */
const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)).config,
  ts.sys,
  root,
);
const listFile = join(root, 'src/http/endpoints.ts');
const program = ts.createProgram([listFile], options);
const checker = program.getTypeChecker();

/** Codes thrown within a node, and within the functions of the API's own folder that it calls. */
function thrownIn(start: ts.Node): Set<string> {
  const codes = new Set<string>();
  const seen = new Set<ts.Node>();
  const visit = (node: ts.Node): void => {
    if (ts.isNewExpression(node) && node.expression.getText() === 'ApiError' && node.arguments?.[0]) {
      for (const code of literalsOf(checker.getTypeAtLocation(node.arguments[0]))) codes.add(code);
    }
    if (ts.isIdentifier(node)) {
      const called = functionOf(node);
      if (called && !seen.has(called)) {
        seen.add(called);
        visit(called);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(start);
  return codes;
}

function literalsOf(type: ts.Type): string[] {
  return (type.isUnion() ? type.types : [type]).map((each) => {
    if (!each.isStringLiteral()) throw new Error(`a code is not known when compiling: ${checker.typeToString(type)}`);
    return each.value;
  });
}

function functionOf(name: ts.Identifier): ts.Node | undefined {
  let symbol = checker.getSymbolAtLocation(name);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  const declared = symbol?.valueDeclaration;
  if (!declared?.getSourceFile().fileName.startsWith(join(root, 'src/http/'))) return undefined;
  if (ts.isFunctionDeclaration(declared)) return declared;
  return ts.isVariableDeclaration(declared) ? declared.initializer : undefined;
}

/** What stands behind `handler` in the list of endpoints, in its order. */
function handlers(): ts.Identifier[] {
  const found: ts.Identifier[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'handler' && ts.isIdentifier(node.initializer)) {
      found.push(node.initializer);
    }
    ts.forEachChild(node, visit);
  };
  const list = program.getSourceFile(listFile);
  if (list) visit(list);
  return found;
}

it('every error that an endpoint throws is listed in its reference, and none that it does not throw', () => {
  const named = handlers();
  expect(named).toHaveLength(endpoints.length);
  for (const [index, { path, reference, whenUnavailable }] of endpoints.entries()) {
    const handler = named[index];
    const thrown = handler ? thrownIn(handler) : new Set<string>();
    if (whenUnavailable) thrown.add(whenUnavailable);
    const own = [...thrown].filter((code) => !(errorsOfEveryEndpoint as readonly string[]).includes(code));
    expect([path, ...own.sort()]).toEqual([path, ...[...reference.errors].sort()]);
  }
});
