import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { marked, type Token, type Tokens } from 'marked';
import { root } from './source-files.ts';

/** What stands under one heading, up to the next. */
export interface Section {
  title: string;
  /** Rows by the names of their columns, marks and all. */
  tables: Record<string, string>[][];
  code: CodeBlock[];
  /** Paragraphs, as they are written. */
  text: string[];
}

export interface CodeBlock {
  language: string;
  /** What stands behind the language in the opening line. */
  mark: string;
  text: string;
}

/** The README and every page of `docs`, from the root of the project; decisions are history and stay as they were. */
export function pages(): string[] {
  const inDocs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', ...inDocs.sort().map((name) => `docs/${name}`)];
}

const readPages = new Map<string, Token[]>();

function readPage(path: string): Token[] {
  const tokens = readPages.get(path) ?? marked.lexer(readFileSync(join(root, path), 'utf8'));
  readPages.set(path, tokens);
  return tokens;
}

export function codeBlocks(path: string): CodeBlock[] {
  return readPage(path).filter(isCode).map(readCode);
}

export function sections(path: string): Section[] {
  const found: Section[] = [];
  for (const token of readPage(path)) {
    if (token.type === 'heading') found.push({ title: (token as Tokens.Heading).text, tables: [], code: [], text: [] });
    const section = found.at(-1);
    if (token.type === 'table') section?.tables.push(readTable(token as Tokens.Table));
    if (token.type === 'paragraph') section?.text.push((token as Tokens.Paragraph).text);
    if (isCode(token)) section?.code.push(readCode(token));
  }
  return found;
}

/** @throws where the page has no such section, or it has no table */
export function tableOf(path: string, title: string): Record<string, string>[] {
  const table = sections(path).find((section) => section.title === title)?.tables[0];
  if (!table) throw new Error(`${path} has no table under the heading ${title}`);
  return table;
}

/** The rows of a table of phrases: what each stands for, and all phrases of it, in their order. */
export const phraseRows = (path: string, title: string) =>
  tableOf(path, title).map((row) => ({
    reason: row['reason']?.replaceAll('`', ''),
    phrases: [...(row['phrases'] ?? '').matchAll(/`([^`]+)`/g)].map(([, phrase]) => phrase),
  }));

/** What a cell holds between its first pair of backticks. */
export const codeIn = (cell: string | undefined): string => /`([^`]+)`/.exec(cell ?? '')?.[1] ?? '';

/** Every address that a page links to. */
export function links(path: string): string[] {
  const found: string[] = [];
  // The promises are of callbacks that are asynchronous, which this one is not.
  void marked.walkTokens(readPage(path), (token) => {
    if (token.type === 'link' || token.type === 'image') found.push((token as Tokens.Link).href);
  });
  return found;
}

const isCode = (token: Token): token is Tokens.Code => token.type === 'code';

function readCode({ lang = '', text }: Tokens.Code): CodeBlock {
  const [language = '', ...mark] = lang.split(' ');
  return { language, mark: mark.join(' '), text };
}

function readTable({ header, rows }: Tokens.Table): Record<string, string>[] {
  return rows.map((row) => Object.fromEntries(row.map(({ text }, column) => [header[column]?.text ?? '', text])));
}
