import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import { Refusal } from '../visit.ts';
import type { Answer } from '../visit.ts';

/**
 * Rows of a table as a file, page by page in constant memory, however many there are.
 *
 * A file that breaks off does not look complete: its connection is cut before the end that HTTP has for it, and as JSON it does
 * not close.
 */

export type ExportForm = 'csv' | 'json';

interface Exported<Row extends object> {
  /** Without its ending. */
  fileName: string;
  /** Those of the CSV, in their order. */
  columns: readonly (keyof Row & string)[];
  /** What the rows are of, at the top of the JSON. */
  about: { of: string } & Readonly<Record<string, unknown>>;
  rows: AsyncGenerator<readonly Row[]>;
}

const mediaTypes = { csv: 'text/csv; charset=utf-8', json: 'application/json' } as const;

/** @throws as the rows do, before the answer begins */
export async function exportAnswer<Row extends object>(
  form: ExportForm,
  { exports }: { exports: RunningExports },
  exported: Exported<Row>,
): Promise<Answer> {
  const end = exports.begin();
  if (!end) throw tooMany();
  try {
    const text = form === 'csv' ? csvOf(exported) : jsonOf(exported);
    const body = await beginStream(text, end);
    return { kind: 'stream', body, mediaType: mediaTypes[form], fileName: `${exported.fileName}.${form}` };
  } catch (error) {
    end();
    throw error;
  }
}

const tooMany = () =>
  new Refusal(503, 'Other exports are under way', 'Only so many can be made at the same time. Try again in a minute.');

/** Counts the exports of a process that are under way. */
export class RunningExports {
  #running = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** @returns what ends it; undefined if there are too many */
  begin(): (() => void) | undefined {
    if (this.#running >= this.#most) return undefined;
    this.#running += 1;
    let hasEnded = false;
    return () => {
      if (!hasEnded) this.#running -= 1;
      hasEnded = true;
    };
  }
}

/** Waits for the beginning, so that an outage before it is a page that says so. */
async function beginStream(text: AsyncGenerator<string>, end: () => void): Promise<Readable> {
  let first: IteratorResult<string> | undefined = await text.next();
  const parts: AsyncIterator<string> = {
    next: async () => {
      const part = first ?? (await text.next());
      first = undefined;
      return part;
    },
    // Also where nobody has read anything: the rows may hold a connection.
    return: () => text.return(undefined),
  };
  const stream = Readable.from({ [Symbol.asyncIterator]: () => parts }, { objectMode: false });
  return stream.once('close', end);
}

/** What a spreadsheet would take for a formula begins with an apostrophe; numbers are never text. */
async function* csvOf<Row extends object>({ columns, rows }: Exported<Row>): AsyncGenerator<string> {
  yield stringify([], { header: true, columns: [...columns] });
  for await (const page of rows) yield stringify([...page], { columns: [...columns], escape_formulas: true });
}

/** One row a line; the end tells how many there are. */
async function* jsonOf<Row extends object>({ about, rows }: Exported<Row>): AsyncGenerator<string> {
  let count = 0;
  yield `${JSON.stringify(about).slice(0, -1)},"rows":[`;
  for await (const page of rows) {
    if (page.length === 0) continue;
    const lines = page.map((row) => JSON.stringify(row));
    yield `${count === 0 ? '' : ','}\n${lines.join(',\n')}`;
    count += page.length;
  }
  yield `\n],"count":${String(count)}}\n`;
}
