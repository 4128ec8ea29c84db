import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Pool } from 'pg';
import { canonicalJson } from '../commands/unbroken-chain.ts';
import type { Random } from './random.ts';

/** One lie that was told: what was done, and to which stream or row. */
export interface Lie {
  kind: string;
  where: string;
}

interface Row {
  position: number;
  stream_key: number;
  name: string;
  revision: number;
  id: string;
  type: string;
  data: Uint8Array;
  metadata: Uint8Array;
}

type Tamper = (log: ForgedLog, random: Random) => Lie | undefined;

/** The embedded log's own file, opened by somebody who means no good. */
class ForgedLog {
  readonly database: DatabaseSync;
  readonly rows: Row[];

  constructor(database: DatabaseSync) {
    this.database = database;
    const sql =
      'select position, stream_key, name, revision, id, type, data, metadata from events join streams using (stream_key)';
    this.rows = database.prepare(`${sql} order by position`).all() as unknown as Row[];
  }

  ofStream(key: number): Row[] {
    return this.rows.filter((row) => row.stream_key === key).sort((one, other) => one.revision - other.revision);
  }

  write(position: number, changed: Partial<Pick<Row, 'id' | 'type' | 'data' | 'metadata'>>): void {
    for (const [column, value] of Object.entries(changed))
      this.database.prepare(`update events set ${column} = ? where position = ?`).run(value, position);
  }

  run(sql: string, ...values: (number | string | Uint8Array)[]): void {
    this.database.prepare(sql).run(...values);
  }

  setEnd(key: number): void {
    this.run(
      `update streams set last_revision = coalesce((select max(revision) from events e where e.stream_key = streams.stream_key), -1)
       where stream_key = ?`,
      key,
    );
  }

  /** Makes the hashes of a stream right again, from its first event to its last. */
  rechain(key: number): void {
    const rows = new ForgedLog(this.database).ofStream(key);
    let previous = hash('sha256', rows[0]?.name ?? '');
    for (const { position, name: stream, revision, id, type, data, metadata } of rows) {
      const { hash: _old, ...unchained } = JSON.parse(textOf(metadata)) as Record<string, unknown>;
      const link = canonicalJson({
        stream,
        revision,
        id,
        type,
        data: JSON.parse(textOf(data)) as unknown,
        metadata: unchained,
      });
      previous = hash('sha256', Buffer.concat([Buffer.from(previous, 'hex'), Buffer.from(link)]));
      this.write(position, { metadata: bytesOf({ ...unchained, hash: previous }) });
    }
  }

  /** Puts an event into a stream, behind one of its events, in the order of the whole log too. */
  insert({ position, stream_key: key, revision }: Row, event: Pick<Row, 'id' | 'type' | 'data' | 'metadata'>): void {
    // Ascending keys are unique at every step: by way of negative ones.
    this.run('update events set position = -position - 1 where position > ?', position);
    this.run('update events set position = -position where position < 0');
    this.run('update events set revision = -revision - 2 where stream_key = ? and revision > ?', key, revision);
    this.run('update events set revision = -revision - 1 where stream_key = ? and revision < 0', key);
    this.run(
      `insert into events (position, stream_key, revision, id, type, content_type, data, metadata, created_ms)
       values (?, ?, ?, ?, ?, 'application/json', ?, ?, 0)`,
      ...[position + 1, key, revision + 1, event.id, event.type, event.data, event.metadata],
    );
    this.setEnd(key);
  }
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));

/** An amount, a count or an ordinal of an event's data, one more or less. */
function withAnotherNumber({ data }: Row, random: Random): Uint8Array | undefined {
  const fields = JSON.parse(textOf(data)) as Record<string, unknown>;
  const names = Object.keys(fields).filter((name) => typeof fields[name] === 'number');
  if (names.length === 0) return undefined;
  const name = random.pick(names);
  return bytesOf({ ...fields, [name]: (fields[name] as number) + random.pick([-1, 1]) });
}

