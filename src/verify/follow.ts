import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordedEvent, WholeLog } from '../commands/ports.ts';
import { Divergence } from './divergence.ts';
import { tables } from './expected-rows.ts';
import type { Entry, Table } from './expected-rows.ts';
import { usageStream } from './forms.ts';
import { Replay } from './replay.ts';
import { isFixed, notVerifiable, NotVerifiable, withinReach } from './probe.ts';
import type { Probe } from './probe.ts';
import { compare, countRows, kept, listOrigins, readCheckpoints, refuse } from './rows.ts';
import type { Query, Scope } from './rows.ts';

/** Postgres, as the audit asks it. */
export interface Books {
  query: Query;
  /** All questions of `work` are answered as of one instant. */
  snapshot: <Result>(work: (query: Query) => Promise<Result>) => Promise<Result>;
}

export interface Following {
  log: WholeLog;
  books: Books;
  /** What is verified, instead of everything. */
  scope?: Scope;
  /** How long a read model may take to reach what was read of the log. Default 30 s. */
  patienceMs?: number;
  /** Events that are read, and rows that are compared, at a time. Default 2 000. */
  pageEvents?: number;
  /** Told after each page. */
  progress?: (progress: { events: number; position: bigint; target: bigint }) => void;
  /** Called after each page with the time that it took, for whoever must not be in the way. */
  rest?: (tookMs: number) => Promise<void>;
}

const lookAgainMs = 50;
const streamsAtOnce = 32;

/**
 * Reads the log in order, once, and compares what stands in Postgres with it: rows that are final as it goes, all others at
 * the end. The log may go on meanwhile: a row that is not what was read stands for a later position of the log, at which it
 * is looked at again.
 */
export class Follower {
  readonly replay: Replay;
  readonly #following: Following;
  readonly #checkpoints = new Map<string, bigint>();
  readonly #pageEvents: number;
  #position = -1n;
  #page: RecordedEvent[] = [];
  #index = 0;
  #next: Promise<RecordedEvent[]> | undefined;
  #comparing: Promise<void> = Promise.resolve();

  constructor(following: Following) {
    this.#following = following;
    this.#pageEvents = following.pageEvents ?? 2_000;
    this.replay = new Replay((stream, from, maxCount) => following.log.read(stream, from, maxCount));
  }

  /** Commit position up to which everything was verified; -1 before the first event. */
  get position(): bigint {
    return this.#position;
  }

