import { describe, expect, onTestFinished, test } from 'vitest';

import { coveredUpTo, isAfter, positionOfEvent } from '../../../src/ports/log-position.ts';
import type {
  EventStore,
  LogBatch,
  LogPosition,
  RecordedEvent,
  SubscriptionOptions,
} from '../../../src/ports/event-store.ts';
import { appendNumbers, eventToAppend, numberOf, openAdapter, upTo } from '../../support/event-store-adapter.ts';
import { EventStoreProxy } from '../../support/event-store-proxy.ts';
import { portOf, startEventStore } from '../../support/event-store.ts';
import { eventStoreUnderTest, foreignUrl, freshStream } from '../../support/event-store-under-test.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';

const server = eventStoreUnderTest();

/** A consumer as a projection is one: it knows where it is, and takes nothing that does not follow on that. */
class Consumer {
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

describe('a subscription', () => {
  test('delivers history and what comes after, of the streams with its prefixes only, from where it is told', async () => {
    const store = openAdapter({ url: server.url });
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
    const store = openAdapter({ url: server.url });
    const stream = freshStream();
    const consumer = new Consumer();
    const subscription = store.subscribe(consumer.options([stream], { maxBatchEvents: 30 }));
    await waitFor(() => subscription.caughtUp, { what: 'the subscription has caught up' });
    // A consumer takes some time for each batch, in which the next gathers.
    consumer.before = async () => {
      await store.ready({ timeoutMs: 1000 });
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
    const store = openAdapter({ url: server.url });
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
    const store = openAdapter({ url: server.url });
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
    expect(await store.ready({ timeoutMs: 1000 })).toBe(true);
  });

  test('asks again where to go on when that fails', async () => {
    const store = openAdapter({ url: server.url });
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
    const store = openAdapter({ url: server.url });
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

  test('is begun anew after silence', async () => {
    const store = openAdapter({ url: server.url, watchdogMs: 150 });
    const stream = freshStream();
    const consumer = new Consumer();
    consumer.position = positionOfEvent((await store.headPosition())!);
    store.subscribe(consumer.options([stream]));
    await waitFor(() => consumer.fromCalls >= 3, { what: 'two new beginnings' });
    await appendNumbers(store, stream, 0, 4);
    await waitFor(() => consumer.events.length === 5, { what: 'the events' });
    expect(consumer.numbers).toEqual(upTo(4));
  });

  test('survives cut connections', async () => {
    const proxy = await EventStoreProxy.start(portOf(server.url));
    onTestFinished(() => proxy.close());
    const store = openAdapter({ url: proxy.url });
    const stream = freshStream();
    const consumer = new Consumer();
    consumer.position = positionOfEvent((await store.headPosition())!);
    store.subscribe(consumer.options([stream]));
    for (let round = 0; round < 5; round += 1) {
      await appendNumbers(store, stream, round * 20, round * 20 + 19);
      proxy.cutAll();
    }
    await waitFor(() => consumer.events.length === 100, { what: 'all events' });
    expect(consumer.numbers).toEqual(upTo(99));
  });
});

describe.runIf(foreignUrl === undefined)('a subscription across restarts of the server', () => {
  test.each(['kill', 'stop'] as const)('(%s) delivers every event once and in order', async (end) => {
    const dataDirectory = temporaryDirectory();
    let restarted = await startEventStore({ dataDirectory });
    onTestFinished(() => restarted.stop());
    const port = portOf(restarted.url);
    const store = openAdapter({ url: restarted.url });
    const stream = freshStream();
    const consumer = new Consumer();
    const subscription = store.subscribe(consumer.options([stream]));
    let written = -1;
    for (let round = 0; round < 3; round += 1) {
      await appendNumbers(store, stream, written + 1, written + 20);
      written += 20;
      const appended = appendNumbers(store, stream, written + 1, written + 20);
      await restarted[end]();
      restarted = await startEventStore({ dataDirectory, port });
      await appended;
      written += 20;
    }
    await waitFor(() => consumer.events.length > written, { what: 'all events' });
    expect(consumer.numbers).toEqual(upTo(written));
    await waitFor(() => subscription.caughtUp, { what: 'the subscription has caught up' });
  });
});
