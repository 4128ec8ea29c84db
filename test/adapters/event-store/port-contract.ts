import { describe, expect, test } from 'vitest';
import { sleep } from '../../../src/async/sleep.ts';
import {
  type EventStore,
  EventStoreClosed,
  EventStoreUnavailable,
  type EventToAppend,
  InvalidAppend,
  type LogBatch,
  type LogPosition,
  type RecordedEvent,
  type SubscriptionOptions,
} from '../../../src/ports/event-store.ts';
import { coveredUpTo, isAfter, positionOfEvent } from '../../../src/ports/log-position.ts';
import { appendNumbers, eventToAppend, numberOf, upTo } from '../../support/event-store-adapter.ts';
import { freshStream } from '../../support/event-store-under-test.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A consumer as a projection is one: it knows where it is, and takes nothing that does not follow on that. */
export class Consumer {
  readonly events: RecordedEvent[] = [];
  readonly batches: LogBatch[] = [];
  position: LogPosition | undefined;
  fromCalls = 0;
  isBusy = false;
  /** Asked before every batch; a rejection is the batch's. */
  before: (batch: LogBatch) => Promise<void> = () => Promise.resolve();

  options(streamPrefixes: string[], more: Partial<SubscriptionOptions> = {}): SubscriptionOptions {
    return {
      name: 'consumer',
      streamPrefixes,
      from: () => {
        this.fromCalls += 1;
        return Promise.resolve(this.position);
      },
      apply: (batch) => this.#apply(batch),
      ...more,
    };
  }

  async #apply(batch: LogBatch): Promise<void> {
    expect(this.isBusy).toBe(false);
    this.isBusy = true;
    try {
      await this.before(batch);
    } finally {
      this.isBusy = false;
    }
    let after = coveredUpTo(this.position);
    for (const { position } of batch.events) {
      expect(position).toBeGreaterThan(after);
      after = position;
    }
    expect(isAfter(batch.position, this.position)).toBe(true);
    expect(coveredUpTo(batch.position)).toBeGreaterThanOrEqual(after);
    this.events.push(...batch.events);
    this.batches.push(batch);
    this.position = batch.position;
  }

  get numbers(): number[] {
    return this.events.map(numberOf);
  }
}

/** So many that a subscription which leaves them out is told how far it is. */
async function appendMany(store: EventStore, stream: string): Promise<void> {
  for (let batch = 0; batch < 11; batch += 1) {
    const events = upTo(199).map((index) => eventToAppend(batch * 200 + index));
    await store.append(stream, batch === 0 ? 'no_stream' : batch * 200 - 1, events);
  }
}

export interface PortUnderTest {
  /** Opens a connection that is closed when the test has finished. */
  open: () => EventStore & { close: () => Promise<void> };
  /** Opens one to a log that nobody reaches. */
  openUnreachable: () => Promise<EventStore & { close: () => Promise<void> }>;
}

