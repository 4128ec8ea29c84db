import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import type { FastifyReply } from 'fastify';
import { byteOrderMark, spreadsheetCsv } from '../documents/spreadsheet-csv.ts';
import type { ConsoleSession } from '../ports/console-sessions.ts';
import type { StaffSession } from '../ports/staff-sessions.ts';
import { endOfAnswer } from '../requests/end-of-answer.ts';
import { leaveOnce, type LongVisit } from './live/long-visits.ts';
import { type Answer, PageRefusal, type SignedInVisit } from './visit.ts';

/**
 * Rows of a table as a file, page by page in constant memory, however many there are.
 *
 * A file that breaks off does not look complete: its connection is cut before the end that HTTP has for it, and as JSON it does
 * not close.
 */

export type ExportForm = 'csv' | 'json';

export interface Exported<Row extends object> {
  /** Without its ending. */
  fileName: string;
  /** Those of the CSV, in their order. */
  columns: readonly string[];
  /** Its rows get the names of their accounts (`NamedRow`). */
  hasNames?: true;
  /** What the rows are of, at the top of the JSON. */
  about: { of: string } & Readonly<Record<string, unknown>>;
  /** @param gone aborted once nobody reads them any more */
  rows: (gone: AbortSignal) => AsyncGenerator<readonly Row[]>;
}

/** Rows that are all there, as a file. */
export const exportOf = <Row extends object>(
  rows: readonly Row[],
  exported: Omit<Exported<Row>, 'rows'>,
): Exported<Row> => ({
  ...exported,
  rows: async function* () {
    yield rows;
  },
});

const mediaTypes = { csv: 'text/csv; charset=utf-8', json: 'application/json' } as const;

/** The longest time for an export, from its first statement to its last row. */
export const exportLimitMs = 15 * 60_000;

export interface ExportLimits {
  /** How many are made at the same time. */
  running: number;
  /** How many of them for one account. Default: all. */
  runningOfAccount?: number;
  /** Default: `exportLimitMs`. */
  wholeMs?: number;
  /** A reader may stop for so long. Default: 30 s. */
  stalledMs?: number;
}

/**
 * Answers once the first rows are there: an outage before that is a page that says so. Whoever leaves, stops reading, takes too long
 * or is signed out ends the export at once, with the statement that is under way.
 *
 * @throws as the rows do
 */
export async function exportAnswer<Row extends object>(
  form: ExportForm,
  { exports }: { exports: RunningExports },
  {
    reply,
    request,
    session,
    stay,
  }: { reply: FastifyReply } & Pick<SignedInVisit<ConsoleSession | StaffSession>, 'request' | 'session' | 'stay'>,
  { rows, ...exported }: Exported<Row>,
): Promise<Answer> {
  const accountId = 'accountId' in session ? session.accountId : undefined;
  beginExport(exports, accountId);
  const visit = stay();
  const pages = whileSignedIn(visit, rows(visit.ended));
  let body: Readable | undefined;
  leaveOnce(endOfAnswer(request, reply, { halfClosed: 'ends' }), visit);
  visit.ended.addEventListener('abort', () => {
    if (!reply.raw.destroyed) body?.destroy(new Error('an export was cut off'));
  });
  const { wholeMs, stalledMs } = exports.limits;
  const limit = setTimeout(visit.leave, wholeMs);
  const finish = async () => {
    clearTimeout(limit);
    visit.leave();
    await pages.return(undefined).catch(() => undefined);
    exports.end(accountId);
  };
  try {
    const all = startingWith(await pages.next(), pages);
    body = Readable.from(form === 'csv' ? csvOf(exported, all) : jsonOf(exported, all), { objectMode: false });
    body.once('close', () => void finish());
    return { kind: 'file', body, stalledMs, mediaType: mediaTypes[form], fileName: `${exported.fileName}.${form}` };
  } catch (error) {
    await finish();
    throw error;
  }
}

/** Whoever calls it calls `end` of the exports afterwards. @throws {PageRefusal} if there are too many */
export function beginExport(exports: RunningExports, accountId: string | undefined): void {
  if (exports.begin(accountId)) return;
  throw new PageRefusal(
    503,
    'Other exports are under way',
    'Only so many can be made at the same time. Try again in a minute.',
  );
}

/** Counts the exports of a process that are under way. */
export class RunningExports {
  readonly limits: Required<ExportLimits>;
  /** The account of each. */
  readonly #running: (string | undefined)[] = [];

  constructor(limits: ExportLimits) {
    this.limits = { wholeMs: exportLimitMs, stalledMs: 30_000, runningOfAccount: limits.running, ...limits };
  }

  /** @param accountId undefined for staff. @returns false if there are too many */
  begin(accountId?: string): boolean {
    const { running, runningOfAccount } = this.limits;
    const ofAccount = this.#running.filter((one) => one === accountId);
    if (this.#running.length >= running || ofAccount.length >= runningOfAccount) return false;
    this.#running.push(accountId);
    return true;
  }

  /** @param accountId as it was given to `begin` */
  end(accountId?: string): void {
    this.#running.splice(this.#running.indexOf(accountId), 1);
  }
}

type Pages<Row> = AsyncGenerator<readonly Row[]>;

/** Looks before each page: what was read is not sent to somebody who is signed out meanwhile. */
async function* whileSignedIn<Row>(visit: LongVisit, pages: Pages<Row>): Pages<Row> {
  for await (const page of pages) {
    if (!(await visit.mayGoOn())) throw new PageRefusal(403, 'You are signed out', 'Sign in again.');
    yield page;
  }
}

async function* startingWith<Row>(first: IteratorResult<readonly Row[]>, others: Pages<Row>): Pages<Row> {
  if (first.done) return;
  yield first.value;
  yield* others;
}

type Described<Row extends object> = Omit<Exported<Row>, 'rows'>;

async function* csvOf<Row extends object>({ columns }: Described<Row>, pages: Pages<Row>): AsyncGenerator<string> {
  yield byteOrderMark + stringify([], { header: true, columns: [...columns] });
  for await (const page of pages) yield stringify([...page], { columns: [...columns], ...spreadsheetCsv });
}

/** One row a line; the end tells how many there are. */
async function* jsonOf<Row extends object>({ about }: Described<Row>, pages: Pages<Row>): AsyncGenerator<string> {
  let count = 0;
  yield `${JSON.stringify(about).slice(0, -1)},"rows":[`;
  for await (const page of pages) {
    if (page.length === 0) continue;
    const lines = page.map((row) => JSON.stringify(row));
    yield `${count === 0 ? '' : ','}\n${lines.join(',\n')}`;
    count += page.length;
  }
  yield `\n],"count":${String(count)}}\n`;
}
