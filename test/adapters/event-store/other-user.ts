import { randomUUID } from 'node:crypto';
import sharedMessages from '@eventstore/db-client/generated/shared_pb.js';
import streamMessages from '@eventstore/db-client/generated/streams_pb.js';

/** From now on this process belongs to another user. It has loaded everything by then: that one may not reach our files. */
export function becomeUser(user: number): void {
  process.setgroups?.([]);
  process.setgid?.(user);
  process.setuid?.(user);
}

/** All that a client has to send for an append, over HTTP/2 without waiting for an answer. */
export function bytesOfAppend(stream: string): Buffer {
  const headers = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': '/event_store.client.streams.Streams/Append',
    ':authority': '127.0.0.1',
    'content-type': 'application/grpc',
    te: 'trailers',
  };
  const text = (value: string) => [Buffer.from([value.length]), Buffer.from(value)];
  const literals = Object.entries(headers).flatMap(([name, value]) => [
    Buffer.from([0]),
    ...text(name),
    ...text(value),
  ]);
  return Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    frame({ type: 4, flags: 0, streamId: 0 }, Buffer.alloc(0)),
    frame({ type: 1, flags: 4, streamId: 1 }, Buffer.concat(literals)),
    frame({ type: 0, flags: 1, streamId: 1 }, Buffer.concat(appendMessages(stream).map(message))),
  ]);
}

/** RFC 9113, section 4.1. */
function frame(head: { type: number; flags: number; streamId: number }, payload: Buffer): Buffer {
  const bytes = Buffer.alloc(9);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(head.type, 3);
  bytes.writeUInt8(head.flags, 4);
  bytes.writeUInt32BE(head.streamId, 5);
  return Buffer.concat([bytes, payload]);
}

/** As gRPC puts a message into the body. */
function message(encoded: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(encoded.length, 1);
  return Buffer.concat([head, encoded]);
}

function appendMessages(stream: string): Uint8Array[] {
  const { AppendReq } = streamMessages;
  const identifier = new sharedMessages.StreamIdentifier();
  identifier.setStreamName(Buffer.from(stream).toString('base64'));
  const options = new AppendReq.Options();
  options.setStreamIdentifier(identifier);
  options.setAny(new sharedMessages.Empty());
  const proposed = new AppendReq.ProposedMessage();
  const id = new sharedMessages.UUID();
  id.setString(randomUUID());
  proposed.setId(id);
  proposed.getMetadataMap().set('type', 'forged').set('content-type', 'application/json');
  proposed.setData(Buffer.from('{}').toString('base64'));
  const [first, second] = [new AppendReq(), new AppendReq()];
  first.setOptions(options);
  second.setProposedMessage(proposed);
  return [first.serializeBinary(), second.serializeBinary()];
}