/** What the port promises (src/ports/event-store.ts), of the real adapter and of the one in memory alike. */
export function describeEventStorePort({ open, openUnreachable }: PortUnderTest): void {
  describe('an append', () => {
    test('is stored, or conflicts, and a retry of it is stored', async () => {
      const store = open();
      const stream = freshStream();
      const events = [eventToAppend(0), eventToAppend(1)];
      expect(await store.append(stream, 'no_stream', events)).toBe('stored');
      expect(await store.append(stream, 'no_stream', [eventToAppend(9)])).toBe('conflict');
      expect(await store.append(stream, 0, [eventToAppend(9)])).toBe('conflict');
      expect(await store.append(stream, 7, [eventToAppend(9)])).toBe('conflict');
      expect(await store.append(stream, 1, [eventToAppend(2)])).toBe('stored');
      expect(await store.append(stream, 'no_stream', events)).toBe('stored');
      expect((await store.read(stream, 0)).map(numberOf)).toEqual([0, 1, 2]);
    });

    const valid = eventToAppend(0);
    const looped: Record<string, unknown> = {};
    looped['self'] = looped;
    test.each<{ what: string; stream?: string; expected?: number; events: EventToAppend[] }>([
      { what: 'no stream name', stream: '', events: [valid] },
      { what: 'half a character in the stream name', stream: 'a\ud800', events: [valid] },
      { what: 'a negative revision', expected: -1, events: [valid] },
      { what: 'a revision between two', expected: 0.5, events: [valid] },
      { what: 'no events', events: [] },
      { what: 'an id that is no UUID', events: [{ ...valid, id: 'no-uuid' }] },
      { what: 'the empty UUID', events: [{ ...valid, id: '00000000-0000-0000-0000-000000000000' }] },
      { what: 'an empty type', events: [{ ...valid, type: '' }] },
      { what: 'data that is no JSON', events: [{ ...valid, data: looped }] },
      { what: 'one event too large', events: [eventToAppend(0, { pad: 'x'.repeat(1024 * 1024) })] },
      {
        what: 'events too large together',
        events: Array.from({ length: 11 }, () => eventToAppend(0, { pad: 'x'.repeat(100 * 1024) })),
      },
    ])('with $what is refused before it is sent', async ({ stream = freshStream(), expected, events }) => {
      // Nobody listens there: whatever is sent would go on being sent.
      const store = await openUnreachable();
      await expect(store.append(stream, expected ?? 'no_stream', events)).rejects.toBeInstanceOf(InvalidAppend);
    });

    test('of nearly the largest size is stored', async () => {
      const store = open();
      const events = [eventToAppend(0, { pad: 'x'.repeat(1023 * 1024) })];
      expect(await store.append(freshStream(), 'no_stream', events)).toBe('stored');
    });

    test('sends what it was given, whatever happens to that afterwards', async () => {
      const store = open();
      const stream = freshStream();
      const data: Record<string, unknown> = { number: 1 };
      const appended = store.append(stream, 'no_stream', [{ ...eventToAppend(1), data }]);
      data['number'] = 2;
      expect(await appended).toBe('stored');
      expect((await store.read(stream, 0)).map(numberOf)).toEqual([1]);
    });

    test('is one of two hundred at once on a connection that was never used', async () => {
      const store = open();
      const streams = Array.from({ length: 200 }, () => freshStream());
      const outcomes = await Promise.all(
        streams.map((stream) => store.append(stream, 'no_stream', [eventToAppend(0), eventToAppend(1)])),
      );
      expect(new Set(outcomes)).toEqual(new Set(['stored']));
    });

    test('is not sent where nobody listens in time', async () => {
      const store = await openUnreachable();
      const sendBeforeMs = performance.now() + 300;
      // The deadline of a request, which is a timer as well: a busy machine delays both.
      const deadline = sleep(300 + 250).then(() => 'too late' as const);
      const appended = store.append(freshStream(), 'no_stream', [eventToAppend(0)], { sendBeforeMs });
      expect(await Promise.race([appended, deadline])).toBe('not_sent');
      expect(performance.now()).toBeGreaterThanOrEqual(sendBeforeMs - 5);
    });

    test('is not sent after its time, even where somebody listens', async () => {
      const store = open();
      const stream = freshStream();
      expect(await store.read(stream, 0)).toEqual([]);
      const options = { sendBeforeMs: performance.now() - 1 };
      expect(await store.append(stream, 'no_stream', [eventToAppend(0)], options)).toBe('not_sent');
      expect(await store.read(stream, 0)).toEqual([]);
    });
  });

  describe('a read', () => {
    test('gives events from a revision on, at most so many, with all that was stored', async () => {
      const store = open();
      const stream = freshStream();
      const event = eventToAppend(0, { text: 'ä' });
      await store.append(stream, 'no_stream', [event]);
      await appendNumbers(store, stream, 1, 9);
      expect((await store.read(stream, 0)).map(numberOf)).toEqual(upTo(9));
      expect((await store.read(stream, 8)).map(numberOf)).toEqual([8, 9]);
      expect((await store.read(stream, 2, 3)).map(numberOf)).toEqual([2, 3, 4]);
      expect(await store.read(stream, 10)).toEqual([]);
      const [first] = await store.read(stream, 0, 1);
      expect(first).toMatchObject({ stream, revision: 0, ...event });
      expect(first?.created).toBeInstanceOf(Date);
      expect(first?.position).toBeTypeOf('bigint');
    });

    test('of a missing stream is empty', async () => {
      const store = open();
      expect(await store.read(freshStream(), 0)).toEqual([]);
    });

    test('gives the newest position of the log', async () => {
      const store = open();
      const stream = freshStream();
      await appendNumbers(store, stream, 0, 3);
      const [last] = await store.read(stream, 3);
      expect(await store.headPosition()).toBeGreaterThanOrEqual(last!.position);
    });

    test('gives the newest position of streams with a prefix, however far back it lies', async () => {
      const store = open();
      const [wanted, other] = [freshStream('wanted'), freshStream('other')];
      await appendNumbers(store, wanted, 0, 2);
      const newest = (await store.read(wanted, 2))[0]!.position;
      const many = Array.from({ length: 450 }, (_, number) => eventToAppend(number));
      await store.append(other, 'no_stream', many);
      const newestOther = (await store.read(other, 449))[0]!.position;
      const asked = [
        { streamPrefixes: [wanted], after: 0n },
        { streamPrefixes: ['nobody-', wanted], after: newest - 1n },
        { streamPrefixes: [wanted], after: newest },
        { streamPrefixes: [`${wanted}-nobody`], after: newest },
        { streamPrefixes: [other], after: newest },
        { streamPrefixes: [other], after: newestOther },
      ];
      expect(await store.newestPositions(asked)).toEqual([
        newest,
        newest,
        undefined,
        undefined,
        newestOther,
        undefined,
      ]);
      for (const each of asked.slice(0, 3))
        expect(await store.newestPositions([each])).toEqual([each.after < newest ? newest : undefined]);
      expect(await store.newestPositions([])).toEqual([]);
      const within = (maxEvents: number) => store.newestPositionsWithin(maxEvents, asked);
      expect(await within(1_000)).toEqual(await store.newestPositions(asked));
      const back = 'further_back';
      expect(await within(100)).toEqual([back, back, back, back, newestOther, undefined]);
    });

    test('fails in time where nobody listens', async () => {
      const store = await openUnreachable();
      await expect(store.read(freshStream(), 0)).rejects.toBeInstanceOf(EventStoreUnavailable);
      await expect(store.headPosition()).rejects.toBeInstanceOf(EventStoreUnavailable);
    });
  });

  describe('closing', () => {
    test('rejects what is pending, and whatever comes after', async () => {
      const store = await openUnreachable();
      const append = () => store.append(freshStream(), 'no_stream', [eventToAppend(0)]);
      const pending = expect(append()).rejects.toBeInstanceOf(EventStoreClosed);
      await store.close();
      await expect(append()).rejects.toBeInstanceOf(EventStoreClosed);
      await expect(store.read(freshStream(), 0)).rejects.toBeInstanceOf(EventStoreClosed);
      await pending;
    });
  });

  describe('a subscription', () => {
    test('delivers history and what comes after, of the streams with its prefixes only, from where it is told', async () => {
      const store = open();
      const [left, right, other] = [freshStream('left'), freshStream('right'), freshStream('other')];
      await appendNumbers(store, left, 0, 2);
      const consumer = new Consumer();
      consumer.position = positionOfEvent((await store.read(left, 1, 1))[0]!.position);
      const subscription = store.subscribe(consumer.options([left, right]));
      await waitFor(() => subscription.caughtUp, { what: 'the subscription has caught up' });
      expect(consumer.numbers).toEqual([2]);
      await appendNumbers(store, right, 0, 0);
      await appendNumbers(store, other, 0, 5);
      await store.append(left, 2, [eventToAppend(3), eventToAppend(4)]);
      await waitFor(() => consumer.events.length === 4, { what: 'the live events' });
      expect(consumer.events.map(({ stream }) => stream)).toEqual([left, right, left, left]);
      expect(consumer.numbers).toEqual([2, 0, 3, 4]);
    });

    test('takes one batch at a time, as large as what has come, and never larger than allowed', async () => {
      const store = open();
      const stream = freshStream();
      const consumer = new Consumer();
      const subscription = store.subscribe(consumer.options([stream], { maxBatchEvents: 30 }));
      await waitFor(() => subscription.caughtUp, { what: 'the subscription has caught up' });
      // A consumer takes some time for each batch, in which the next gathers.
      consumer.before = async () => {
        await store.headPosition();
      };
      await store.append(
        stream,
        'no_stream',
        upTo(499).map((number) => eventToAppend(number)),
      );
      await waitFor(() => consumer.events.length === 500, { what: 'all events' });
      expect(consumer.numbers).toEqual(upTo(499));
      const sizes = consumer.batches.map(({ events }) => events.length);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(30);
      expect(sizes.length).toBeLessThan(250);
    });

    test('is told how far it is while nothing matches, without being asked about every event', async () => {
      const store = open();
      const other = freshStream('other');
      const consumer = new Consumer();
      consumer.position = positionOfEvent((await store.headPosition())!);
      await appendMany(store, other);
      const subscription = store.subscribe(consumer.options([freshStream('none')]));
      await waitFor(() => subscription.caughtUp, { what: 'the subscription has caught up' });
      expect(consumer.events).toEqual([]);
      expect(consumer.batches.length).toBeGreaterThanOrEqual(1);
      expect(consumer.batches.length).toBeLessThan(10);
      // It may trail the end by what is looked at between two checkpoints.
      expect(coveredUpTo(consumer.position)).toBeGreaterThanOrEqual((await store.read(other, 500, 1))[0]!.position);
    });

    test('delivers a batch again that was rejected, and waits longer each time', async () => {
      const store = open();
      const [stream, other] = [freshStream(), freshStream('other')];
      // What is told of these comes each time before the batch.
      await appendMany(store, other);
      const start = positionOfEvent((await store.read(other, 0, 1))[0]!.position);
      await appendNumbers(store, stream, 0, 9);
      const consumer = new Consumer();
      const from = () => Promise.resolve((consumer.position = start));
      const attempts: number[][] = [];
      consumer.before = ({ events }) => {
        if (events.length === 0) return Promise.resolve();
        attempts.push(events.map(numberOf));
        return attempts.length <= 4 ? Promise.reject(new Error('not now')) : Promise.resolve();
      };
      const startedAtMs = performance.now();
      store.subscribe(consumer.options([stream], { from }));
      await waitFor(() => consumer.events.length === 10, { what: 'the events at last' });
      expect(consumer.numbers).toEqual(upTo(9));
      expect(attempts.length).toBeGreaterThanOrEqual(5);
      for (const attempt of attempts.slice(0, 5)) expect(attempt[0]).toBe(0);
      expect(performance.now() - startedAtMs).toBeGreaterThan(100 + 200 + 400 + 800 - 20);
      // Appends and other reads were not disturbed.
      expect(await store.headPosition()).toBeDefined();
    });

    test('asks again where to go on when that fails', async () => {
      const store = open();
      const stream = freshStream();
      await appendNumbers(store, stream, 0, 0);
      const consumer = new Consumer();
      let asked = 0;
      const from = (): Promise<undefined> => {
        asked += 1;
        return asked === 1 ? Promise.reject(new Error('not now')) : Promise.resolve(undefined);
      };
      store.subscribe(consumer.options([stream], { from }));
      await waitFor(() => consumer.events.length === 1, { what: 'the event' });
      expect(asked).toBe(2);
    });

    test('that is closed finishes its batch, and takes no other', async () => {
      const store = open();
      const stream = freshStream();
      await appendNumbers(store, stream, 0, 3);
      const consumer = new Consumer();
      let isHeld = false;
      let mayGoOn = false;
      consumer.before = async ({ events }) => {
        isHeld = events.length > 0;
        if (isHeld) await waitFor(() => mayGoOn, { what: 'the batch may be applied' });
      };
      const subscription = store.subscribe(consumer.options([stream], { maxBatchEvents: 1 }));
      await waitFor(() => isHeld, { what: 'the first batch' });
      let isClosed = false;
      const closed = subscription.close().then(() => (isClosed = true));
      expect(isClosed).toBe(false);
      mayGoOn = true;
      await closed;
      expect(consumer.numbers).toEqual([0]);
    });
  });
}
