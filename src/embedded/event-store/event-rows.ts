/**
 * Writes and reads the events table. Pages are bounded by count and by size, so that neither long streams nor large events fill
 * the memory.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite';

export interface NewEvent {
  id: string;
  type: string;
  contentType: string;
  data: Uint8Array;
  metadata: Uint8Array;
}

export interface StoredEvent extends NewEvent {
  position: bigint;
  stream: string;
  revision: bigint;
  createdMs: bigint;
}

export type Direction = 'forwards' | 'backwards';

/** Bounds are inclusive. */
export interface Range {
  from: bigint;
  to: bigint;
  /** How many events are wanted of it. */
  atMost?: number;
}

/** The first events of a range. */
export interface Page {
  events: StoredEvent[];
  /** Nothing is left in the range. */
  isLast: boolean;
}

const pageEvents = 256;
const pageBytes = 1024 * 1024;

const COLUMNS = `position, name AS stream, revision, id, type, content_type AS contentType, data, metadata,
  created_ms AS createdMs FROM events JOIN streams USING (stream_key)`;

export class EventRows {
  readonly #insert: StatementSync;
  readonly #head: StatementSync;
  readonly #idAt: StatementSync;
  readonly #ofStream: Record<Direction, StatementSync>;
  readonly #ofAll: Record<Direction, StatementSync>;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      `INSERT INTO events (stream_key, revision, id, type, content_type, data, metadata, created_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insert.setReadBigInts(true);
    this.#head = database.prepare('SELECT max(position) AS position FROM events');
    this.#head.setReadBigInts(true);
    this.#idAt = database.prepare('SELECT id, position FROM events WHERE stream_key = ? AND revision = ?');
    this.#idAt.setReadBigInts(true);
    const ofStream = `SELECT ${COLUMNS}
      WHERE stream_key = ? AND revision BETWEEN ? AND ? AND created_ms >= ? ORDER BY revision`;
    const ofAll = `SELECT ${COLUMNS} WHERE position BETWEEN ? AND ? ORDER BY position`;
    this.#ofStream = { forwards: database.prepare(`${ofStream} ASC`), backwards: database.prepare(`${ofStream} DESC`) };
    this.#ofAll = { forwards: database.prepare(`${ofAll} ASC`), backwards: database.prepare(`${ofAll} DESC`) };
    for (const statement of [...Object.values(this.#ofStream), ...Object.values(this.#ofAll)]) {
      statement.setReadBigInts(true);
    }
  }

  /** Position of the new event; positions rise with every event and are never given twice. */
  insert(streamKey: number, revision: bigint, event: NewEvent, createdMs: number): bigint {
    const { id, type, contentType, data, metadata } = event;
    const result = this.#insert.run(streamKey, revision, id, type, contentType, data, metadata, createdMs);
    return BigInt(result.lastInsertRowid);
  }

  /** Position of the newest event, 0 while there is none. */
  headPosition(): bigint {
    return (this.#head.get() as { position: bigint | null }).position ?? 0n;
  }

  at(streamKey: number, revision: bigint): { id: string; position: bigint } | undefined {
    return this.#idAt.get(streamKey, revision) as { id: string; position: bigint } | undefined;
  }

  pageOfStream(streamKey: number, range: Range, direction: Direction, createdSinceMs: number): Page {
    // A tombstone has the highest revision, so no read can begin behind it.
    if (range.from > range.to) return { events: [], isLast: true };
    return page(this.#ofStream[direction].iterate(streamKey, range.from, range.to, createdSinceMs), range);
  }

  pageOfAll(range: Range, direction: Direction): Page {
    if (range.from > range.to) return { events: [], isLast: true };
    return page(this.#ofAll[direction].iterate(range.from, range.to), range);
  }
}

function page(rows: Iterable<unknown>, { atMost = pageEvents }: Range): Page {
  const events: StoredEvent[] = [];
  let sizeBytes = 0;
  for (const row of rows) {
    const event = row as StoredEvent;
    events.push(event);
    sizeBytes += event.data.length + event.metadata.length;
    if (events.length >= Math.min(atMost, pageEvents) || sizeBytes >= pageBytes) return { events, isLast: false };
  }
  return { events, isLast: true };
}