function flipBit(bytes: Uint8Array, random: Random): Uint8Array {
  const flipped = Uint8Array.from(bytes);
  const at = random.below(flipped.length);
  flipped[at] = (flipped[at] ?? 0) ^ (1 << random.below(8));
  return flipped;
}

function anotherCharacter(text: string, random: Random): string {
  const at = random.below(text.length);
  const characters = Array.from('0123456789abcdefACKx-_').filter((character) => character !== text[at]);
  return text.slice(0, at) + random.pick(characters) + text.slice(at + 1);
}

/** Whether a reader would see any difference. */
function differs(one: Uint8Array, other: Uint8Array): boolean {
  try {
    return canonicalJson(JSON.parse(textOf(one))) !== canonicalJson(JSON.parse(textOf(other)));
  } catch {
    return true;
  }
}

const flip =
  (column: 'data' | 'metadata'): Tamper =>
  (log, random) => {
    const row = random.pick(log.rows);
    const flipped = flipBit(row[column], random);
    if (!differs(row[column], flipped)) return undefined;
    log.write(row.position, { [column]: flipped });
    return { kind: `a bit of ${column}`, where: row.name };
  };

const anothers =
  (column: 'id' | 'type'): Tamper =>
  (log, random) => {
    const row = random.pick(log.rows);
    log.write(row.position, { [column]: anotherCharacter(row[column], random) });
    return { kind: `a character of the ${column}`, where: row.name };
  };

const logTampers: Tamper[] = [
  (log, random) => {
    const row = random.pick(log.rows);
    const data = withAnotherNumber(row, random);
    if (!data) return undefined;
    log.write(row.position, { data });
    return { kind: 'a number', where: row.name };
  },
  (log, random) => {
    const row = random.pick(log.rows);
    const data = withAnotherNumber(row, random);
    if (!data) return undefined;
    log.write(row.position, { data });
    log.rechain(row.stream_key);
    return { kind: 'a number, and the chain made right again', where: row.name };
  },
  flip('data'),
  flip('metadata'),
  anothers('id'),
  anothers('type'),
  (log, random) => {
    const { stream_key: key, name } = random.pick(log.rows);
    const other = anotherCharacter(name, random);
    if (log.rows.some((row) => row.name === other)) return undefined;
    log.run('update streams set name = ? where stream_key = ?', other, key);
    return { kind: "a character of the stream's name", where: name };
  },
  (log, random) => {
    const [one, other] = [random.pick(log.rows), random.pick(log.rows)];
    if (one === other) return undefined;
    for (const [to, { id, type, data, metadata }] of [
      [one, other],
      [other, one],
    ] as const)
      log.write(to.position, { id, type, data, metadata });
    return { kind: 'two events swapped', where: one.name };
  },
  (log, random) => {
    const one = random.pick(log.rows);
    const other = log.ofStream(one.stream_key)[one.revision + 1];
    if (!other) return undefined;
    for (const [to, { id, type, data, metadata }] of [
      [one, other],
      [other, one],
    ] as const)
      log.write(to.position, { id, type, data, metadata });
    log.rechain(one.stream_key);
    return { kind: 'two neighbours swapped, and the chain made right again', where: one.name };
  },
  (log, random) => {
    const { position, stream_key: key, name } = random.pick(log.rows);
    log.run('delete from events where position = ?', position);
    log.setEnd(key);
    return { kind: 'an event deleted', where: name };
  },
  (log, random) => {
    const { stream_key: key, revision, name } = random.pick(log.rows);
    log.run('delete from events where stream_key = ? and revision >= ?', key, revision);
    log.setEnd(key);
    return { kind: 'a tail cut', where: name };
  },
  (log, random) => {
    const { stream_key: key, name } = random.pick(log.rows);
    log.run('delete from events where stream_key = ?', key);
    log.run('delete from streams where stream_key = ?', key);
    return { kind: 'a stream deleted', where: name };
  },
  (log, random) => {
    const row = random.pick(log.rows.slice(0, -1));
    const { data, type } = random.pick(log.rows.filter(({ name }) => name.split('-')[0] === row.name.split('-')[0]));
    log.insert(row, { id: random.uuid(), type, data, metadata: row.metadata });
    return { kind: 'an event inserted', where: row.name };
  },
  (log, random) => {
    const row = random.pick(log.rows.slice(0, -1));
    const { data, type } = random.pick(log.rows.filter(({ name }) => name.split('-')[0] === row.name.split('-')[0]));
    log.insert(row, { id: random.uuid(), type, data, metadata: row.metadata });
    log.rechain(row.stream_key);
    return { kind: 'an event inserted, and the chain made right again', where: row.name };
  },
  (log, random) => {
    const { stream_key: key } = random.pick(log.rows);
    const last = log.ofStream(key).at(-1);
    // Behind everything else it would be an event like any other that is not projected yet.
    if (!last || last.position === log.rows.at(-1)?.position) return undefined;
    log.insert(last, { ...last, id: random.uuid() });
    log.rechain(key);
    return { kind: 'an event at the end, and the chain made right again', where: last.name };
  },
];

