import { hash } from 'node:crypto';
import { type RecordedEvent, storedData } from '../ports/event-store.ts';

/** The part of an event that every event store keeps as it is. Position and time of storing are each store's own. */
export type TransferredEvent = Omit<RecordedEvent, 'position' | 'created'>;

/** The same text for the same event, whichever store it comes from: data and metadata keep the order of their fields. */
export const textOf = ({ stream, revision, id, type, metadata, ...event }: TransferredEvent): string =>
  JSON.stringify({ stream, revision, id, type, data: storedData(event), metadata });

/**
 * Head of a hash chain over a whole log: SHA-256(head before ‖ text of the event). Two logs with the same head have the same
 * events, ids and metadata in the same order; so each of their streams ends with the same hash, too.
 */
export class LogHead {
  events = 0;
  hash = hash('sha256', 'reeltally-log');

  add(text: string): void {
    this.hash = hash('sha256', this.hash + text);
    this.events += 1;
  }
}
