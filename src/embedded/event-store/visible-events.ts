/**
 * The events that a reader may see: none of a deleted stream, none that metadata hide, and the target instead of a link.
 */

import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { EventLog } from './event-log.ts';
import type { StoredEvent } from './event-rows.ts';
import type { StreamState } from './stream-state.ts';
import { streamDeletedError } from './wire-errors.ts';
import { eventResponse } from './wire-events.ts';

/** @returns the stream, unless all its events are hidden. @throws when it is tombstoned */
export function visibleStream(log: EventLog, name: string): StreamState | undefined {
  const state = log.streams.find(name);
  if (state?.isTombstoned === true) throw streamDeletedError(name);
  return state === undefined || state.lastRevision < 0 || state.isSoftDeleted ? undefined : state;
}

/** Events created before this are too old to be seen. */
export function visibleSinceMs(state: StreamState, nowMs: number): number {
  return state.maxAgeSeconds === null ? 0 : nowMs - state.maxAgeSeconds * 1000;
}

/** The response for an event; a link (`revision@stream`) is resolved if the reader asked for that. */
export function resolved(log: EventLog, event: StoredEvent, { resolveLinks }: { resolveLinks: boolean }): ReadResp {
  if (!resolveLinks || event.type !== '$>') return eventResponse(event);
  const [, revision, name] = /^(\d{1,18})@(.+)$/s.exec(Buffer.from(event.data).toString('utf8')) ?? [];
  const target = name === undefined ? undefined : log.streams.find(name);
  const at = BigInt(revision ?? 0);
  const isVisible = target !== undefined && !target.isTombstoned && !target.isSoftDeleted;
  const found = isVisible ? log.rows.pageOfStream(target.key, { from: at, to: at }, 'forwards', 0) : undefined;
  return eventResponse(found?.events[0], event);
}
