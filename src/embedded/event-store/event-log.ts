/**
 * The rules of the log: the answers to appends, deletions and tombstones, given the stored events. Every method runs inside the
 * caller's transaction without waiting, so nothing can come between a decision and its rows.
 */

import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import { EventRows, type NewEvent } from './event-rows.ts';
import {
  describedBy,
  metastreamOf,
  parseMetadata,
  type StreamState,
  StreamStates,
  tombstoneRevision,
} from './stream-state.ts';

const mostRecentEvents = 75_000;

export type Expected = 'any' | 'no_stream' | 'stream_exists' | bigint;

/** Revision of a stream's last event, and the position of the written event, if any. */
export interface Stored {
  outcome: 'stored';
  lastRevision: bigint | 'no_stream';
  position: bigint | undefined;
}

export type Refused =
  | { outcome: 'wrong_expected_version'; expected: Expected; actual: bigint | 'no_stream' }
  | { outcome: 'stream_deleted' };

export type AppendResult = Stored | Refused;

type Decision = { kind: 'write' } | { kind: 'stored_before'; lastRevision: bigint } | { kind: 'wrong' };

export class EventLog {
  readonly streams: StreamStates;
  readonly rows: EventRows;
  /**
   * Recent events by their ids, for retries of appends without a revision. As in the real server, such a retry is not recognized
   * after a restart, so important events must be appended with a revision.
   */
  readonly #recentEvents = new LRUCache<string, { stream: string; revision: bigint }>({ max: mostRecentEvents });

  constructor(database: DatabaseSync) {
    this.streams = new StreamStates(database);
    this.rows = new EventRows(database);
  }

  append(name: string, expected: Expected, events: readonly NewEvent[]): AppendResult {
    const state = this.streams.find(name);
    const refusal = this.#refuse(name, state, expected);
    if (refusal !== undefined) return refusal;
    const ids = events.map((event) => event.id);
    const decision = this.#decide(name, state, expected, ids);
    if (decision.kind === 'wrong') return wrongVersion(state, expected);
    if (decision.kind === 'stored_before') {
      const position = state === undefined ? undefined : this.rows.at(state.key, decision.lastRevision)?.position;
      return { outcome: 'stored', lastRevision: decision.lastRevision, position };
    }
    if (events.length === 0) return { outcome: 'stored', lastRevision: lastRevisionOf(state), position: undefined };
    return this.#write(name, events);
  }

  /** Hides all events so far by metadata. The stream can be written again and continues its revisions. */
  softDelete(name: string, expected: Expected): AppendResult {
    const state = this.streams.find(name);
    const neverWritten = lastRevisionOf(state) === 'no_stream' && this.streams.find(metastreamOf(name)) === undefined;
    const refusal = this.#refuseRemoval(name, state, expected);
    if (refusal !== undefined) return refusal;
    if (neverWritten) return wrongVersion(state, expected);
    const metadata = this.#writeMetadata(name, `{"$tb":${tombstoneRevision}}`);
    return { outcome: 'stored', lastRevision: lastRevisionOf(state), position: metadata.position };
  }

  /** Ends the stream for ever. */
  tombstone(name: string, expected: Expected): AppendResult {
    const state = this.streams.find(name);
    const refusal = this.#refuseRemoval(name, state, expected);
    if (refusal !== undefined) return refusal;
    const { key } = this.streams.findOrCreate(name);
    const event = { ...systemEvent(randomUUID(), '$streamDeleted', ''), contentType: 'application/octet-stream' };
    const position = this.rows.insert(key, tombstoneRevision, event, Date.now());
    this.streams.tombstone(key);
    return { outcome: 'stored', lastRevision: tombstoneRevision, position };
  }

