import { LRUCache } from 'lru-cache';
import type { PoolClient } from 'pg';
import { until } from '../src/async/until.ts';
import { evolveUsage } from '../src/domain/evolve-usage.ts';
import { type ParsedEvent, parseUsageEvent } from '../src/domain/parse-event.ts';
import type { UsageEvent } from '../src/domain/usage-events.ts';
import { initialUsage, type UsagePeriod, type UsageSnapshot } from '../src/domain/usage-state.ts';
import type { EventStore } from '../src/ports/event-store.ts';
import type { RowMacs } from '../src/ports/row-macs.ts';
import { CreditsMacs, type NotBelieved, notBelieved, type SignedUsage } from './credits-macs.ts';
import type { Queryable } from './runner/rows.ts';
import { upsertRows } from './write-rows.ts';

/** The read model behind GET /credits, from which every decision about usage starts: table `credits`. */

type Written = ReturnType<typeof rowOf>;
type Counted = 'revision' | 'overage_cents' | 'fee_cents' | 'fee_difference_cents';

/** A row as `creditsColumns` selects it. Postgres's bigints come as texts. */
export interface CreditsRow extends Omit<Written, 'plan' | Counted>, Record<Counted, string> {
  mac: string | null;
}

/** The select list of `CreditsRow`. @param alias of the table in the query */
export const creditsColumns = (alias: string) => columns.map((column) => `${alias}.${column}`).join(', ');

/** Index of a column of `CreditsRow` in the select list. */
export const creditsColumnIndex = (name: keyof CreditsRow): number => columns.indexOf(name);

function snapshotFromRow(row: CreditsRow): UsageSnapshot {
  return {
    stream: row.stream,
    revision: Number(row.revision),
    lastHash: row.last_hash,
    lastTime: row.last_time,
    usage: {
      phase: row.phase,
      accountId: row.account_id,
      anchorDay: row.anchor_day,
      period: { start: row.period_start, end: row.period_end },
      terms: row.terms,
      downloads: row.downloads,
      downloadCredits: row.download_credits,
      overageDownloads: row.overage_downloads,
      overageCents: Number(row.overage_cents),
      lookups: row.lookups,
      metadataCredits: row.metadata_credits,
      feeCents: Number(row.fee_cents),
      feeDifferenceCents: Number(row.fee_difference_cents),
      planChanges: row.plan_changes,
      due: row.due,
      warned: row.warned,
      capReached: row.cap_reached,
      keyUse: row.key_use,
      next: row.next,
    },
  };
}

/**
 * The newest period's row of an account.
 *
 * @returns undefined if it has none, and `notBelieved` for a row that this installation has not written
 */
export async function readNewestCredits(
  client: Queryable,
  accountId: string,
  macs: RowMacs,
): Promise<UsageSnapshot | NotBelieved | undefined> {
  const { rows } = await client.query<CreditsRow>(
    `select ${creditsColumns('c')} from credits c where account_id = $1 order by period_start desc limit 1`,
    [accountId],
  );
  return rows[0] && new CreditsMacs(macs).believed(signedUsageOf(rows[0]), accountId);
}

/** Waits until the row of a period has an event of its stream. @returns false when that takes longer than `timeoutMs` */
export const waitForCredits = (
  client: Queryable,
  { stream, revision, timeoutMs }: { stream: string; revision: number; timeoutMs: number },
): Promise<boolean> =>
  until(
    async () => {
      const text = 'select from credits where stream = $1 and revision >= $2';
      return ((await client.query({ text, values: [stream, revision] })).rowCount ?? 0) > 0;
    },
    { limitMs: timeoutMs, pollMs: 20 },
  );

/** The row of one period, with the same results. @param stream its usage stream */
export async function readCredits(
  client: Queryable,
  stream: string,
  macs: RowMacs,
): Promise<UsageSnapshot | NotBelieved | undefined> {
  const [row] = await readRows(client, [stream]);
  return row && new CreditsMacs(macs).believed(signedUsageOf(row), row.account_id);
}

/** The rows of several periods, in any order. This transaction has just written them, so their MACs are not checked. */
export async function readCreditsWritten(client: PoolClient, streams: readonly string[]): Promise<UsageSnapshot[]> {
  return (await readRows(client, streams)).map(snapshotFromRow);
}

async function readRows(client: Queryable, streams: readonly string[]): Promise<CreditsRow[]> {
  const { rows } = await client.query<CreditsRow>(
    `select ${creditsColumns('c')} from credits c where stream = any($1)`,
    [streams],
  );
  return rows;
}

export const signedUsageOf = (row: CreditsRow): SignedUsage => ({
  snapshot: snapshotFromRow(row),
  mac: row.mac,
});

const maxRemembered = 10_000;

/** Folds events into the rows of their streams. */
export class CreditsRows {
  readonly #store: Pick<EventStore, 'read'>;
  readonly #macs: CreditsMacs;
  /**
   * The state that was written last, with its MAC. If the row still has this hash and MAC, the fold goes on from here, and the
   * row's values are neither converted nor checked. They are if the write was not committed or another process has written
   * since.
   */
  readonly #written = new LRUCache<string, SignedUsage>({ max: maxRemembered });

