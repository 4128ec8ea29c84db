import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { canonicalJson } from '../commands/unbroken-chain.ts';

export interface Row {
  position: number;
  stream_key: number;
  name: string;
  revision: number;
  id: string;
  type: string;
  data: Uint8Array;
  metadata: Uint8Array;
}

/** The embedded log's own file, opened by somebody who means no good. */
export class ForgedLog {
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

  /** Takes an event out of its stream, and moves up those behind it. */
  remove({ position, stream_key: key, revision }: Row): void {
    this.run('delete from events where position = ?', position);
    this.run('update events set revision = -revision where stream_key = ? and revision > ?', key, revision);
    this.run('update events set revision = -revision - 1 where stream_key = ? and revision < 0', key);
    this.setEnd(key);
  }

  removeStream(key: number): void {
    this.run('delete from events where stream_key = ?', key);
    this.run('delete from streams where stream_key = ?', key);
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

export const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');
export const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));
