/**
 * Converts events between the protocol's messages and the log.
 */

import sharedMessages, { type StreamIdentifier, type UUID } from '@eventstore/db-client/generated/shared_pb.js';
import streamMessages, {
  type AppendReq,
  type BatchAppendReq,
  type ReadResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { NewEvent, StoredEvent } from './event-rows.ts';
import { InvalidRequest, streamIdentifier } from './wire-errors.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const nilUuid = '00000000-0000-0000-0000-000000000000';

/** `created` counts in units of 100 ns. */
const ticksPerMs = 10_000n;

export function streamNameOf(identifier: StreamIdentifier | undefined): string {
  const name = Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');
  if (name === '') throw new InvalidRequest('The stream name is empty.');
  return name;
}

export function newEventOf(message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage): NewEvent {
  const id = uuidText(message.getId());
  if (!uuidPattern.test(id) || id === nilUuid) throw new InvalidRequest(`The event id "${id}" is no UUID.`);
  const type = message.getMetadataMap().get('type') ?? '';
  if (type === '') throw new InvalidRequest('The event type is empty.');
  const isJson = message.getMetadataMap().get('content-type') === 'application/json';
  return {
    id,
    type,
    contentType: isJson ? 'application/json' : 'application/octet-stream',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

/** The size of an event that counts towards the largest append: its bytes, and its type in UTF-16. */
export function appendSizeBytes(event: NewEvent): number {
  return event.data.length + event.metadata.length + event.type.length * 2;
}

/** @param link The event that pointed here, if the reader resolves links. */
export function eventResponse(event: StoredEvent | undefined, link?: StoredEvent): ReadResp {
  const readEvent = new streamMessages.ReadResp.ReadEvent();
  if (event !== undefined) readEvent.setEvent(recordedEvent(event));
  if (link !== undefined) readEvent.setLink(recordedEvent(link));
  const origin = link ?? event;
  if (origin !== undefined) readEvent.setCommitPosition(String(origin.position));
  return new streamMessages.ReadResp().setEvent(readEvent);
}

function recordedEvent(event: StoredEvent): ReadResp.ReadEvent.RecordedEvent {
  const recorded = new streamMessages.ReadResp.ReadEvent.RecordedEvent()
    .setId(new sharedMessages.UUID().setString(event.id))
    .setStreamIdentifier(streamIdentifier(event.stream))
    .setStreamRevision(String(event.revision))
    .setCommitPosition(String(event.position))
    .setPreparePosition(String(event.position))
    .setData(event.data)
    .setCustomMetadata(event.metadata);
  recorded
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.contentType)
    .set('created', String(event.createdMs * ticksPerMs));
  return recorded;
}

/** The official client sends ids as text, and not in their structured form. */
export function uuidText(uuid: UUID | undefined): string {
  return uuid?.getString().toLowerCase() ?? '';
}
