/**
 * The state of a stream that is known without reading its events: its end, and the events that its metadata hides.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Revision of the event that ends a tombstoned stream: the highest of the protocol. */
export const tombstoneRevision = 2n ** 63n - 1n;

/** A `$tb` of this value or more marks a soft deletion. */
const softDeletedFrom = 2 ** 63 - 1024;

export interface StreamState {
  key: number;
  name: string;
  /** Revision of the last event; −1 if only metadata was written. */
  lastRevision: number;
  isTombstoned: boolean;
  isSoftDeleted: boolean;
  truncateBefore: number;
  maxCount: number | null;
  maxAgeSeconds: number | null;
}

export function metastreamOf(name: string): string {
  return `$$${name}`;
}

/** The stream that a metadata stream describes; undefined for any other stream. */
export function describedBy(metastream: string): string | undefined {
  return metastream.startsWith('$$') ? metastream.slice(2) : undefined;
}

/** The lowest revision that reads may show. */
export function firstVisibleRevision(state: StreamState): number {
  const byCount = state.maxCount === null ? 0 : state.lastRevision - state.maxCount + 1;
  return Math.max(0, state.truncateBefore, byCount);
}

/** SQLite has no booleans. */
type StreamRow = Omit<StreamState, 'isTombstoned' | 'isSoftDeleted'> & { isTombstoned: number; isSoftDeleted: number };

export class StreamStates {
  readonly #select: StatementSync;
  readonly #insert: StatementSync;
  readonly #advance: StatementSync;
  readonly #tombstone: StatementSync;
  readonly #describe: StatementSync;

  constructor(database: DatabaseSync) {
    this.#select = database.prepare(
      `SELECT stream_key AS key, name, last_revision AS lastRevision, is_tombstoned AS isTombstoned,
         is_soft_deleted AS isSoftDeleted, truncate_before AS truncateBefore, max_count AS maxCount,
         max_age_seconds AS maxAgeSeconds
       FROM streams WHERE name = ?`,
    );
    this.#insert = database.prepare('INSERT INTO streams (name, last_revision) VALUES (?, -1)');
    this.#advance = database.prepare('UPDATE streams SET last_revision = ? WHERE stream_key = ?');
    this.#tombstone = database.prepare('UPDATE streams SET is_tombstoned = 1 WHERE stream_key = ?');
    this.#describe = database.prepare(
      `UPDATE streams SET is_soft_deleted = ?, truncate_before = ?, max_count = ?, max_age_seconds = ?
       WHERE stream_key = ?`,
    );
  }

  find(name: string): StreamState | undefined {
    const row = this.#select.get(name) as StreamRow | undefined;
    const described = describedBy(name);
    // A tombstone removes the metadata too, if there is any.
    const describesTombstoned = described !== undefined && this.find(described)?.isTombstoned === true;
    if (row === undefined) return describesTombstoned ? { ...neverWritten, name, isTombstoned: true } : undefined;
    return {
      ...row,
      isTombstoned: row.isTombstoned === 1 || describesTombstoned,
      isSoftDeleted: row.isSoftDeleted === 1,
      // Only the newest event of a metadata stream counts.
      maxCount: described === undefined ? row.maxCount : 1,
    };
  }

  findOrCreate(name: string): StreamState {
    const existing = this.find(name);
    if (existing !== undefined) return existing;
    this.#insert.run(name);
    const created = this.find(name);
    if (created === undefined) throw new Error('A stream that was just created is missing.');
    return created;
  }

  advance(key: number, lastRevision: number): void {
    this.#advance.run(lastRevision, key);
  }

  tombstone(key: number): void {
    this.#tombstone.run(key);
  }

  /** Applies an event of the metadata stream; one that is no metadata has no effect. */
  describe(name: string, metadata: Uint8Array): void {
    const parsed = parseMetadata(metadata);
    const truncateBefore = wholeNumber(parsed['$tb']) ?? 0;
    const isSoftDeleted = truncateBefore >= softDeletedFrom;
    this.#describe.run(
      isSoftDeleted ? 1 : 0,
      isSoftDeleted ? 0 : Math.min(truncateBefore, Number.MAX_SAFE_INTEGER),
      positive(parsed['$maxCount']),
      positive(parsed['$maxAge']),
      this.findOrCreate(name).key,
    );
  }
}

export function parseMetadata(metadata: Uint8Array): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(metadata).toString('utf8'));
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

const neverWritten = {
  key: -1,
  lastRevision: -1,
  isSoftDeleted: false,
  truncateBefore: 0,
  maxCount: null,
  maxAgeSeconds: null,
} as const;

function wholeNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null;
}

function positive(value: unknown): number | null {
  const number = wholeNumber(value);
  return number === null || number === 0 || !Number.isSafeInteger(number) ? null : number;
}
