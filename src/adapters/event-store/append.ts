/**
 * One append, from the check of its events until its outcome is known.
 *
 * The log recognizes a retry by its ids from the expected revision on, so the same bytes are sent again and again until the
 * answer is "stored" or "wrong expected version". Nothing else is an outcome: an append that timed out may be stored later.
 */

import { type AppendExpectedRevision, jsonEvent, type JSONEventType } from '@eventstore/db-client';
import type { Logger } from 'pino';
import {
  type AppendOutcome,
  EventStoreClosed,
  type EventToAppend,
  type ExpectedRevision,
  InvalidAppend,
} from '../../ports/event-store.ts';
import type { Connection } from './connection.ts';
import { isAccessDenied, isConnectionBroken, isStreamDeleted, isTooLarge, isWrongExpectedVersion } from './errors.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const nilUuid = '00000000-0000-0000-0000-000000000000';

export interface PreparedAppend {
  stream: string;
  expected: AppendExpectedRevision;
  events: ReturnType<typeof jsonEvent<JSONEventType>>[];
}

/**
 * Refuses appends that the log would never take, since the client does not survive all of a server's refusals. Copies the
 * events, so that every attempt sends the same bytes.
 *
 * @throws {InvalidAppend}
 */
export function prepareAppend(
  stream: string,
  expected: ExpectedRevision,
  events: readonly EventToAppend[],
  maxAppendBytes: number,
): PreparedAppend {
  if (stream === '' || !stream.isWellFormed()) throw new InvalidAppend('The stream name is empty or not well-formed.');
  if (expected !== 'no_stream' && !(Number.isSafeInteger(expected) && expected >= 0)) {
    throw new InvalidAppend(`${expected} is no revision.`);
  }
  if (events.length === 0) throw new InvalidAppend('There are no events to append.');
  let sizeBytes = 0;
  const prepared = events.map((event) => {
    if (!uuidPattern.test(event.id) || event.id === nilUuid) throw new InvalidAppend(`${event.id} is no UUID.`);
    if (event.type === '' || !event.type.isWellFormed()) throw new InvalidAppend('An event has no type.');
    const data = jsonOf(event.data);
    const metadata = jsonOf(event.metadata);
    sizeBytes += Buffer.byteLength(data) + Buffer.byteLength(metadata) + event.type.length * 2;
    return jsonEvent<JSONEventType>({
      id: event.id,
      type: event.type,
      data: JSON.parse(data) as Record<string, unknown>,
      // As bytes, because the client would encode and decode an object several times, slowly.
      metadata: utf8.encode(metadata),
    });
  });
  if (sizeBytes > maxAppendBytes) {
    throw new InvalidAppend(`The events take ${sizeBytes} bytes; an append may have ${maxAppendBytes}.`);
  }
  return { stream, expected: expected === 'no_stream' ? expected : BigInt(expected), events: prepared };
}

const utf8 = new TextEncoder();

function jsonOf(value: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw new InvalidAppend('An event cannot be written as JSON.', { cause: error });
  }
}

interface PendingAppendOptions {
  deadlineMs: number | undefined;
  resendAfterMs: number;
  logger: Logger | undefined;
  onResend: () => void;
  /** Told that an attempt brought no outcome, before the append is sent again. It may close the append. */
  onUnknownOutcome: () => void;
}

export class PendingAppend {
  /** By `performance.now()`. */
  readonly startedMs = performance.now();
  readonly #connection: Connection;
  readonly #append: PreparedAppend;
  readonly #options: PendingAppendOptions;
  readonly #outcome = Promise.withResolvers<AppendOutcome>();
  #timer: NodeJS.Timeout | undefined;
  #attempts = 0;
  /** The attempt whose failure leads to another one; undefined once another one is under way. */
  #newest: number | undefined;
  #isSettled = false;

  constructor(connection: Connection, append: PreparedAppend, options: PendingAppendOptions) {
    this.#connection = connection;
    this.#append = append;
    this.#options = options;
  }

  /** @param sendBeforeMs by `performance.now()`; for the first attempt only */
  run(sendBeforeMs: number | undefined): Promise<AppendOutcome> {
    void this.#attempt(sendBeforeMs);
    return this.#outcome.promise;
  }

  close(): void {
    this.#settle(() =>
      this.#outcome.reject(new EventStoreClosed('Closed before the outcome of the append was known.')),
    );
  }

  async #attempt(untilMs?: number): Promise<void> {
    try {
      if (!(await this.#connection.whenReady(untilMs))) {
        this.#settle(() => this.#outcome.resolve('not_sent'));
        return;
      }
    } catch {
      this.close();
      return;
    }
    if (this.#isSettled) return;
    this.#attempts += 1;
    if (this.#attempts > 1) this.#options.onResend();
    const attempt = this.#attempts;
    this.#newest = attempt;
    const generation = this.#connection.generation;
    const { stream, expected, events } = this.#append;
    this.#timer = setTimeout(() => {
      this.#options.logger?.debug({ stream, attempt }, 'an append has no answer yet and is sent again');
      if (!this.#isSentAgain()) return;
      this.#newest = undefined;
      this.#connection.suspect(generation, false);
      void this.#attempt();
    }, this.#options.resendAfterMs);
    const { deadlineMs } = this.#options;
    const options = { expectedRevision: expected, ...(deadlineMs === undefined ? {} : { deadline: deadlineMs }) };
    this.#connection.client.appendToStream(stream, events, options).then(
      () => this.#settle(() => this.#outcome.resolve('stored')),
      (error: unknown) => this.#onError(error, attempt, generation),
    );
  }

  /** Any attempt may bring the outcome, even one that was given up. Only a failure of the newest leads to another attempt. */
  #onError(error: unknown, attempt: number, generation: number): void {
    if (this.#isSettled) return;
    if (isWrongExpectedVersion(error)) {
      this.#settle(() => this.#outcome.resolve('conflict'));
      return;
    }
    const refusal = refusalOf(error, attempt);
    if (refusal !== undefined) {
      this.#settle(() => this.#outcome.reject(refusal));
      return;
    }
    this.#options.logger?.debug(
      { stream: this.#append.stream, attempt, err: error },
      'the outcome of an append is unknown',
    );
    if (attempt !== this.#newest) return;
    this.#newest = undefined;
    if (!this.#isSentAgain()) return;
    clearTimeout(this.#timer);
    this.#connection.suspect(generation, isConnectionBroken(error));
    this.#timer = setTimeout(() => void this.#attempt(), this.#connection.pauseMs(attempt));
  }

  /** Tells that the outcome is not known. @returns false if whoever was told has closed the append */
  #isSentAgain(): boolean {
    this.#options.onUnknownOutcome();
    return !this.#isSettled;
  }

  #settle(settle: () => void): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    settle();
  }
}

/**
 * The refusal of an append, if it is certain. After an attempt of unknown outcome, only a refusal for size is certain: the
 * stream may have been deleted, or the permission withdrawn, after the events were stored.
 */
function refusalOf(error: unknown, attempt: number): Error | undefined {
  if (isTooLarge(error)) return new InvalidAppend('The log takes no append of this size.', { cause: error });
  if (attempt > 1) return undefined;
  if (isStreamDeleted(error)) return new InvalidAppend('The stream is deleted for ever.', { cause: error });
  return isAccessDenied(error) ? (error as Error) : undefined;
}
