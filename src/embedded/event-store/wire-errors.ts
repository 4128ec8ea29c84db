/**
 * Refusals in the form in which the official clients expect them: as trailers of a gRPC error, and as a `google.rpc.Status`
 * inside the answer to a batch append.
 */

import codeMessages, { type Code } from '@eventstore/db-client/generated/code_pb.js';
import sharedMessages from '@eventstore/db-client/generated/shared_pb.js';
import statusMessages, { type Status } from '@eventstore/db-client/generated/status_pb.js';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import anyMessages from 'google-protobuf/google/protobuf/any_pb.js';
import emptyMessages from 'google-protobuf/google/protobuf/empty_pb.js';
import type { Expected, Refused } from './event-log.ts';

/** Appends with more bytes than this, all events together, are refused; the real server's default. */
export const maxAppendBytes = 1024 * 1024;

/** An error of the caller that has no trailers of its own. */
export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest';
}

export function rpcError(code: status, details: string, trailers: Record<string, string> = {}): ServiceError {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, printable(value));
  return Object.assign(new Error(details), { code, details, metadata });
}

export function refusalError(stream: string, refused: Refused): ServiceError {
  if (refused.outcome === 'stream_deleted') return streamDeletedError(stream);
  const expected = expectedNumber(refused.expected);
  const actual = refused.actual === 'no_stream' ? '-1' : String(refused.actual);
  const details = `Append failed due to WrongExpectedVersion. Stream: ${stream}, expected: ${expected}, actual: ${actual}`;
  return rpcError(status.FAILED_PRECONDITION, details, {
    exception: 'wrong-expected-version',
    'stream-name': stream,
    'expected-version': expected,
    'actual-version': actual,
  });
}

export function streamDeletedError(stream: string): ServiceError {
  return rpcError(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  });
}

export function appendTooLargeError(): ServiceError {
  return rpcError(status.INVALID_ARGUMENT, `Maximum append size of ${maxAppendBytes} bytes exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(maxAppendBytes),
  });
}

export function refusalStatus(stream: string, refused: Refused): Status {
  if (refused.outcome === 'stream_deleted') {
    const deleted = new sharedMessages.StreamDeleted().setStreamIdentifier(streamIdentifier(stream));
    return statusOf(codeMessages.Code.FAILED_PRECONDITION, 'Stream deleted.', 'StreamDeleted', deleted);
  }
  const wrong = new sharedMessages.WrongExpectedVersion();
  const empty = new emptyMessages.Empty();
  if (refused.expected === 'any') wrong.setExpectedAny(empty);
  else if (refused.expected === 'stream_exists') wrong.setExpectedStreamExists(empty);
  else if (refused.expected === 'no_stream') wrong.setExpectedNoStream(empty);
  else wrong.setExpectedStreamPosition(String(refused.expected));
  if (refused.actual === 'no_stream') wrong.setCurrentNoStream(empty);
  else wrong.setCurrentStreamRevision(String(refused.actual));
  return statusOf(codeMessages.Code.FAILED_PRECONDITION, 'Wrong expected version.', 'WrongExpectedVersion', wrong);
}

export function appendTooLargeStatus(): Status {
  const exceeded = new sharedMessages.MaximumAppendSizeExceeded().setMaxappendsize(maxAppendBytes);
  const message = 'Maximum append size exceeded.';
  return statusOf(codeMessages.Code.INVALID_ARGUMENT, message, 'MaximumAppendSizeExceeded', exceeded);
}

/** The deadline of an append is over. */
export function deadlineExceededStatus(): Status {
  return statusOf(codeMessages.Code.DEADLINE_EXCEEDED, 'Timeout.', 'Timeout', new sharedMessages.Timeout());
}

export function invalidRequestStatus(message: string): Status {
  const invalid = new sharedMessages.BadRequest().setMessage(message);
  return statusOf(codeMessages.Code.INVALID_ARGUMENT, message, 'BadRequest', invalid);
}

export function streamIdentifier(name: string): InstanceType<typeof sharedMessages.StreamIdentifier> {
  return new sharedMessages.StreamIdentifier().setStreamName(Buffer.from(name, 'utf8'));
}

function statusOf(code: Code, message: string, type: string, details: { serializeBinary(): Uint8Array }): Status {
  const any = new anyMessages.Any();
  any.pack(details.serializeBinary(), `event_store.client.${type}`);
  return new statusMessages.Status().setCode(code).setMessage(message).setDetails(any);
}

/** The numbers in trailers for expectations that are no revision. */
function expectedNumber(expected: Expected): string {
  if (expected === 'any') return '-2';
  if (expected === 'no_stream') return '-1';
  if (expected === 'stream_exists') return '-4';
  return String(expected);
}

/** Trailers hold printable ASCII only; a stream may have any name. */
function printable(value: string): string {
  return value.replace(/[^\x20-\x7e]+/gu, (part) => encodeURIComponent(part));
}
