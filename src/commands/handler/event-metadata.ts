import { v5 as uuidV5 } from 'uuid';
import { type Actor, type DomainEvent, type EventMetadata, requireReadable } from '../../domain/parse-event.ts';
import type { EventToAppend, ExpectedRevision } from '../../ports/event-store.ts';
import { chainHash } from './hash-chain.ts';

/** The point of a stream at which events are appended. */
export interface AppendPoint {
  stream: string;
  expected: ExpectedRevision;
  /** Hash of the stream's last event; see `firstPreviousHash` for a stream that does not exist yet. */
  previousHash: string;
  /** The event's own time, UTC ISO-8601; the caller keeps it from going backwards within the stream. */
  time: string;
}

/** The party that asked for an event, and the request that led to it. */
export interface Cause {
  /** Fresh for each command, because the ids by which the log recognises a resent append follow from it. */
  commandId: string;
  correlationId: string;
  causationId: string;
  actor: Actor;
  /** W3C Trace Context of the span that led here, if there is a trace. */
  traceparent?: string | undefined;
}

/** The cause of a command that no event has led to. @param correlationId of its request; without one, it begins its own */
export const ownCause = (commandId: string, actor: Actor, correlationId = commandId): Cause => ({
  commandId,
  correlationId,
  causationId: commandId,
  actor,
});

/** @param index of the event among those that the command appends */
export const eventIdOf = (commandId: string, index = 0): string => uuidV5(String(index), commandId);

/** Version 2 of an event's schema holds its personal data encrypted. */
const schemaVersion = (sealed: string | undefined) => (sealed === undefined ? 1 : 2);

/** An event to append, and what its personal data becomes in the log (`SealPersonalData`). */
interface CausedEvent {
  event: DomainEvent;
  cause: Cause;
  sealed?: string | undefined;
}

/**
 * Gives events their ids, their metadata and their place in the stream's hash chain. Ids are UUIDv5 of the command's id and the
 * event's index in the append: the same input gives the same bytes, so a resent append is identical.
 *
 * @returns the events to append, and the hash that the stream's next event is chained to
 */
export function addMetadata(
  caused: readonly CausedEvent[],
  { stream, expected, previousHash, time }: AppendPoint,
): { events: EventToAppend[]; lastHash: string } {
  let lastHash = previousHash;
  const firstRevision = expected === 'no_stream' ? 0 : expected + 1;
  const events = caused.map(({ event, cause, sealed }, index) => {
    requireReadable(event);
    const id = eventIdOf(cause.commandId, index);
    const unchained = {
      $correlationId: cause.correlationId,
      $causationId: cause.causationId,
      ...(cause.traceparent !== undefined && { $traceparent: cause.traceparent }),
      schema: schemaVersion(sealed),
      actor: cause.actor,
      time,
    };
    const revision = firstRevision + index;
    const data = sealed === undefined ? event.data : { ...event.data, personal: sealed };
    lastHash = chainHash(lastHash, { stream, revision, id, type: event.type, data, metadata: unchained });
    const metadata = { ...unchained, hash: lastHash } satisfies EventMetadata;
    return { id, type: event.type, data, metadata };
  });
  return { events, lastHash };
}
