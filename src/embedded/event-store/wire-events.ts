/**
 * Converts events between the protocol's messages and the log.
 */

import sharedMessages from '@eventstore/db-client/generated/shared_pb.js';
import streamMessages from '@eventstore/db-client/generated/streams_pb.js';
import type { StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb.js';
import type { AppendReq, BatchAppendReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';

import type { NewEvent, StoredEvent } from './event-rows.ts';
import { InvalidRequest, streamIdentifier } from './wire-errors.ts';

export type UuidForm = 'string' | 'structured';

const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NIL_UUID = '00000000-0000-0000-0000-000000000000';

/** `created` counts in units of 100 ns. */
const TICKS_PER_MS = 10_000n;

export function streamNameOf(identifier: StreamIdentifier | undefined): string {
  const name = Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');
  if (name === '') throw new InvalidRequest('The stream name is empty.');
  return name;
}

export function newEventOf(message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage): NewEvent {
  const id = uuidText(message.getId());
  if (id === undefined || !UUID_PATTERN.test(id) || id === NIL_UUID) {
    throw new InvalidRequest(`The event id ${JSON.stringify(id ?? '')} is no UUID.`);
  }
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
export function eventResponse(event: StoredEvent | undefined, link: StoredEvent | undefined, form: UuidForm): ReadResp {
  const readEvent = new streamMessages.ReadResp.ReadEvent();
  if (event !== undefined) readEvent.setEvent(recordedEvent(event, form));
  if (link !== undefined) readEvent.setLink(recordedEvent(link, form));
  const origin = link ?? event;
  if (origin !== undefined) readEvent.setCommitPosition(String(origin.position));
  const response = new streamMessages.ReadResp();
  response.setEvent(readEvent);
  return response;
}

function recordedEvent(event: StoredEvent, form: UuidForm): ReadResp.ReadEvent.RecordedEvent {
  const recorded = new streamMessages.ReadResp.ReadEvent.RecordedEvent();
  recorded.setId(uuidMessage(event.id, form));
  recorded.setStreamIdentifier(streamIdentifier(event.stream));
  recorded.setStreamRevision(String(event.revision));
  recorded.setCommitPosition(String(event.position));
  recorded.setPreparePosition(String(event.position));
  recorded.setData(event.data);
  recorded.setCustomMetadata(event.metadata);
  recorded
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.contentType)
    .set('created', String(event.createdMs * TICKS_PER_MS));
  return recorded;
}

/** The text of an id in lower case, whichever of its two forms was sent. */
export function uuidText(uuid: UUID | undefined): string | undefined {
  const structured = uuid?.getStructured();
  if (structured === undefined) return uuid?.getString().toLowerCase();
  const hex = [structured.getMostSignificantBits(), structured.getLeastSignificantBits()]
    .map((bits) => BigInt.asUintN(64, BigInt(bits)).toString(16).padStart(16, '0'))
    .join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function uuidMessage(id: string, form: UuidForm): UUID {
  const uuid = new sharedMessages.UUID();
  if (form === 'string') {
    uuid.setString(id);
    return uuid;
  }
  const hex = id.replaceAll('-', '');
  const structured = new sharedMessages.UUID.Structured();
  structured.setMostSignificantBits(String(BigInt.asIntN(64, BigInt(`0x${hex.slice(0, 16)}`))));
  structured.setLeastSignificantBits(String(BigInt.asIntN(64, BigInt(`0x${hex.slice(16)}`))));
  uuid.setStructured(structured);
  return uuid;
}