  /**
   * Verifies everything up to now.
   *
   * @throws {Divergence} the first one
   * @throws {NotVerifiable} when a read model does not get as far as the log in time
   */
  async catchUp(): Promise<void> {
    const head = (await this.#following.log.headPosition()) ?? -1n;
    await this.#readTo(head, head);
    const behind = await this.#reachAll().catch(notVerifiable);
    if (!behind) this.replay.requireWhole();
    const probes = await this.#following.books.snapshot((query) => this.#probe(query));
    for (const probe of probes.sort((one, other) => (one.position < other.position ? -1 : 1))) {
      await this.#readTo(probe.position, probe.position);
      // Of a read model that is behind, what it stands for must be right all the same.
      await this.#requireSame(behind ? withinReach(probe) : probe);
    }
    if (behind) throw behind;
    // Events of other systems, which are not read here, may be behind the last one of ours.
    const end = (await this.#following.log.headPosition()) ?? -1n;
    const ahead = probes.find(({ position }) => position > end);
    if (ahead) {
      const at = { stream: '$all', revision: Number(end) };
      throw new Divergence(
        at,
        'position',
        `at least ${String(ahead.position)}, which ${ahead.table} stands for`,
        'the end of the log',
      );
    }
  }

  /** Everything that was read is in the read models. @throws {NotVerifiable} when that takes too long */
  async #reachAll(): Promise<undefined> {
    await this.#compareEarly();
    await this.#compared();
    const { period } = this.#following.scope ?? {};
    if (period !== undefined && this.replay.rows.count('credits', period) === 0)
      throw new NotVerifiable(`no billing period starts on ${period}`);
    for (const { table, at } of this.replay.rows.late.values()) await this.#reach(kept[table].checkpoint, at.position);
  }

  async #probe(query: Query): Promise<Probe[]> {
    const { scope = {} } = this.#following;
    const checkpoints = await readCheckpoints(query);
    const { late } = this.replay.rows;
    const byTable = Map.groupBy(late, ([, { table }]) => table);
    const probes: Probe[] = [];
    for (const table of tables) {
      const entries = (byTable.get(table) ?? []).map(([key, entry]) => ({ key, entry }));
      const found = new Map<Entry, unknown>();
      for (let from = 0; from < entries.length; from += this.#pageEvents) {
        const some = entries.slice(from, from + this.#pageEvents).map(({ entry }) => entry);
        for (const difference of await compare(query, table, some)) found.set(difference.entry, difference.found);
      }
      for (const { key, entry } of entries) if (!found.has(entry)) late.delete(key);
      probes.push({
        ...{
          table,
          position: checkpoints.get(kept[table].checkpoint)?.standsFor ?? -1n,
          count: await countRows(query, table, scope),
        },
        differing: entries.filter(({ entry }) => found.has(entry)),
        found: [...found.values()].filter((row) => row !== null),
      });
    }
    return probes;
  }

  /** The log has been read up to the probe's position. */
  async #requireSame({ table, count, differing, found }: Probe): Promise<void> {
    const { rows } = this.replay;
    const { query } = this.#following.books;
    const entries = differing.map(({ key, entry }) => rows.late.get(key) ?? rows.early.get(key) ?? entry);
    for (const difference of await compare(query, table, entries, found)) refuse(difference);
    for (const { key, entry } of differing) if (rows.late.get(key) === entry) rows.late.delete(key);
    const { period } = this.#following.scope ?? {};
    // A key of one period may be taken over in another, and an account has a head and no period.
    if (period !== undefined && ['idempotency_keys', 'account_heads'].includes(table)) return;
    if (count !== undefined && count !== rows.count(table, period)) await this.#nameSurplus(table, count);
  }

