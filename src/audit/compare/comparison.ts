import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordedEvent } from '../rules/audited-log.ts';
import type { Report } from '../rules/divergence.ts';
import type { Replay } from '../rules/replay.ts';
import { accountOf } from '../rules/streams.ts';
import { type Table, tables } from './columns.ts';
import type { Entry, ExpectedRows } from './expected-rows.ts';
import { rowKeysOf } from './row-keys.ts';
import {
  compare,
  countRows,
  type Difference,
  differenceFacts,
  findMissingColumns,
  isFixed,
  kept,
  listOrigins,
  missingRow,
  type Query,
  readCheckpoints,
  type Scope,
  type TableScope,
} from './rows.ts';

/** The audit's access to Postgres. */
export interface ReadModelQueries {
  query: Query;
  /** All queries of `work` see the same instant. Until it ends, no rebuild puts other tables in the place of these. */
  snapshot: <Result>(tables: readonly string[], work: (query: Query) => Promise<Result>) => Promise<Result>;
}

interface Comparing {
  queries: ReadModelQueries;
  replay: Replay;
  rows: ExpectedRows;
  report: Report;
  scope: Scope;
  /** Rows that are compared at a time. */
  pageRows: number;
  /** The time that a read model has to reach the position up to which the log was read. */
  readModelTimeoutMs: number;
  /** Ends the wait for read models. */
  signal: AbortSignal | undefined;
  /** All events that are in scope, up to the end of the log, page by page; those of the named streams among them. */
  readAgain: (named: readonly string[]) => AsyncIterable<readonly RecordedEvent[]>;
}

/** The state of a table when its checkpoint was at a position. */
interface TableSnapshot {
  table: Table;
  position: bigint;
  /** The number of rows, or how they are counted later; undefined if they are not to be counted. */
  count: number | 'by its downloads' | undefined;
  /** Rows that differed from the log as far as it was read by then. */
  differing: { key: string; entry: Entry }[];
  found: unknown[];
}

/** Restricts a snapshot of a read model that is behind the log to the rows that it must have by now. */
export function withinReach(snapshot: TableSnapshot): TableSnapshot {
  const differing = snapshot.differing.filter(({ entry }) => entry.at.position <= snapshot.position);
  return { ...snapshot, count: undefined, differing };
}

const pollMs = 50;

const placeOf = ({ stream, revision, position }: Pick<RecordedEvent, 'stream' | 'revision' | 'position'>): string =>
  `${stream} ${String(revision)} ${String(position)}`;

/** Compares the rows of Postgres with the log: final rows while the log is read, all others at its end. */
export class Comparison {
  readonly #comparing: Comparing;
  readonly #checkpoints = new Map<string, bigint>();
  /** Tables that exist with all their columns, and so can be compared. */
  #tables: readonly Table[] = tables;
  /** Rows that are missing, by table. */
  readonly #missing = new Map<Table, Set<string>>();
  /** Read models that stayed behind the log until their time was over. */
  readonly #behind = new Set<string>();
  #underWay: Promise<void> = Promise.resolve();

  constructor(comparing: Comparing) {
    this.#comparing = comparing;
  }

  /** Reports missing tables and columns; their tables are left out until the next check. */
  async checkTables(): Promise<void> {
    const { queries, report } = this.#comparing;
    let missing = await findMissingColumns(queries.query, tables);
    // A rebuild that puts a table in the place of another one may come between the name and the columns of the old one.
    if (missing.size > 0) missing = await findMissingColumns(queries.query, tables);
    for (const [table, names] of missing) {
      report({
        rule: 'table_missing',
        account_id: null,
        stream: table,
        revision: -1,
        field: table,
        expected: 'a table with all its columns',
        found: `without ${names.join(', ')}`,
      });
    }
    this.#tables = tables.filter((table) => !missing.has(table));
  }

