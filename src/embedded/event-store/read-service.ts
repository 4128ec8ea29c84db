/**
 * Reads of one stream or of the whole log, in either direction, up to the end at the beginning of the read. A read includes the
 * event at its revision, or at its position when reading forwards, but not at its position when reading backwards.
 */

import streamMessages, { type ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { type ServerWritableStream, status } from '@grpc/grpc-js';
import type { EventLog } from './event-log.ts';
import type { Page, Range, StoredEvent } from './event-rows.ts';
import { type ReadRequest, readRequestOf } from './read-request.ts';
import { ResponseStream } from './response-stream.ts';
import { firstVisibleRevision } from './stream-state.ts';
import { subscribe, type Subscriptions } from './subscription-service.ts';
import { resolved, visibleSinceMs, visibleStream } from './visible-events.ts';
import { InvalidRequest, rpcError, streamIdentifier } from './wire-errors.ts';

export function read(subscriptions: Subscriptions, call: ServerWritableStream<ReadReq, ReadResp>): void {
  const responses = new ResponseStream(call);
  serve(subscriptions, call.request, responses).then(
    () => {
      if (!responses.isEnded) call.end();
    },
    (error: unknown) => {
      if (responses.isEnded) return;
      call.emit('error', error instanceof InvalidRequest ? rpcError(status.UNKNOWN, error.message) : error);
    },
  );
}

async function serve(subscriptions: Subscriptions, message: ReadReq, responses: ResponseStream): Promise<void> {
  const request = readRequestOf(message);
  if (request.maxEvents === undefined) return subscribe(subscriptions, request, responses);
  const { log } = subscriptions;
  if (request.stream === undefined) return readAll(log, request, request.maxEvents, responses);
  return readStream(log, request, request.stream, request.maxEvents, responses);
}

async function readStream(
  log: EventLog,
  request: ReadRequest,
  name: string,
  maxEvents: number,
  responses: ResponseStream,
): Promise<void> {
  if (request.direction === 'forwards' && request.from === 'end') {
    throw new InvalidRequest('A read forwards begins at a revision, not at the end of its stream.');
  }
  const state = visibleStream(log, name);
  if (state === undefined) {
    const notFound = new streamMessages.ReadResp.StreamNotFound().setStreamIdentifier(streamIdentifier(name));
    await responses.send(new streamMessages.ReadResp().setStreamNotFound(notFound));
    return;
  }
  const first = BigInt(firstVisibleRevision(state));
  const last = BigInt(state.lastRevision);
  const sinceMs = visibleSinceMs(state, Date.now());
  const from = request.from === 'start' ? 0n : request.from === 'end' ? last : request.from;
  let range: Range = { from: from > first ? from : first, to: last };
  if (request.direction === 'backwards') range = { from: first, to: from < last ? from : last };
  await sendRange(log, request, maxEvents, responses, {
    range,
    page: (rest) => log.rows.pageOfStream(state.key, rest, request.direction, sinceMs),
    place: (event) => event.revision,
  });
}

async function readAll(
  log: EventLog,
  request: ReadRequest,
  maxEvents: number,
  responses: ResponseStream,
): Promise<void> {
  const head = log.rows.headPosition();
  let range: Range;
  if (request.direction === 'forwards') {
    if (request.from === 'end') return;
    range = { from: request.from === 'start' ? 0n : request.from, to: head };
  } else {
    if (request.from === 'start') return;
    range = { from: 0n, to: request.from === 'end' ? head : request.from - 1n };
  }
  await sendRange(log, request, maxEvents, responses, {
    range,
    page: (rest) => log.rows.pageOfAll(rest, request.direction),
    place: (event) => event.position,
  });
}

interface Source {
  range: Range;
  page: (rest: Range) => Page;
  place: (event: StoredEvent) => bigint;
}

async function sendRange(
  log: EventLog,
  request: ReadRequest,
  maxEvents: number,
  responses: ResponseStream,
  source: Source,
): Promise<void> {
  let rest = source.range;
  let left = maxEvents;
  while (rest.from <= rest.to) {
    // A hundred rows take as long as the call itself: none is loaded that nobody asked for.
    const { events, isLast } = source.page(request.filter ? rest : { ...rest, atMost: left });
    for (const event of events) {
      if (request.filter?.matches(event) === false) continue;
      if (!(await responses.send(resolved(log, event, request)))) return;
      left -= 1;
      if (left === 0) return;
    }
    const last = events.at(-1);
    if (last === undefined || isLast) return;
    const place = source.place(last);
    rest = request.direction === 'forwards' ? { from: place + 1n, to: rest.to } : { from: rest.from, to: place - 1n };
  }
}
