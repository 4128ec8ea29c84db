import type { SubjectOf, Table } from './columns.ts';

/** A row that Postgres must have. */
export interface Entry {
  table: Table;
  accountId: string;
  /** The source of the expected columns (see `columns.ts`) when the row is compared. */
  subject: object;
  /** The event that it comes from, and the commit position of the newest event that it reflects. */
  at: { stream: string; revision: number; position: bigint };
  /** Lets go of the replayed state behind the row, once the row is compared. */
  forget?: (() => void) | undefined;
}

type Expected<Name extends Table> = Omit<Entry, 'table' | 'subject'> & {
  table: Name;
  subject: SubjectOf<Name>;
  key: string;
  isNew?: boolean;
  isFinal?: boolean;
  day?: string;
};

/** Rows that are to be compared, by table and key. */
export class ExpectedRows {
  /** `early` rows are probably final; `late` rows will change. */
  readonly early = new Map<string, Entry>();
  readonly late = new Map<string, Entry>();
  /** The number of rows by table and by the day on which their billing period starts. */
  readonly #counts = new Map<string, number>();
  readonly #isLeftOut: (table: Table) => boolean;

  /** @param isLeftOut true for a table that the scope of the audit cannot tell anything about */
  constructor(isLeftOut: (table: Table) => boolean = () => false) {
    this.#isLeftOut = isLeftOut;
  }

  /** @param day YYYYMMDD; default: all periods */
  count(table: Table, day?: string): number {
    if (day !== undefined) return this.#counts.get(`${table} ${day}`) ?? 0;
    return [...this.#counts].reduce((sum, [name, count]) => sum + (name.startsWith(`${table} `) ? count : 0), 0);
  }

  /**
   * @param expected isNew: the row did not exist before
   * @param expected isFinal: the row will probably not change. Default true
   * @param expected day: the start of its billing period; empty for a row of no period. Default: that of its usage stream
   */
  expect<Name extends Table>(expected: Expected<Name>): void {
    const { table, key, isNew = false, isFinal = true, day = expected.at.stream.slice(-8) } = expected;
    if (this.#isLeftOut(table)) return;
    const { accountId, subject, at, forget } = expected;
    const [into, outOf] = isFinal ? [this.early, this.late] : [this.late, this.early];
    const name = `${table} ${key}`;
    const known = into.get(name) ?? outOf.get(name);
    // The streams of one account are read one after the other, so an event of another stream may be older than what the row has.
    const { stream, revision, position } = known && known.at.position > at.position ? known.at : at;
    into.set(name, { table, accountId, subject, at: { stream, revision, position }, forget });
    outOf.delete(name);
    const counted = `${table} ${day}`;
    if (isNew) this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
  }
}
