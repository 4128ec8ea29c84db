import type { z } from 'zod';
import { table } from '../documents/text.ts';
import { formatCents } from '../domain/cents.ts';
import { isRefused, type Refusal, type Refused } from '../domain/refusals.ts';

/** The output of a command: text for people, one JSON document for programs. */
export interface Output {
  json: boolean;
  write: (text: string) => void;
  /** Prints text beside the answer: warnings, progress. */
  tell: (text: string) => void;
  /** `tell` goes to a terminal, where a person reads along. */
  terminal: boolean;
  /** Width of the terminal that the answer goes to; undefined if it goes elsewhere. */
  columns: number | undefined;
}

/** A command that could not do what it was asked for: the message tells what to do. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly exitCode: number;

  /** @param exitCode 1: refused or not found; 2: recorded, but not in force yet, or not yet in the read model */
  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Texts of refusals for the person who asked; a refusal without one is told by its name. */
export type RefusalTexts = Partial<Record<Refusal, string>>;

/** @throws {CommandFailed} for a refusal */
export function unlessRefused<Answer extends object>(answer: Answer | Refused, texts: RefusalTexts = {}): Answer {
  if (isRefused(answer)) throw new CommandFailed(texts[answer.refusal] ?? answer.refusal);
  return answer;
}

/** @param text the same facts, for people */
export function print({ json, write }: Output, data: object, text: string): void {
  write(json ? `${JSON.stringify(data, null, 2)}\n` : `${text}\n`);
}

/** The columns of a table by name: the field of a row that each shows, or its text. Cents are shown as an amount. */
export type Columns<Row> = Readonly<Record<string, (keyof Row & string) | ((row: Row) => string)>>;

/** One line for each row. A field that is null stays empty. */
export function rowsText<Row extends object>(output: Output, columns: Columns<Row>, rows: readonly Row[]): string {
  const cell = (row: Row, column: Columns<Row>[string]) =>
    typeof column === 'string' ? fieldText(column, row[column]) : column(row);
  const cells = rows.map((row) => Object.values(columns).map((column) => cell(row, column)));
  return table(output, Object.keys(columns), cells);
}

function fieldText(name: string, value: unknown): string {
  if (value === null) return '';
  if (typeof value === 'number' && name.endsWith('cents')) return formatCents(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * A JSON document with a list of any length, one row a line.
 *
 * @param name of the list
 * @param tail asked once all rows are written
 */
export async function* jsonDocument(
  head: object,
  name: string,
  rows: AsyncIterable<object>,
  tail: () => object = () => ({}),
): AsyncGenerator<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"${name}":[`;
  let separator = '\n';
  for await (const row of rows) {
    yield separator + JSON.stringify(row);
    separator = ',\n';
  }
  const fields = JSON.stringify(tail()).slice(1);
  yield `\n]${fields === '}' ? '' : ','}${fields}\n`;
}

/** @throws {CommandFailed} where a text is not what it has to be */
export function requireText(schema: z.ZodType, name: string, text: string): void {
  const result = schema.safeParse(text);
  if (!result.success) throw new CommandFailed(`${name} ${result.error.issues[0]?.message ?? 'cannot be used'}`);
}