  /** Slow, and only where something is wrong: the row that comes from nowhere in the log. */
  async #nameSurplus(table: Table, count: number): Promise<never> {
    const { log, books, scope = {} } = this.#following;
    const expected = this.replay.rows.count(table, scope.period);
    for (const at of await listOrigins(books.query, table, scope)) {
      const [event] = await log.read(at.stream, at.revision, 1);
      if (event?.revision !== at.revision)
        throw new Divergence(at, table, 'no row', 'one whose event is not in the log');
    }
    throw new Divergence({ stream: table, revision: count }, 'rows', expected, count);
  }

  async #readTo(upTo: bigint, target: bigint): Promise<void> {
    const { accountId } = this.#following.scope ?? {};
    if (accountId !== undefined) return this.#readAccount(accountId, upTo);
    while (this.#position < upTo) {
      const startedMs = performance.now();
      while (this.#index < this.#page.length) {
        const event = this.#page[this.#index];
        if (!event || event.position > upTo) return;
        await this.#apply(event);
        this.#index += 1;
      }
      if (this.replay.rows.early.size >= this.#pageEvents) await this.#compareEarly();
      const { progress, rest } = this.#following;
      progress?.({ events: this.replay.events, position: this.#position, target });
      await rest?.(performance.now() - startedMs);
      if (!(await this.#turnPage())) return;
    }
  }

  /** Stream by stream: what came before in the log is read before. */
  async #readAccount(accountId: string, upTo: bigint): Promise<void> {
    const { accounts, periods, jobs, invoices } = this.replay;
    const read = async (streams: readonly { stream: string; revision: number }[]) => {
      for (let from = 0; from < streams.length; from += streamsAtOnce) {
        const reading = streams
          .slice(from, from + streamsAtOnce)
          .map(({ stream, revision }) => this.#following.log.read(stream, revision + 1));
        for (const events of await Promise.all(reading))
          for (const event of events) if (event.position <= upTo) await this.replay.apply(event);
      }
    };
    await read([accounts.get(accountId) ?? { stream: `account-${accountId}`, revision: -1 }]);
    const account = accounts.get(accountId);
    if (!account) throw new NotVerifiable(`there is no account ${accountId}`);
    await read([...periods.values()]);
    for (let next = account.next; next; next = account.next) {
      const stream = usageStream(accountId, next.period_start);
      await read([{ stream, revision: -1 }]);
      if (!periods.has(stream)) break;
    }
    await read([...jobs.values()].filter(({ status, expired }) => status !== 'failed' && !expired));
    await read([invoices.get(accountId) ?? { stream: `invoices-${accountId}`, revision: -1 }]);
    this.#position = upTo;
  }

  async #apply(event: RecordedEvent): Promise<void> {
    await this.replay.apply(event);
    this.#position = event.position;
  }

  /** The page after the next is asked for while the next is checked. @returns false at the end of the log */
  async #turnPage(): Promise<boolean> {
    const { log } = this.#following;
    const pageEvents = this.#pageEvents;
    const next = this.#next ?? log.readAll(this.#page.at(-1)?.position ?? this.#position, pageEvents);
    this.#next = undefined;
    const page = await next;
    if (page.length === 0) return false;
    [this.#page, this.#index] = [page, 0];
    if (page.length === pageEvents) {
      this.#next = log.readAll(page.at(-1)?.position ?? -1n, pageEvents);
      this.#next.catch(() => undefined);
    }
    return true;
  }

  /** Rows that are probably final, while the log is read on; one batch at a time. */
  async #compareEarly(): Promise<void> {
    await this.#compared();
    const batch = new Map(this.replay.rows.early);
    this.replay.rows.early.clear();
    this.#comparing = this.#compareBatch(batch).catch((error: unknown) => {
      // What came since about a row stands for it; the rest is compared again, if it is tried again.
      for (const [key, entry] of batch) if (!this.#isNewer(key)) this.replay.rows.late.set(key, entry);
      throw error;
    });
    this.#comparing.catch(() => undefined);
  }

  /** The batch under way, whose failure is told once. */
  async #compared(): Promise<void> {
    const comparing = this.#comparing;
    this.#comparing = Promise.resolve();
    await comparing;
  }

  #isNewer(key: string): boolean {
    return this.replay.rows.early.has(key) || this.replay.rows.late.has(key);
  }

  async #compareBatch(batch: ReadonlyMap<string, Entry>): Promise<void> {
    const { query } = this.#following.books;
    const byTable = Map.groupBy(batch, ([, { table }]) => table);
    // First those whose rows never change: what is wrong in them says more than that another read model is behind.
    const inOrder = [...byTable].sort(([one], [other]) => Number(isFixed(other)) - Number(isFixed(one)));
    for (const [table, entries] of inOrder) {
      const newest = entries.reduce((position, [, { at }]) => (at.position > position ? at.position : position), 0n);
      await this.#reach(kept[table].checkpoint, newest);
      const rows = entries.map(([, entry]) => entry);
      const differences = await compare(query, table, rows);
      for (const difference of differences) if (isFixed(table)) refuse(difference);
      const differing = new Set(differences.map(({ entry }) => entry));
      for (const [key, entry] of entries) {
        if (this.#isNewer(key)) continue;
        if (differing.has(entry)) this.replay.rows.late.set(key, entry);
        else if (this.#following.scope?.accountId === undefined) entry.forget?.();
      }
    }
  }

  async #reach(checkpoint: string, position: bigint): Promise<void> {
    const deadlineMs = performance.now() + (this.#following.patienceMs ?? 30_000);
    while ((this.#checkpoints.get(checkpoint) ?? -1n) < position) {
      for (const [name, { upTo }] of await readCheckpoints(this.#following.books.query))
        this.#checkpoints.set(name, upTo);
      if ((this.#checkpoints.get(checkpoint) ?? -1n) >= position) return;
      if (performance.now() > deadlineMs) {
        throw new NotVerifiable(
          `the read model ${checkpoint} has not come as far as the log: see "projections status", then try again`,
        );
      }
      await sleep(lookAgainMs);
    }
  }
}
