/**
 * Parses the protocol's message of a read or a subscription, and its filter of the whole log.
 */

import streamMessages, { type ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import type { Direction, StoredEvent } from './event-rows.ts';
import { tombstoneRevision } from './stream-state.ts';
import { InvalidRequest } from './wire-errors.ts';
import { streamNameOf } from './wire-events.ts';

/** A revision or a position, or one of the ends of the stream or log. */
type From = 'start' | 'end' | bigint;

export type ReadRequest = ReturnType<typeof readRequestOf>;

export function readRequestOf(request: ReadReq) {
  const options = request.getOptions();
  if (options === undefined) throw new InvalidRequest('The read has no options.');
  const stream = options.getStream();
  const isForwards = options.getReadDirection() === streamMessages.ReadReq.Options.ReadDirection.FORWARDS;
  const direction: Direction = isForwards ? 'forwards' : 'backwards';
  const maxEvents = options.hasSubscription() ? undefined : Number(options.getCount());
  if (maxEvents === 0) throw new InvalidRequest('A read of no events was asked for.');
  return {
    /** Undefined for the whole log. */
    stream: stream === undefined ? undefined : streamNameOf(stream.getStreamIdentifier()),
    from: fromOf(options),
    /** True for a position at which nothing has been read yet, only everything before it. */
    isBeforeFrom: isBeforeOf(options.getAll()?.getPosition()),
    direction,
    /** Undefined for a subscription, which has no end. */
    maxEvents,
    filter: filterOf(options),
    resolveLinks: options.getResolveLinks(),
  };
}

function fromOf(options: ReadReq.Options): From {
  const target = options.getStream() ?? options.getAll();
  if (target === undefined || target.hasStart()) return 'start';
  if (target.hasEnd()) return 'end';
  const text = 'getRevision' in target ? target.getRevision() : (target.getPosition()?.getCommitPosition() ?? '0');
  const from = BigInt(text);
  return from > tombstoneRevision ? tombstoneRevision : from;
}

function isBeforeOf(position: ReadReq.Options.Position | undefined): boolean {
  return position !== undefined && BigInt(position.getPreparePosition()) < BigInt(position.getCommitPosition());
}

export type EventFilter = NonNullable<ReturnType<typeof filterOf>>;

/** The number of events scanned at a time by default. */
const defaultWindow = 32;

function filterOf(options: ReadReq.Options) {
  const filter = options.getFilter();
  if (filter === undefined) return undefined;
  const byStream = filter.getStreamIdentifier();
  const expression = byStream ?? filter.getEventType();
  if (expression === undefined) throw new InvalidRequest('The filter names neither streams nor event types.');
  const test = expression.getRegex() === '' ? startsWith(expression.getPrefixList()) : expressionTest(expression);
  const windowEvents = filter.hasMax() ? Math.max(1, filter.getMax()) : defaultWindow;
  return {
    matches: (event: StoredEvent) => test(byStream === undefined ? event.type : event.stream),
    /** The number of events that are scanned at a time. */
    windowEvents,
    /** A checkpoint is due after so many scanned events. */
    checkpointEvents: windowEvents * Math.max(1, filter.getCheckpointintervalmultiplier()),
  };
}

function startsWith(prefixes: readonly string[]): (text: string) => boolean {
  return (text) => prefixes.some((prefix) => text.startsWith(prefix));
}

function expressionTest(expression: ReadReq.Options.FilterOptions.Expression): (text: string) => boolean {
  try {
    const pattern = new RegExp(expression.getRegex());
    return (text) => pattern.test(text);
  } catch {
    throw new InvalidRequest(`The filter's regular expression is invalid: ${expression.getRegex()}`);
  }
}
