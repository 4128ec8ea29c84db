import type { EventStore, RecordedEvent } from '../commands/ports.ts';
import { Audit } from '../audit/audit.ts';
import { Period } from '../audit/period.ts';
import { Divergence } from './divergence.ts';

export const tables = ['overage_ledger', 'credits', 'jobs', 'idempotency_keys', 'account_heads', 'invoices'] as const;
export type Table = (typeof tables)[number];

interface At {
  stream: string;
  revision: number;
  /** Commit position of the log. */
  position: bigint;
}

/** A row that must stand in Postgres, as the rules have it. */
export interface Row {
  table: Table;
  key: string;
  /** The event or the stream that it stands for. */
  of: At;
  columns: Readonly<Record<string, unknown>>;
  /** There was no such row before. */
  isNew?: boolean;
  /** It is as it will remain. Default true. */
  isFinal?: boolean;
}

/** The same, where in the log it was when it was expected. */
export interface Entry extends Pick<Row, 'table' | 'key' | 'columns'> {
  at: At;
}

/** Puts the events of a log before the rules, and keeps what they say that Postgres must hold until it is compared. */
export class Expected {
  readonly audit = new Audit();
  readonly periods = new Map<string, Period>();
  /** Rows to be compared, by table and key: those that are probably final, and those that will change. */
  readonly early = new Map<string, Entry>();
  readonly late = new Map<string, Entry>();
  /** Rows that there must be. */
  readonly rows = Object.fromEntries(tables.map((table) => [table, 0])) as Record<Table, number>;
  events = 0;
  readonly #read: EventStore['read'];

  /** @param read of the log: what is finished is forgotten, and read again where something still comes of it */
  constructor(read: EventStore['read']) {
    this.#read = read;
  }

  /** @throws {Divergence} */
  async apply(event: RecordedEvent): Promise<void> {
    const { stream } = event;
    const kind = stream.slice(0, stream.indexOf('-'));
    const owner = stream.slice(kind.length + 1);
    let rows: Row[];
    if (kind === 'usage') rows = this.audit.usage(event, await this.#periodOf(event));
    else if (kind === 'job') rows = this.audit.job(event, owner);
    else if (kind === 'account') rows = this.audit.account(event, owner);
    else if (kind === 'invoices')
      rows = await this.audit.invoice(event, owner, (name, before) => this.#periodAt(name, before));
    else return;
    for (const row of rows) this.#expect(row);
    this.events += 1;
  }

  /** @throws {Divergence} where a stream ends in the middle of an append */
  requireWhole(): void {
    for (const { at } of this.late.values()) {
      const period = this.periods.get(at.stream);
      const [missing] = period?.awaited ?? [];
      if (missing) throw new Divergence({ ...at, revision: at.revision + 1 }, 'type', missing.type, 'nothing');
    }
  }

  /** Lets go of what a row that can change no more was computed from. */
  forget({ table, key }: Entry): void {
    if (table === 'jobs') this.audit.jobs.delete(key);
    const period = table === 'credits' ? this.periods.get(key) : undefined;
    if (!period) return;
    const holders = this.audit.accounts.get(period.opened.data.account_id)?.idempotencyKeys;
    for (const charge of period.charges.values()) {
      // Who takes a voided one takes over a row that is there.
      if (charge.key && !charge.voided && holders?.get(charge.key.key_hash) === charge)
        holders.delete(charge.key.key_hash);
    }
    this.periods.delete(key);
  }

  #expect({ of: { stream, revision, position }, isNew = false, isFinal = true, ...row }: Row): void {
    const [into, outOf] = isFinal ? [this.early, this.late] : [this.late, this.early];
    const name = `${row.table} ${row.key}`;
    into.set(name, { table: row.table, key: row.key, columns: row.columns, at: { stream, revision, position } });
    outOf.delete(name);
    if (isNew) this.rows[row.table] += 1;
  }

  async #periodOf(event: RecordedEvent): Promise<Period> {
    const known = event.revision === 0 ? this.periods.get(event.stream) : await this.#periodAt(event.stream, event);
    const period = known ?? new Period(event.stream);
    this.periods.set(event.stream, period);
    return period;
  }

  /** A period as it was before an event, read again where it was forgotten. @returns undefined if there was none */
  async #periodAt(stream: string, { position }: Pick<RecordedEvent, 'position'>): Promise<Period | undefined> {
    const known = this.periods.get(stream);
    if (known) return known;
    const period = new Period(stream);
    for (const earlier of await this.#read(stream, 0)) if (earlier.position < position) period.apply(earlier);
    if (period.revision < 0) return undefined;
    this.periods.set(stream, period);
    return period;
  }
}
