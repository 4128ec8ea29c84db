/**
 * Many appends over one call. An append may come in several messages. Its answer carries its correlation id, and answers may be
 * in another order than the appends. No append is answered twice, since a second answer crashes the official client.
 */

import sharedMessages from '@eventstore/db-client/generated/shared_pb.js';
import type { Status } from '@eventstore/db-client/generated/status_pb.js';
import streamMessages, {
  type BatchAppendReq,
  type BatchAppendResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import emptyMessages from 'google-protobuf/google/protobuf/empty_pb.js';
import { expectedOf, setPosition, type Writes } from './append-service.ts';
import type { AppendResult, Expected, Stored } from './event-log.ts';
import type { NewEvent } from './event-rows.ts';
import {
  appendTooLargeStatus,
  deadlineExceededStatus,
  InvalidRequest,
  invalidRequestStatus,
  maxAppendBytes,
  refusalStatus,
  streamIdentifier,
} from './wire-errors.ts';
import { appendSizeBytes, newEventOf, streamNameOf, uuidText } from './wire-events.ts';

/** The longest time that an append may take to arrive, even if its deadline is later; the real server's default. */
const writeTimeoutMs = 2000;

/** An append whose last message has not come yet. */
interface Arriving {
  stream: string;
  expected: Expected;
  events: NewEvent[];
  sizeBytes: number;
  /** By `Date.now()`. */
  deadlineMs: number;
  /** Answered already; its further messages are dropped. */
  isRefused: boolean;
}

type Call = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;

export function batchAppend(writes: Writes, call: Call): void {
  const arriving = new Map<string, Arriving>();
  call.on('data', (request: BatchAppendReq) => {
    const correlationId = uuidText(request.getCorrelationId());
    const known = arriving.get(correlationId);
    const append = known ?? startOf(request);
    if (known === undefined) arriving.set(correlationId, append);
    if (request.getIsFinal()) arriving.delete(correlationId);
    if (append.isRefused) return;
    const refusal = take(append, request);
    if (refusal !== undefined) {
      append.isRefused = true;
      call.write(answerOf(request, append.stream, refusal));
      return;
    }
    if (!request.getIsFinal()) return;
    void writes.commits
      .submit(() => writes.log.append(append.stream, append.expected, append.events))
      .then((result) => {
        if (!call.cancelled && call.writable) call.write(answerOf(request, append.stream, result));
      });
  });
  // Appends that have arrived are answered first: their commit comes before any later one.
  call.on('end', () => void writes.commits.submit(() => undefined).then(() => call.end()));
  call.on('error', () => undefined);
}

function startOf(request: BatchAppendReq): Arriving {
  const options = request.getOptions();
  const stream = Buffer.from(options?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8');
  const expected = expectedOf(options, options?.hasStreamPosition() === true ? options.getStreamPosition() : undefined);
  const nowMs = Date.now();
  const deadlineMs = Math.min(options?.getDeadline()?.toDate().getTime() ?? Infinity, nowMs + writeTimeoutMs);
  return { stream, expected, events: [], sizeBytes: 0, deadlineMs, isRefused: false };
}

/** Adds the events of one message; returns why the append is refused, if it is. */
function take(append: Arriving, request: BatchAppendReq): Status | undefined {
  if (append.deadlineMs <= Date.now()) return deadlineExceededStatus();
  try {
    if (append.stream === '') streamNameOf(undefined);
    for (const proposed of request.getProposedMessagesList()) {
      const event = newEventOf(proposed);
      append.events.push(event);
      append.sizeBytes += appendSizeBytes(event);
    }
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    return invalidRequestStatus(error.message);
  }
  return append.sizeBytes > maxAppendBytes ? appendTooLargeStatus() : undefined;
}

function answerOf(request: BatchAppendReq, stream: string, result: AppendResult | Status): BatchAppendResp {
  // Refusals carry the stream name too, because the official client reads it there.
  const answer = new streamMessages.BatchAppendResp()
    .setCorrelationId(request.getCorrelationId())
    .setStreamIdentifier(streamIdentifier(stream));
  if (!('outcome' in result)) return answer.setError(result);
  if (result.outcome === 'stored') return answer.setSuccess(successMessage(result));
  return answer.setError(refusalStatus(stream, result));
}

function successMessage(stored: Stored): BatchAppendResp.Success {
  const success = new streamMessages.BatchAppendResp.Success();
  if (stored.lastRevision === 'no_stream') success.setNoStream(new emptyMessages.Empty());
  else success.setCurrentRevision(String(stored.lastRevision));
  if (stored.position === undefined) success.setNoPosition(new emptyMessages.Empty());
  else success.setPosition(setPosition(new sharedMessages.AllStreamPosition(), stored.position));
  return success;
}