  /** Begins to compare rows that are probably final, while more of the log is read; one batch at a time. */
  async early(): Promise<void> {
    await this.compared();
    const { early, late } = this.#comparing.rows;
    const batch = new Map(early);
    early.clear();
    this.#underWay = this.#compareBatch(batch).catch((error: unknown) => {
      // A newer event of a row replaces the older comparison; the rest is compared again at the next try.
      for (const [key, entry] of batch) if (!this.#isNewer(key)) late.set(key, entry);
      throw error;
    });
    this.#underWay.catch(() => undefined);
  }

  /** Waits for the current batch; its failure is thrown once. */
  async compared(): Promise<void> {
    const comparing = this.#underWay;
    this.#underWay = Promise.resolve();
    await comparing;
  }

  /** Forgets nothing of a single account: its periods and jobs tell which streams are read on. */
  #forget({ forget }: Entry): void {
    if (this.#comparing.scope.accountId === undefined) forget?.();
  }

  #isNewer(key: string): boolean {
    const { early, late } = this.#comparing.rows;
    return early.has(key) || late.has(key);
  }

  async #compareBatch(batch: ReadonlyMap<string, Entry>): Promise<void> {
    const { queries, rows: expected } = this.#comparing;
    const byTable = Map.groupBy(batch, ([, { table }]) => table);
    // Tables of unchanging rows first: their divergences say more than another read model that is behind.
    const inOrder = [...byTable].sort(([one], [other]) => Number(isFixed(other)) - Number(isFixed(one)));
    for (const [table, entries] of inOrder) {
      if (!this.#tables.includes(table)) continue;
      const newest = entries.reduce((position, [, { at }]) => (at.position > position ? at.position : position), 0n);
      const rows = entries.map(([, entry]) => entry);
      const isReached = await this.#reach(kept[table].checkpoint, newest);
      const differing = new Set<Entry>(isReached ? [] : rows);
      for (const difference of isReached ? await compare(queries.query, table, rows) : []) {
        if (isFixed(table)) this.#report(difference);
        else differing.add(difference.entry);
      }
      for (const [key, entry] of entries) {
        if (this.#isNewer(key)) continue;
        if (differing.has(entry)) expected.late.set(key, entry);
        else this.#forget(entry);
      }
    }
  }

  #report(difference: Difference): void {
    const { table, at } = difference.entry;
    if (!difference.found) {
      const missing = this.#missing.get(table) ?? new Set();
      this.#missing.set(table, missing.add(placeOf(at)));
    }
    this.#comparing.report(differenceFacts(difference));
  }

  /** @returns the read models that do not reach the position up to which the log was read, in the given time */
  async reachAll(): Promise<readonly string[]> {
    this.#behind.clear();
    await this.early();
    await this.compared();
    for (const { table, at } of this.#comparing.rows.late.values())
      await this.#reach(kept[table].checkpoint, at.position);
    return [...this.#behind];
  }

  /** Waits for a read model, only once if it stays behind. @throws {AbortError} */
  async #reach(checkpoint: string, position: bigint): Promise<boolean> {
    const { readModelTimeoutMs, queries, signal } = this.#comparing;
    const deadlineMs = performance.now() + readModelTimeoutMs;
    while ((this.#checkpoints.get(checkpoint) ?? -1n) < position) {
      for (const [name, { upTo }] of await readCheckpoints(queries.query)) this.#checkpoints.set(name, upTo);
      if ((this.#checkpoints.get(checkpoint) ?? -1n) >= position) break;
      if (this.#behind.has(checkpoint) || performance.now() > deadlineMs) {
        this.#behind.add(checkpoint);
        return false;
      }
      await sleep(pollMs, undefined, { signal });
    }
    return true;
  }

  /** All tables as of one instant, ordered by the positions that they reflect. */
  async snapshots(): Promise<TableSnapshot[]> {
    const snapshots = await this.#comparing.queries.snapshot(this.#tables, (query) => this.#takeSnapshots(query));
    return snapshots.sort((one, other) => (one.position < other.position ? -1 : 1));
  }

  async #takeSnapshots(query: Query): Promise<TableSnapshot[]> {
    const { pageRows, rows } = this.#comparing;
    const checkpoints = await readCheckpoints(query);
    const { late } = rows;
    const byTable = Map.groupBy(late, ([, { table }]) => table);
    const snapshots: TableSnapshot[] = [];
    for (const table of this.#tables) {
      const entries = (byTable.get(table) ?? []).map(([key, entry]) => ({ key, entry }));
      const found = new Map<Entry, unknown>();
      for (let from = 0; from < entries.length; from += pageRows) {
        const some = entries.slice(from, from + pageRows).map(({ entry }) => entry);
        for (const difference of await compare(query, table, some)) found.set(difference.entry, difference.found);
      }
      for (const { key, entry } of entries) {
        if (found.has(entry)) continue;
        late.delete(key);
        this.#forget(entry);
      }
      snapshots.push({
        table,
        position: checkpoints.get(kept[table].checkpoint)?.standsFor ?? -1n,
        count: await this.#count(query, table),
        differing: entries.filter(({ entry }) => found.has(entry)),
        found: [...found.values()].filter((row) => row !== null),
      });
    }
    return snapshots;
  }

  /** @returns undefined for a table whose rows belong to no period, or to no account, if only one is in scope */
  async #count(query: Query, table: Table): Promise<TableSnapshot['count']> {
    const { scope } = this.#comparing;
    if (scope.period !== undefined && kept[table].period === undefined) return undefined;
    if (scope.accountId !== undefined && kept[table].isOfAll) return undefined;
    // The downloads of an account are known once the log was read as far as the table.
    if (scope.accountId !== undefined && table === 'job_timeline') return 'by its downloads';
    return countRows(query, table, this.#scopeOf());
  }

  #scopeOf(): TableScope {
    const { scope, replay } = this.#comparing;
    if (scope.accountId === undefined) return scope;
    // A read model may stand between a charge and its download, which are one append.
    const charged = [...replay.periods.values()].flatMap(({ charges }) => [...charges.keys()]);
    return { ...scope, tokens: [...new Set([...replay.jobs.keys(), ...charged])] };
  }

  /** Compares a snapshot again, now that the log has been read up to its position. */
  async requireSame({ table, position, count, differing, found }: TableSnapshot): Promise<void> {
    const { rows, queries, scope } = this.#comparing;
    const entries = differing.map(({ key, entry }) => rows.late.get(key) ?? rows.early.get(key) ?? entry);
    for (const difference of await compare(queries.query, table, entries, found)) this.#report(difference);
    for (const { key, entry } of differing) {
      if (rows.late.get(key) !== entry) continue;
      rows.late.delete(key);
      this.#forget(entry);
    }
    const missing = this.#missing.get(table)?.size ?? 0;
    const counted =
      count === 'by its downloads'
        ? await countRows(queries.query, table, { ...this.#scopeOf(), upTo: position })
        : count;
    if (counted !== undefined && counted !== rows.count(table, scope.period) - missing)
      await this.#reportMiscounted(table, position);
  }

  /**
   * Finds the rows that come from no event, and those that were deleted after they had been compared. This reads the log again, and
   * is only needed after a wrong count.
   *
   * @param position for which the table stood when its rows were counted
   */
  async #reportMiscounted(table: Table, position: bigint): Promise<void> {
    const { queries, readAgain, report, scope } = this.#comparing;
    // Events of other periods are read too.
    const isWhole = isFixed(table) && scope.period === undefined;
    const origins = await listOrigins(queries.query, table, this.#scopeOf());
    const found = new Set(origins.map(({ key }) => key));
    const keys = new Set<string>();
    const keysOfEvent = rowKeysOf(table);
    for await (const events of readAgain([...new Set(origins.map(({ stream }) => stream))]))
      for (const event of events)
        for (const key of keysOfEvent(event)) {
          keys.add(key);
          if (isWhole && event.position <= position && !found.has(key)) this.#reportDeleted(table, event);
        }
    for (const { key, account_id, stream, revision } of origins) {
      if (keys.has(key)) continue;
      report({ rule: 'row_surplus', account_id, stream, revision, field: table, expected: 'no row', found: key });
    }
  }

  #reportDeleted(table: Table, { stream, revision, position }: RecordedEvent): void {
    if (this.#missing.get(table)?.has(placeOf({ stream, revision, position }))) return;
    this.#comparing.report(missingRow(table, { account_id: accountOf(stream) ?? null, stream, revision }));
  }
}