  constructor({ store, macs }: { store: Pick<EventStore, 'read'>; macs: RowMacs }) {
    this.#store = store;
    this.#macs = new CreditsMacs(macs);
  }

  /** @returns the cents of overage of its period directly after each download that was queued, by its token */
  async apply(events: readonly ParsedEvent<UsageEvent>[], client: PoolClient): Promise<ReadonlyMap<string, number>> {
    const rows = await readRows(client, [...new Set(events.map(({ stream }) => stream))]);
    const found = new Map(rows.map((row) => [row.stream, row]));
    const snapshots = new Map<string, UsageSnapshot>();
    const running = new Map<string, number>();
    for (const parsed of events) {
      const { stream, revision, event } = parsed;
      const snapshot = snapshots.get(stream) ?? (await this.#stateBefore(stream, revision, found.get(stream)));
      if (revision !== snapshot.revision + 1) {
        throw new Error(
          `${stream} stands at ${String(snapshot.revision)} in credits, and ${String(revision)} came next`,
        );
      }
      const next = folded(snapshot, parsed);
      snapshots.set(stream, next);
      if (event.type === 'DownloadQueued' && next.usage.phase !== 'absent')
        running.set(event.data.token, next.usage.overageCents);
    }
    await this.#write([...snapshots.values()], client);
    return running;
  }

  /** Replaces a row that is not believed by the fold of the log: folding on from it would sign its content. */
  async #stateBefore(stream: string, revision: number, row: CreditsRow | undefined): Promise<UsageSnapshot> {
    if (!row && revision === 0) return nothingOf(stream);
    // A stream with earlier events has a row, unless the row was deleted or renamed from outside.
    const state = row ? this.#stateOf(row) : this.#macs.believed({ snapshot: nothingOf(stream), mac: null }, stream);
    return state === notBelieved ? await this.#fold(stream, revision) : state;
  }

  #stateOf(row: CreditsRow): UsageSnapshot | NotBelieved {
    const own = this.#written.get(row.stream);
    const isOwn =
      own?.mac === row.mac && own.snapshot.lastHash === row.last_hash && own.snapshot.revision === Number(row.revision);
    return isOwn ? own.snapshot : this.#macs.believed(signedUsageOf(row), row.account_id);
  }

  /** @param before revision of the first event to leave out */
  async #fold(stream: string, before: number): Promise<UsageSnapshot> {
    let snapshot = nothingOf(stream);
    for (const recorded of await this.#store.read(stream, 0, before))
      snapshot = folded(snapshot, parseUsageEvent(recorded));
    return snapshot;
  }

  async #write(snapshots: readonly UsageSnapshot[], client: PoolClient): Promise<void> {
    const rows = snapshots.flatMap((snapshot) => {
      if (snapshot.usage.phase === 'absent') return [];
      const mac = this.#macs.sign(snapshot);
      this.#written.set(snapshot.stream, { snapshot, mac });
      return [{ ...rowOf(snapshot, snapshot.usage), mac }];
    });
    await upsertRows(client, 'credits', { key: ['account_id', 'period_start'], rows });
  }
}

function folded(
  { usage }: UsageSnapshot,
  { stream, revision, event, metadata }: ParsedEvent<UsageEvent>,
): UsageSnapshot {
  const { hash: lastHash, time: lastTime } = metadata;
  return { stream, revision, lastHash, lastTime, usage: evolveUsage(usage, event) };
}

const nothingOf = (stream: string): UsageSnapshot => ({
  stream,
  revision: -1,
  lastHash: '',
  lastTime: '',
  usage: initialUsage,
});

/** The plan is one of the terms. */
const columns = [...Object.keys(rowOf({} as UsageSnapshot, { period: {}, terms: {} } as UsagePeriod)), 'mac'].filter(
  (column) => column !== 'plan',
);

function rowOf({ stream, revision, lastHash, lastTime }: Omit<UsageSnapshot, 'usage'>, usage: UsagePeriod) {
  return {
    account_id: usage.accountId,
    period_start: usage.period.start,
    period_end: usage.period.end,
    stream,
    revision,
    last_hash: lastHash,
    last_time: lastTime,
    phase: usage.phase,
    anchor_day: usage.anchorDay,
    plan: usage.terms.plan,
    terms: usage.terms,
    downloads: usage.downloads,
    download_credits: usage.downloadCredits,
    overage_downloads: usage.overageDownloads,
    overage_cents: usage.overageCents,
    lookups: usage.lookups,
    metadata_credits: usage.metadataCredits,
    fee_cents: usage.feeCents,
    fee_difference_cents: usage.feeDifferenceCents,
    plan_changes: usage.planChanges,
    due: usage.due,
    warned: usage.warned,
    cap_reached: usage.capReached,
    key_use: usage.keyUse,
    next: usage.next,
  };
}
