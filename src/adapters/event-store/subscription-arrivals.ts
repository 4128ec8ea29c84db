import type { EventEmitter } from 'node:events';
import {
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import type { LogBatch, LogPosition, RecordedEvent } from '../../ports/event-store.ts';
import { isAfter, isPosition } from '../../ports/log-position.ts';
import type { Connection } from './connection.ts';
import { recordedEventOf } from './read.ts';
import { nameInLog, ourName, type StreamNames } from './stream-names.ts';

/** Multiplied by the server's window of 32: the number of filtered events after which it sends a checkpoint. */
const checkpointInterval = 32;

/** The server ended the subscription, or never confirmed it. */
export class SubscriptionDropped extends Error {
  override readonly name = 'SubscriptionDropped';
}

export interface ArrivalsOptions {
  streams: StreamNames;
  /** Told of each event that is skipped because its stream only shares a prefix with ours. */
  onForeignEvent: () => void;
  streamPrefixes: readonly string[];
  /** Undefined for the start of the log. */
  from: LogPosition | undefined;
  maxEvents: number;
}

/** Buffers the events of one client subscription until they are taken. The client reads no further while the buffer is full. */
export class Arrivals {
  readonly #subscription: AllStreamSubscription;
  readonly #signals: EventEmitter;
  readonly #options: ArrivalsOptions;
  readonly #forget: () => void;
  #checkpoint: LogPosition | undefined;
  #isMoreDue = true;
  isConfirmed = false;
  isCaughtUp = false;
  failure: Error | undefined;

  constructor(connection: Connection, signals: EventEmitter, options: ArrivalsOptions) {
    this.#signals = signals;
    this.#options = options;
    const { from, streams } = options;
    this.#subscription = connection.client.subscribeToAll(
      {
        fromPosition: from ?? START,
        filter: streamNameFilter({
          prefixes: options.streamPrefixes.map((stream) => nameInLog(streams, stream)),
          checkpointInterval,
          // Must neither fail nor wait: the client handles neither.
          checkpointReached: (_subscription, position) => {
            // A server that has read no event yet sends a checkpoint of -1, which is no position.
            if (isPosition(position)) this.#checkpoint = position;
            this.#news();
            return Promise.resolve();
          },
        }),
      },
      { highWaterMark: options.maxEvents },
    );
    this.#subscription
      .on('confirmation', () => {
        this.isConfirmed = true;
        this.#news();
      })
      .on('caughtUp', () => {
        this.isCaughtUp = true;
        this.#news();
      })
      .on('readable', () => this.#news())
      .on('end', () => this.fail(new SubscriptionDropped('The server ended the subscription.')))
      .on('close', () => this.fail(new SubscriptionDropped('The subscription was closed.')))
      // Stays for good: an error without a listener would end the process.
      .on('error', (error: unknown) => this.fail(error instanceof Error ? error : new Error(String(error))));
    this.#forget = connection.onLost(() => this.fail(new SubscriptionDropped('The connection was given up.')));
  }

  get hasNews(): boolean {
    return this.#isMoreDue || this.failure !== undefined;
  }

  /**
   * Takes all events that have arrived, up to the limit. When none is left, all events before the last checkpoint have been
   * taken: the client delivers a checkpoint only after the events before it.
   */
  take(): LogBatch | undefined {
    const { streams, maxEvents, onForeignEvent } = this.#options;
    this.#isMoreDue = false;
    const events: RecordedEvent[] = [];
    let position: LogPosition | undefined;
    let isEmptied = false;
    while (events.length < maxEvents && !isEmptied) {
      const resolved = this.#subscription.read() as AllStreamResolvedEvent | null;
      if (resolved === null) isEmptied = true;
      else if (resolved.event !== undefined) {
        const stream = ourName(streams, resolved.event.streamId);
        if (stream === undefined) onForeignEvent();
        else events.push({ ...recordedEventOf(resolved.event), stream });
        ({ position } = resolved.event);
      }
    }
    if (!isEmptied) this.#isMoreDue = true;
    else if (this.#checkpoint && isAfter(this.#checkpoint, position)) position = this.#checkpoint;
    return position === undefined ? undefined : { events, position };
  }

  fail(error: Error): void {
    this.failure ??= error;
    this.#news();
  }

  end(): void {
    this.#forget();
    this.#subscription.unsubscribe().catch(() => undefined);
    this.#subscription.destroy();
  }

  #news(): void {
    this.#isMoreDue = true;
    this.#signals.emit('wake');
  }
}
