import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { requireReadable } from '../domain/recorded-event.ts';
import type { Actor, DomainEvent, EventMetadata } from '../domain/recorded-event.ts';
import type { EventToAppend, ExpectedRevision } from '../ports/event-store.ts';

/** Where and why events are appended. */
export interface Sealing {
  stream: string;
  expected: ExpectedRevision;
  /** Hash of the stream's last event; see `firstPreviousHash` for a stream that does not exist yet. */
  previousHash: string;
  /** The event's own time, UTC ISO-8601; the caller keeps it from going backwards within the stream. */
  time: string;
}

/** Who asked for an event: fresh for each command, so that an append is recognised as one's own and as nobody else's. */
export interface Cause {
  commandId: string;
  correlationId: string;
  causationId: string;
  actor: Actor;
  /** The span that leads here, where there is a trace: W3C Trace Context. */
  traceparent?: string | undefined;
}

/** Version of the events' schemas, as long as there is one version of each. */
const schemaVersion = 1;

/** What a stream's first event is chained to: SHA-256 of the stream's name. */
export const firstPreviousHash = (stream: string): string => hash('sha256', stream);

/**
 * Gives events their ids, metadata and place in the stream's hash chain. The same input gives the same bytes, so that a
 * resent append is the identical append: ids are UUIDv5 of the command's id and the event's index in the append.
 *
 * Each hash is SHA-256(previous hash ‖ RFC 8785 canonical JSON of stream, revision, id, type, data and metadata without hash).
 *
 * @returns the events to append and the hash that the next append to the stream goes on from
 */
export function seal(
  caused: readonly { event: DomainEvent; cause: Cause }[],
  { stream, expected, previousHash, time }: Sealing,
): { events: EventToAppend[]; lastHash: string } {
  let lastHash = previousHash;
  const firstRevision = expected === 'no_stream' ? 0 : expected + 1;
  const events = caused.map(({ event, cause }, index) => {
    requireReadable(event);
    const id = uuidV5(String(index), cause.commandId);
    const unchained = {
      $correlationId: cause.correlationId,
      $causationId: cause.causationId,
      ...(cause.traceparent !== undefined && { $traceparent: cause.traceparent }),
      schema: schemaVersion,
      actor: cause.actor,
      time,
    };
    const revision = firstRevision + index;
    lastHash = chainHash(lastHash, { stream, revision, id, type: event.type, data: event.data, metadata: unchained });
    const metadata: EventMetadata = { ...unchained, hash: lastHash };
    return { id, type: event.type, data: event.data, metadata: { ...metadata } };
  });
  return { events, lastHash };
}

/** One link of a stream's hash chain; hashes are hexadecimal. */
export function chainHash(
  previousHash: string,
  link: { stream: string; revision: number; id: string; type: string; data: unknown; metadata: object },
): string {
  const canonical = canonicalize(link);
  if (canonical === undefined) throw new Error('an event cannot be written as JSON');
  return hash('sha256', Buffer.concat([Buffer.from(previousHash, 'hex'), Buffer.from(canonical)]));
}

/** RFC 9562 §5.5. */
function uuidV5(name: string, namespace: string): string {
  const digest = hash(
    'sha1',
    Buffer.concat([Buffer.from(namespace.replaceAll('-', ''), 'hex'), Buffer.from(name)]),
    'buffer',
  );
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
