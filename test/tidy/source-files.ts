import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface SourceFile {
  /** From the root of the project, with `/` between the parts. */
  path: string;
  text: string;
}

/** Every TypeScript file below these folders. */
export function sourceFiles(...folders: string[]): SourceFile[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.m?ts$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => ({ path: relative(root, file), text: readFileSync(file, 'utf8') })),
  );
}

/** What a file imports: packages by their names, files by their paths from the root. */
export function importsOf(file: SourceFile): { packages: string[]; files: string[] } {
  const named = ts.preProcessFile(file.text, true, true).importedFiles.map(({ fileName }) => fileName);
  const isFile = (name: string): boolean => name.startsWith('.');
  return {
    packages: named.filter((name) => !isFile(name)),
    files: named.filter(isFile).map((name) => join(file.path, '..', name)),
  };
}

/** Visits every node of a file's syntax tree, so that what stands in comments and texts is not taken for code. */
export function visitNodes(file: SourceFile, visit: (node: ts.Node, lineOf: (node: ts.Node) => number) => void): void {
  const tree = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true);
  const lineOf = (node: ts.Node) => tree.getLineAndCharacterOfPosition(node.getStart()).line + 1;
  const walk = (node: ts.Node): void => {
    visit(node, lineOf);
    ts.forEachChild(node, walk);
  };
  walk(tree);
}
