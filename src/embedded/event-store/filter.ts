/**
 * Filters of reads and subscriptions to the whole log.
 */

import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import type { StoredEvent } from './event-rows.ts';
import { InvalidRequest } from './wire-errors.ts';

export interface EventFilter {
  matches: (event: StoredEvent) => boolean;
  /** The number of events that are scanned at a time. */
  windowEvents: number;
  /** A checkpoint is due after so many scanned events. */
  checkpointEvents: number;
}

/** The number of events scanned at a time by default. */
const defaultWindow = 32;

export function filterOf(options: ReadReq.Options): EventFilter | undefined {
  const filter = options.getFilter();
  if (filter === undefined) return undefined;
  const byStream = filter.getStreamIdentifier();
  const expression = byStream ?? filter.getEventType();
  if (expression === undefined) throw new InvalidRequest('The filter names neither streams nor event types.');
  const test = expression.getRegex() === '' ? startsWith(expression.getPrefixList()) : expressionTest(expression);
  const windowEvents = filter.hasMax() ? Math.max(1, filter.getMax()) : defaultWindow;
  return {
    matches: (event) => test(byStream === undefined ? event.type : event.stream),
    windowEvents,
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