/** Changes something in a log. @returns what it was */
export function tamperWithLog(database: DatabaseSync, random: Random): Lie {
  const log = new ForgedLog(database);
  for (;;) {
    const lie = random.pick(logTampers)(log, random);
    if (lie) return lie;
  }
}

interface LedgerRow extends Record<string, unknown> {
  event_id: string;
  stream: string;
}

/** Changes, deletes or inserts a row of the ledger. @returns what it was, and how to make it as it was before */
export async function tamperWithLedger(pool: Pool, random: Random): Promise<Lie & { restore: () => Promise<void> }> {
  const { rows } = await pool.query<{ row: LedgerRow }>(
    'select to_jsonb(l) as row from overage_ledger l order by stream, revision',
  );
  const { row } = random.pick(rows);
  const put = async (changed: Record<string, unknown>) => {
    const sql = 'insert into overage_ledger select * from jsonb_populate_record(null::overage_ledger, $1)';
    await pool.query(sql, [changed]);
  };
  const remove = async (id: unknown) => {
    await pool.query('delete from overage_ledger where event_id = $1', [id]);
  };
  const what = random.below(4);
  if (what === 0) {
    await remove(row.event_id);
    return { kind: 'a ledger row deleted', where: row.stream, restore: () => put(row) };
  }
  if (what === 1) {
    const forged = { ...row, event_id: random.uuid(), revision: 100_000 + random.below(1_000) };
    await put(forged);
    return { kind: 'a ledger row inserted', where: row.stream, restore: () => remove(forged.event_id) };
  }
  const others: Record<string, unknown> = {
    cents: (row['cents'] as number) + random.pick([-1, 1]),
    request_id: `${String(row['request_id'])}x`,
    actor: { type: 'system', id: 'nobody' },
    time: '2026-02-03T04:05:06.007Z',
    position: 123_456,
    account_id: `acc_${random.hex(20)}`,
    period_start: '2020-01-01T00:00:00Z',
    ...(row['token'] !== null && { token: random.hex(24) }),
    ...(row['rate_cents'] !== null && { rate_cents: 1, rate_version: 'forged' }),
    ...(row['ordinal'] !== null && { ordinal: (row['ordinal'] as number) + 1 }),
    ...(row['reference'] !== null && { reference: 'forged' }),
  };
  const column = random.pick(Object.keys(others));
  await remove(row.event_id);
  await put({ ...row, [column]: others[column] });
  return {
    ...{ kind: 'a ledger row changed', where: row.stream },
    restore: async () => {
      await remove(row.event_id);
      await put(row);
    },
  };
}
