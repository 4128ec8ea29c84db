import { pMapIterable } from 'p-map';
import type { Log, RecordedEvent } from '../rules/audited-log.ts';
import { Divergences, type Facts, nameOf } from '../rules/divergence.ts';
import { Replay } from '../rules/replay.ts';
import { accountOf, acknowledgementsStream, usageStream } from '../rules/streams.ts';
import { Comparison, type ReadModelQueries, withinReach } from './comparison.ts';
import { ExpectedRows } from './expected-rows.ts';
import { kept, type Scope } from './rows.ts';
import { RowsOfEvents } from './rows-of-events.ts';
import { RowsOfProofs } from './rows-of-proofs.ts';
import { RowsOfStaff } from './rows-of-staff.ts';

/** The read models cannot be verified: one of them is behind, or the log or Postgres is unreachable. */
export class NotVerifiable extends Error {
  override readonly name = 'NotVerifiable';
}

export interface VerifierOptions {
  log: Log;
  queries: ReadModelQueries;
  /** The part to verify; default: everything. */
  scope?: Scope;
  /** The clock of business time, to find what is overdue. Default: the time of the newest event. */
  now?: () => string;
  /** How long something must be missing before it is reported, by the process's clock: the service may be about to write it. */
  missingForMs?: number;
  /** The time that a read model has to reach the position up to which the log was read. Default 30 s. */
  readModelTimeoutMs?: number;
  /** Events to read, and rows to compare, at a time. Default 2 000. */
  pageEvents?: number;
  /** Told after each page. */
  progress?: (progress: { events: number; position: bigint; target: bigint }) => void;
  /** Ends the wait for read models: `catchUp` then throws an AbortError. */
  signal?: AbortSignal;
  /** Called after each page with the time that it took, so that a background verifier can pause. */
  rest?: (tookMs: number) => Promise<void>;
}

const streamsAtOnce = 32;

/**
 * Reads the log once, in order, and compares Postgres with it: final rows meanwhile, all others at the end. The log may grow
 * meanwhile. A row that differs may reflect a later position of the log, and is compared again at that position. After a
 * divergence the audit goes on.
 */
export class Verifier {
  readonly replay: Replay;
  readonly divergences: Divergences;
  readonly #options: VerifierOptions;
  readonly #rows: ExpectedRows;
  readonly #staffRows: RowsOfStaff;
  readonly #proofRows: RowsOfProofs;
  readonly #comparison: Comparison;
  readonly #pageEvents: number;
  readonly #missingSinceMs = new Map<string, number>();
  #isUsable = true;
  #position = -1n;
  #page: RecordedEvent[] = [];
  #index = 0;
  #next: Promise<RecordedEvent[]> | undefined;

