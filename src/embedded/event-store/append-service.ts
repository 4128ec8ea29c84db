/**
 * The calls that write: single appends, many appends over one call, deletions and tombstones.
 */

import sharedMessages from '@eventstore/db-client/generated/shared_pb.js';
import streamMessages, {
  type AppendReq,
  type AppendResp,
  type DeleteReq,
  type DeleteResp,
  type TombstoneReq,
  type TombstoneResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import {
  type sendUnaryData,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { AppendResult, EventLog, Expected, Refused, Stored } from './event-log.ts';
import type { NewEvent } from './event-rows.ts';
import type { GroupCommit } from './group-commit.ts';
import { appendTooLargeError, InvalidRequest, maxAppendBytes, refusalError, rpcError } from './wire-errors.ts';
import { appendSizeBytes, newEventOf, streamNameOf } from './wire-events.ts';

export interface Writes {
  log: EventLog;
  commits: GroupCommit;
}

/** The methods that the options of all writes have in common. */
interface ExpectedOptions {
  hasNoStream(): boolean;
  hasStreamExists(): boolean;
}

export function append(
  writes: Writes,
  call: ServerReadableStream<AppendReq, AppendResp>,
  callback: sendUnaryData<AppendResp>,
): void {
  let options: AppendReq.Options | undefined;
  const events: NewEvent[] = [];
  let sizeBytes = 0;
  let failure: ServiceError | undefined;
  call.on('data', (request: AppendReq) => {
    options ??= request.getOptions();
    const proposed = request.getProposedMessage();
    if (proposed === undefined || failure !== undefined) return;
    try {
      const event = newEventOf(proposed);
      events.push(event);
      sizeBytes += appendSizeBytes(event);
      if (sizeBytes > maxAppendBytes) failure = appendTooLargeError();
    } catch (error) {
      failure = invalidRequestError(error);
    }
  });
  call.on('end', () => {
    if (failure !== undefined) {
      callback(failure);
      return;
    }
    try {
      const stream = streamNameOf(options?.getStreamIdentifier());
      const expected = expectedOf(options, options?.hasRevision() === true ? options.getRevision() : undefined);
      void writes.commits
        .submit(() => writes.log.append(stream, expected, events))
        .then((result) => {
          if (result.outcome === 'stream_deleted') callback(refusalError(stream, result));
          else callback(null, appendResponse(result));
        });
    } catch (error) {
      callback(invalidRequestError(error));
    }
  });
  call.on('error', () => undefined);
}

export function softDelete(
  writes: Writes,
  call: ServerUnaryCall<DeleteReq, DeleteResp>,
  callback: sendUnaryData<DeleteResp>,
): void {
  remove(call.request.getOptions(), callback, {
    write: (stream, expected) => writes.commits.submit(() => writes.log.softDelete(stream, expected)),
    answer: (position) =>
      new streamMessages.DeleteResp().setPosition(setPosition(new streamMessages.DeleteResp.Position(), position)),
  });
}

export function tombstone(
  writes: Writes,
  call: ServerUnaryCall<TombstoneReq, TombstoneResp>,
  callback: sendUnaryData<TombstoneResp>,
): void {
  remove(call.request.getOptions(), callback, {
    write: (stream, expected) => writes.commits.submit(() => writes.log.tombstone(stream, expected)),
    answer: (position) =>
      new streamMessages.TombstoneResp().setPosition(
        setPosition(new streamMessages.TombstoneResp.Position(), position),
      ),
  });
}

interface PositionMessage {
  setCommitPosition(value: string): unknown;
  setPreparePosition(value: string): unknown;
}

function remove<Response>(
  options: DeleteReq.Options | TombstoneReq.Options | undefined,
  callback: sendUnaryData<Response>,
  {
    write,
    answer,
  }: { write: (stream: string, expected: Expected) => Promise<AppendResult>; answer: (position: bigint) => Response },
): void {
  try {
    const stream = streamNameOf(options?.getStreamIdentifier());
    const expected = expectedOf(options, options?.hasRevision() === true ? options.getRevision() : undefined);
    void write(stream, expected).then((result) => {
      if (result.outcome === 'stored') callback(null, answer(result.position ?? 0n));
      else callback(refusalError(stream, result));
    });
  } catch (error) {
    callback(invalidRequestError(error));
  }
}

/** @param revision undefined if the options name none */
export function expectedOf(options: ExpectedOptions | undefined, revision: string | undefined): Expected {
  if (revision !== undefined) return BigInt(revision);
  if (options?.hasNoStream() === true) return 'no_stream';
  return options?.hasStreamExists() === true ? 'stream_exists' : 'any';
}

function appendResponse(result: Exclude<AppendResult, { outcome: 'stream_deleted' }>): AppendResp {
  const response = new streamMessages.AppendResp();
  if (result.outcome === 'stored') return response.setSuccess(successMessage(result));
  return response.setWrongExpectedVersion(wrongVersionMessage(result));
}

function successMessage(stored: Stored): AppendResp.Success {
  const success = new streamMessages.AppendResp.Success();
  if (stored.lastRevision === 'no_stream') success.setNoStream(new sharedMessages.Empty());
  else success.setCurrentRevision(String(stored.lastRevision));
  if (stored.position === undefined) success.setNoPosition(new sharedMessages.Empty());
  else success.setPosition(setPosition(new streamMessages.AppendResp.Position(), stored.position));
  return success;
}

function wrongVersionMessage(
  refused: Extract<Refused, { outcome: 'wrong_expected_version' }>,
): AppendResp.WrongExpectedVersion {
  const wrong = new streamMessages.AppendResp.WrongExpectedVersion();
  const empty = new sharedMessages.Empty();
  if (refused.expected === 'any') wrong.setExpectedAny(empty);
  else if (refused.expected === 'stream_exists') wrong.setExpectedStreamExists(empty);
  else if (refused.expected === 'no_stream') wrong.setExpectedNoStream(empty);
  else wrong.setExpectedRevision(String(refused.expected));
  if (refused.actual === 'no_stream') wrong.setCurrentNoStream(empty);
  else wrong.setCurrentRevision(String(refused.actual));
  return wrong;
}

export function setPosition<Message extends PositionMessage>(message: Message, position: bigint): Message {
  message.setCommitPosition(String(position));
  message.setPreparePosition(String(position));
  return message;
}

/** As on the real server, a call with an invalid event fails with only a text. */
function invalidRequestError(error: unknown): ServiceError {
  if (!(error instanceof InvalidRequest)) throw error;
  return rpcError(status.UNKNOWN, error.message);
}
