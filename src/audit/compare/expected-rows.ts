import { columns } from './columns.ts';

export type Table = keyof typeof columns;
export const tables = Object.keys(columns) as Table[];

/** A row that must stand in Postgres. */
export interface Entry {
  table: Table;
  accountId: string;
  /** Its fields are the expected columns (see `columns.ts`), read when the row is compared. */
  subject: object;
  /** The event that it comes from, and the commit position of the newest event that it reflects. */
  at: { stream: string; revision: number; position: bigint };
  /** Lets go of the replayed state behind a final row, once the row is compared. */
  forget?: (() => void) | undefined;
}

/** Rows that wait to be compared, by table and key. */
export class ExpectedRows {
  /** Those that are probably final, and those that will change. */
  readonly early = new Map<string, Entry>();
  readonly late = new Map<string, Entry>();
  /** How many there must be, by table and by the day on which their billing period starts. */
  readonly #counts = new Map<string, number>();

  /** @param day YYYYMMDD; without it, of all periods */
  count(table: Table, day?: string): number {
    if (day !== undefined) return this.#counts.get(`${table} ${day}`) ?? 0;
    return [...this.#counts].reduce((sum, [name, count]) => sum + (name.startsWith(`${table} `) ? count : 0), 0);
  }

  /**
   * @param expected isNew: there was no such row before
   * @param expected isFinal: it will not change, as far as is known. Default true
   * @param expected day: on which its billing period starts; empty for a row of none. Default: that of the usage stream that it comes from
   */
  expect(expected: Entry & { key: string; isNew?: boolean; isFinal?: boolean; day?: string }): void {
    const { table, key, isNew = false, isFinal = true, day = expected.at.stream.slice(-8) } = expected;
    const { accountId, subject, at, forget } = expected;
    const [into, outOf] = isFinal ? [this.early, this.late] : [this.late, this.early];
    const { stream, revision, position } = at;
    into.set(`${table} ${key}`, { table, accountId, subject, at: { stream, revision, position }, forget });
    outOf.delete(`${table} ${key}`);
    const counted = `${table} ${day}`;
    if (isNew) this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
  }
}