  /** @param acknowledged names of divergences that were examined: see `readAcknowledged` */
  constructor(options: VerifierOptions, acknowledged: ReadonlySet<string> = new Set()) {
    this.#options = options;
    this.#pageEvents = options.pageEvents ?? 2_000;
    this.divergences = new Divergences(acknowledged);
    const { report } = this.divergences;
    const { accountId } = options.scope ?? {};
    const rows = new ExpectedRows((table) => accountId !== undefined && kept[table].isOfAll === true);
    this.#rows = rows;
    this.#staffRows = new RowsOfStaff(rows);
    this.#proofRows = new RowsOfProofs(rows);
    this.replay = new Replay(
      (stream, from, maxCount) => this.#read(stream, from, maxCount),
      report,
      (replay) => new RowsOfEvents(replay, rows),
    );
    this.#comparison = new Comparison({
      queries: options.queries,
      replay: this.replay,
      rows,
      report,
      scope: options.scope ?? {},
      pageRows: this.#pageEvents,
      readModelTimeoutMs: options.readModelTimeoutMs ?? 30_000,
      signal: options.signal,
      readAgain: (named) => this.#readAgain(named),
    });
  }

  /** Commit position up to which everything was verified; -1 before the first event. */
  get position(): bigint {
    return this.#position;
  }

  /**
   * Verifies everything up to now, and adds to `divergences`.
   *
   * @throws {NotVerifiable} when a read model does not reach the end of the log in time
   * @throws what log and Postgres throw; unless `isUsable` is false then, it may be called again
   */
  async catchUp(): Promise<void> {
    if (!this.#isUsable) throw new Error('an event was taken in part: verify from the start');
    await this.#comparison.checkTables();
    const head = (await this.#options.log.headPosition()) ?? -1n;
    await this.#readTo(head, head);
    this.#requirePeriod();
    const behind = await this.#comparison.reachAll();
    const isBehind = behind.length > 0;
    if (!isBehind) await this.#requireComplete();
    const snapshots = await this.#comparison.snapshots();
    for (const snapshot of snapshots) {
      await this.#readTo(snapshot.position, snapshot.position);
      // The rows of a read model that is behind must be right up to its own position.
      await this.#comparison.requireSame(isBehind ? withinReach(snapshot) : snapshot);
    }
    // Events of other systems, which are not read here, may follow our last one.
    const end = (await this.#options.log.headPosition()) ?? -1n;
    const ahead = snapshots.findLast(({ position }) => position > end);
    if (ahead) {
      this.divergences.report({
        rule: 'log_end',
        account_id: null,
        stream: '$all',
        revision: Number(end),
        field: 'position',
        expected: `at least ${String(ahead.position)}, which ${ahead.table} stands for`,
        found: 'the end of the log',
      });
    }
    if (isBehind) {
      const names = behind.join(', ');
      throw new NotVerifiable(
        `the read model ${names} has not come as far as the log: see "projections status", then try again`,
      );
    }
  }

  /** False once an event was taken in part: its failure says nothing about the log, and the same event again would be a divergence. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  async #apply(event: RecordedEvent): Promise<void> {
    this.#isUsable = false;
    await this.replay.apply(event);
    this.#staffRows.apply(event);
    this.#proofRows.apply(event);
    this.#isUsable = true;
  }

  #requirePeriod(): void {
    const { period } = this.#options.scope ?? {};
    if (period !== undefined && this.#rows.count('credits', period) === 0)
      throw new NotVerifiable(`no billing period starts on ${period}`);
  }

  async #requireComplete(): Promise<void> {
    const { now, missingForMs = 0 } = this.#options;
    const { completeness, newestTime } = this.replay;
    const at = now?.() ?? newestTime;
    const isSettled = (what: string) => {
      const sinceMs = this.#missingSinceMs.get(what) ?? performance.now();
      this.#missingSinceMs.set(what, sinceMs);
      return performance.now() - sinceMs >= missingForMs;
    };
    await completeness.check(at > newestTime ? at : newestTime, this.#position, isSettled);
  }

  async #readTo(upTo: bigint, target: bigint): Promise<void> {
    const { accountId } = this.#options.scope ?? {};
    if (accountId !== undefined) return this.#readAccount(accountId, upTo);
    while (this.#position < upTo) {
      const startedMs = performance.now();
      while (this.#index < this.#page.length) {
        const event = this.#page[this.#index];
        if (!event || event.position > upTo) return;
        await this.#apply(event);
        this.#position = event.position;
        this.#index += 1;
      }
      if (this.#rows.early.size >= this.#pageEvents) await this.#comparison.early();
      const { progress, rest } = this.#options;
      progress?.({ events: this.replay.events, position: this.#position, target });
      await rest?.(performance.now() - startedMs);
      if (!(await this.#turnPage())) return;
    }
  }

  /** Reads the streams of one account, so that events that others depend on are read first. */
  async #readAccount(accountId: string, upTo: bigint): Promise<void> {
    const { accounts, periods, jobs, invoices } = this.replay;
    const read = async (streams: readonly { stream: string; revision: number }[]) => {
      for await (const events of this.#readStreams(streams))
        for (const event of events) if (event.position <= upTo) await this.#apply(event);
    };
    const withMetadata = ({ stream, revision }: { stream: string; revision: number }) => [
      { stream: `$$${stream}`, revision: -1 },
      { stream, revision },
    ];
    await read(withMetadata(accounts.get(accountId) ?? { stream: `account-${accountId}`, revision: -1 }));
    const account = accounts.get(accountId);
    if (!account) {
      // Its stream may exist, and be hidden from readers.
      await this.#requireComplete();
      throw new NotVerifiable(`there is no account ${accountId}`);
    }
    await read([...periods.values()].flatMap(withMetadata));
    for (let next = account.next; next; next = account.next) {
      const stream = usageStream(accountId, next.period_start);
      await read(withMetadata({ stream, revision: -1 }));
      // The stream does not exist, or its opening cannot be read.
      if (account.next === next) break;
    }
    await read([...jobs.values()].filter(({ status, expired }) => status !== 'failed' && !expired));
    await read(withMetadata(invoices.get(accountId) ?? { stream: `invoices-${accountId}`, revision: -1 }));
    await read(withMetadata({ stream: `corrections-${accountId}`, revision: this.#staffRows.revisionOf(accountId) }));
    this.#position = upTo;
  }

  /** Reads a stream. One that was deleted for good is reported, and has no events. */
  async #read(stream: string, from: number, maxCount?: number): Promise<RecordedEvent[]> {
    return this.#options.log.read(stream, from, maxCount).catch((error: unknown) => {
      if ((Object(error) as { type?: unknown }).type !== 'stream-deleted') throw error;
      this.replay.completeness.reportDeleted(stream);
      return [];
    });
  }

  /** Reads streams from behind a revision on, several at a time. */
  async *#readStreams(
    streams: readonly { stream: string; revision: number }[],
  ): AsyncIterable<readonly RecordedEvent[]> {
    const read = ({ stream, revision }: { stream: string; revision: number }) => this.#read(stream, revision + 1);
    yield* pMapIterable(streams, read, { concurrency: streamsAtOnce });
  }

  /**
   * Reads everything in scope once more, to the current end of the log.
   *
   * @param named streams that rows come from: they may be newer than what was read of an account
   */
  async *#readAgain(named: readonly string[]): AsyncIterable<readonly RecordedEvent[]> {
    const { log, scope = {} } = this.#options;
    if (scope.accountId !== undefined) {
      const { accounts, periods, jobs, invoices } = this.replay;
      const chains = [accounts, periods, jobs, invoices].flatMap((kind): { stream: string }[] => [...kind.values()]);
      const ours = named.filter((stream) => accountOf(stream) === scope.accountId);
      const streams = new Set([...chains.map(({ stream }) => stream), `corrections-${scope.accountId}`, ...ours]);
      yield* this.#readStreams([...streams].map((stream) => ({ stream, revision: -1 })));
      return;
    }
    let page = await log.readAll(-1n, this.#pageEvents);
    while (page.length > 0) {
      yield page;
      page = await log.readAll(page.at(-1)?.position ?? -1n, this.#pageEvents);
    }
  }

  /** Begins to read the page after the next, while the next is checked. @returns false at the end of the log */
  async #turnPage(): Promise<boolean> {
    const { log } = this.#options;
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
}

/** @returns the names of all divergences that were acknowledged, for the verifier */
export async function readAcknowledged(log: Pick<Log, 'read'>): Promise<ReadonlySet<string>> {
  const events = await log.read(acknowledgementsStream, 0);
  const known = events.filter(({ type }) => type === 'DivergenceAcknowledged');
  return new Set(known.map(({ data }) => nameOf(data as Facts)));
}
