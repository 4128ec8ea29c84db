/**
 * Reads with a time limit, which the client lacks: a read without progress for so long is given up.
 */

import type { AllStreamResolvedEvent, EventStoreDBClient, ResolvedEvent } from '@eventstore/db-client';
import { EventStoreUnavailable, type RecordedEvent } from '../../ports/event-store.ts';
import type { Connection } from './connection.ts';
import { isAccessDenied, isConnectionBroken, isStreamDeleted, isStreamNotFound, isUnauthenticated } from './errors.ts';

type Resolved = ResolvedEvent | AllStreamResolvedEvent;
type Recorded = NonNullable<Resolved['event']>;
type Reading = ReturnType<EventStoreDBClient['readStream']> | ReturnType<EventStoreDBClient['readAll']>;

export function recordedEventOf(event: Recorded): RecordedEvent {
  return {
    stream: event.streamId,
    revision: Number(event.revision),
    id: event.id,
    type: event.type,
    data: event.data,
    metadata: event.metadata,
    position: event.position?.commit ?? 0n,
    created: event.created,
  };
}

/**
 * Retries a read until it succeeds, or the limit has passed without an event. A stream that does not exist has no events.
 *
 * @throws {EventStoreUnavailable}
 */
export async function readEvents(
  connection: Connection,
  open: (client: EventStoreDBClient) => Reading,
  limitMs: number,
): Promise<RecordedEvent[]> {
  const limit = { untilMs: performance.now() + limitMs };
  let cause: unknown;
  for (let attempt = 1; await connection.whenReady(limit.untilMs); attempt += 1) {
    const { generation } = connection;
    try {
      return await collect(connection, open(connection.client), () => {
        limit.untilMs = performance.now() + limitMs;
        return limitMs;
      });
    } catch (error) {
      if (isStreamNotFound(error)) return [];
      if (isStreamDeleted(error)) throw error;
      if (isAccessDenied(error) || isUnauthenticated(error))
        throw new EventStoreUnavailable('the event store refuses the user or the password of its address', {
          cause: error,
        });
      cause = error;
      connection.suspect(generation, isConnectionBroken(error) && !(error instanceof ReadGivenUp));
      await connection.pause(Math.min(connection.pauseMs(attempt), limit.untilMs - performance.now()));
    }
  }
  throw new EventStoreUnavailable('The event store does not answer reads.', { cause: cause ?? connection.failure });
}

/** The connection was given up, or the read made no progress; the reason is unknown. */
class ReadGivenUp extends Error {
  override readonly name = 'ReadGivenUp';
}

/** @param extend reports progress, and returns how long to wait for more */
function collect(connection: Connection, reading: Reading, extend: () => number): Promise<RecordedEvent[]> {
  return new Promise((resolve, reject) => {
    const events: RecordedEvent[] = [];
    const giveUp = (): void => {
      fail(new ReadGivenUp('The read was given up.'));
      reading.cancel().catch(() => undefined);
    };
    const forget = connection.onLost(giveUp);
    const timer = setTimeout(giveUp, extend());
    const finish = (): void => {
      clearTimeout(timer);
      forget();
    };
    const fail = (error: unknown): void => {
      finish();
      reject(error instanceof Error ? error : new Error('The read failed.', { cause: error }));
    };
    reading.on('data', (resolved: Resolved) => {
      extend();
      timer.refresh();
      if (resolved.event !== undefined) events.push(recordedEventOf(resolved.event));
    });
    reading.on('end', () => {
      finish();
      resolve(events);
    });
    // Never removed: an error without a listener would end the process.
    reading.on('error', fail);
  });
}