  #refuseRemoval(name: string, state: StreamState | undefined, expected: Expected): Refused | undefined {
    const refusal = this.#refuse(name, state, expected);
    const isExpected = this.#decide(name, state, expected, [randomUUID()]).kind === 'write';
    return refusal ?? (isExpected ? undefined : wrongVersion(state, expected));
  }

  #refuse(name: string, state: StreamState | undefined, expected: Expected): Refused | undefined {
    if (state?.isTombstoned === true) return { outcome: 'stream_deleted' };
    if (expected !== 'stream_exists') return undefined;
    if (state?.isSoftDeleted === true) return { outcome: 'stream_deleted' };
    // A stream that has only metadata exists in this sense.
    const exists = lastRevisionOf(state) !== 'no_stream' || this.streams.find(metastreamOf(name)) !== undefined;
    return exists ? undefined : wrongVersion(state, expected);
  }

  /**
   * A retry is recognized by its ids alone: at an expected revision before the end, by the ids stored from there on; without
   * one, by the ids seen since the server started.
   */
  #decide(name: string, state: StreamState | undefined, expected: Expected, ids: readonly string[]): Decision {
    if (expected === 'any' || expected === 'stream_exists') return this.#decideUnversioned(name, ids);
    const last = BigInt(state?.lastRevision ?? -1);
    const after = expected === 'no_stream' ? -1n : expected;
    if (after === last) return { kind: 'write' };
    if (after > last || state === undefined) return { kind: 'wrong' };
    const firstDifference = ids.findIndex(
      (id, index) => this.rows.at(state.key, after + 1n + BigInt(index))?.id !== id,
    );
    if (firstDifference === -1 && ids.length > 0)
      return { kind: 'stored_before', lastRevision: after + BigInt(ids.length) };
    const beginsAnew = expected === 'no_stream' && state.isSoftDeleted && firstDifference <= 0;
    return { kind: beginsAnew ? 'write' : 'wrong' };
  }

  #decideUnversioned(name: string, ids: readonly string[]): Decision {
    let lastRevision: bigint | undefined;
    for (const id of ids) {
      const event = this.#recentEvents.peek(id);
      if (event?.stream !== name) return { kind: lastRevision === undefined ? 'write' : 'wrong' };
      lastRevision = event.revision;
    }
    return lastRevision === undefined ? { kind: 'write' } : { kind: 'stored_before', lastRevision };
  }

  #write(name: string, events: readonly NewEvent[]): Stored {
    const described = describedBy(name);
    const describedWasDeleted = described !== undefined && this.streams.find(described)?.isSoftDeleted === true;
    const state = this.streams.findOrCreate(name);
    const stored = this.#insert(state, events);
    if (state.isSoftDeleted) this.#undelete(name, state.lastRevision + 1);
    if (describedWasDeleted) this.#undelete(described, (this.streams.find(described)?.lastRevision ?? -1) + 1);
    return stored;
  }

  #insert(state: StreamState, events: readonly NewEvent[]): Stored {
    const createdMs = Date.now();
    let revision = BigInt(state.lastRevision);
    let position: bigint | undefined;
    for (const event of events) {
      revision += 1n;
      position = this.rows.insert(state.key, revision, event, createdMs);
      this.#recentEvents.set(event.id, { stream: state.name, revision });
    }
    this.streams.advance(state.key, Number(revision));
    const described = describedBy(state.name);
    const newest = events.at(-1);
    if (described !== undefined && newest !== undefined) this.streams.describe(described, newest.data);
    return { outcome: 'stored', lastRevision: revision, position };
  }

  /** Writing to a soft-deleted stream revives it. Its other metadata stay, and the old events stay hidden. */
  #undelete(name: string, firstRevision: number): void {
    const metastream = this.streams.find(metastreamOf(name));
    const current =
      metastream && this.rows.pageOfStream(metastream.key, { from: 0n, to: tombstoneRevision }, 'backwards', 0);
    const metadata = parseMetadata(current?.events[0]?.data ?? new Uint8Array());
    this.#writeMetadata(name, JSON.stringify({ ...metadata, $tb: firstRevision }));
  }

  #writeMetadata(name: string, json: string): Stored {
    return this.#insert(this.streams.findOrCreate(metastreamOf(name)), [systemEvent(randomUUID(), '$metadata', json)]);
  }
}

function systemEvent(id: string, type: string, json: string): NewEvent {
  return { id, type, contentType: 'application/json', data: Buffer.from(json), metadata: new Uint8Array() };
}

function lastRevisionOf(state: StreamState | undefined): bigint | 'no_stream' {
  return state === undefined || state.lastRevision < 0 ? 'no_stream' : BigInt(state.lastRevision);
}

function wrongVersion(state: StreamState | undefined, expected: Expected): Refused {
  return { outcome: 'wrong_expected_version', expected, actual: lastRevisionOf(state) };
}
