import { randomUUID } from 'node:crypto';
import { END, eventTypeFilter, START, streamNameFilter } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import {
  collect,
  eventStoreUnderTest,
  freshStream,
  listenTo,
  streamOf,
  testEvent,
  testEvents,
} from '../../support/event-store-under-test.ts';
import { waitFor } from '../../support/wait-for.ts';

const store = eventStoreUnderTest();

describe('a subscription to a stream', () => {
  test('is confirmed, gives the history, says that it has caught up, and goes on', async () => {
    const stream = await streamOf(store, 3);
    const record = listenTo(store.client.subscribeToStream(stream));
    await record.until('caughtUp');
    await store.client.appendToStream(stream, [testEvent('new'), testEvent('newer')]);
    expect(await record.until('type-newer')).toEqual([
      ...['confirmation', 'type-0', 'type-1', 'type-2', 'caughtUp', 'type-new', 'type-newer'],
    ]);
  });

  test('to a missing stream waits for it', async () => {
    const stream = freshStream();
    const record = listenTo(store.client.subscribeToStream(stream, { fromRevision: START }));
    await record.until('caughtUp');
    await streamOf(store, 1, stream);
    expect(await record.until('type-0')).toEqual(['confirmation', 'caughtUp', 'type-0']);
  });

  test('begins after its revision, or at the end', async () => {
    const stream = await streamOf(store, 4);
    const after = listenTo(store.client.subscribeToStream(stream, { fromRevision: 1n }));
    const live = listenTo(store.client.subscribeToStream(stream, { fromRevision: END }));
    await live.until('caughtUp');
    await after.until('caughtUp');
    await store.client.appendToStream(stream, testEvent('new'));
    expect(await after.until('type-new')).toEqual(['confirmation', 'type-2', 'type-3', 'caughtUp', 'type-new']);
    expect(await live.until('type-new')).toEqual(['confirmation', 'caughtUp', 'type-new']);
  });
});

describe('a subscription to the whole log', () => {
  test.each([
    {
      by: 'stream prefix',
      filter: (mark: string) => streamNameFilter({ prefixes: [`left${mark}`, `right${mark}`] }),
      expected: ['type-0', 'type-1', 'type-0', 'type-2'],
    },
    {
      by: 'stream expression',
      filter: (mark: string) => streamNameFilter({ regex: `^(left|right)${mark}-\\d$` }),
      expected: ['type-0', 'type-1', 'type-0', 'type-2'],
    },
    {
      by: 'event type prefix',
      filter: (mark: string) => eventTypeFilter({ prefixes: [`typed${mark}`] }),
      expected: ['typed', 'typed'],
    },
    {
      by: 'event type expression',
      filter: (mark: string) => eventTypeFilter({ regex: `^typed${mark}` }),
      expected: ['typed', 'typed'],
    },
  ])('filtered by $by gives what matches, in order, across streams', async ({ filter, expected }) => {
    const mark = randomUUID();
    const record = listenTo(store.client.subscribeToAll({ fromPosition: END, filter: filter(mark) }));
    await record.until('caughtUp');
    await store.client.appendToStream(`left${mark}-1`, [testEvent('0'), testEvent('1')]);
    await store.client.appendToStream(`other${mark}-1`, { ...testEvent('no'), type: `typed${mark}` });
    await store.client.appendToStream(`right${mark}-1`, testEvent('0'));
    await store.client.appendToStream(`left${mark}-1`, testEvent('2'));
    await store.client.appendToStream(`other${mark}-1`, { ...testEvent('no'), type: `typed${mark}` });
    await waitFor(() => record.said.length >= expected.length + 2, { what: 'the matching events' });
    const types = record.said.slice(2).map((type) => type.replace(mark, ''));
    expect(types).toEqual(expected);
  });

  test('begins after its position', async () => {
    const stream = await streamOf(store, 3);
    const positions = (await collect(store.client.readStream(stream))).map(({ event }) => event!.position!);
    const filter = streamNameFilter({ prefixes: [stream] });
    const record = listenTo(store.client.subscribeToAll({ fromPosition: positions[0]!, filter }));
    expect(await record.until('caughtUp')).toEqual(['confirmation', 'type-1', 'type-2', 'caughtUp']);
  });

  test('says how far it is after every interval, also while nothing matches, and before it has caught up', async () => {
    const start = await store.client.appendToStream(freshStream(), testEvent('start'));
    const stream = freshStream();
    await store.client.appendToStream(stream, testEvents(100));
    const checkpoints: bigint[] = [];
    const filter = streamNameFilter({
      prefixes: ['nothing-has-this-name'],
      checkpointInterval: 2,
      maxSearchWindow: 16,
      checkpointReached: async (_subscription, position) => void checkpoints.push(position.commit),
    });
    const record = listenTo(store.client.subscribeToAll({ fromPosition: start.position!, filter }));
    await record.until('caughtUp');
    expect(checkpoints.length).toBeGreaterThanOrEqual(3);
    expect(checkpoints).toEqual(checkpoints.toSorted((a, b) => (a < b ? -1 : 1)));
    const counted = checkpoints.length;
    await store.client.appendToStream(stream, testEvents(64));
    await waitFor(() => checkpoints.length > counted, { what: 'a checkpoint of the live subscription' });
  });

  test('gives a slow reader everything', async () => {
    const stream = freshStream();
    const record: number[] = [];
    const filter = streamNameFilter({ prefixes: [stream] });
    const subscription = store.client.subscribeToAll({ fromPosition: END, filter });
    await new Promise((resolve) => subscription.once('caughtUp', resolve).once('readable', () => undefined));
    for (let batch = 0; batch < 20; batch += 1) {
      const events = Array.from({ length: 100 }, (_, index) =>
        testEvent('slow', { number: batch * 100 + index, pad: 'x'.repeat(2000) }),
      );
      await store.client.appendToStream(stream, events);
    }
    for await (const { event } of subscription) {
      record.push((event!.data as { number: number }).number);
      if (record.length === 2000) break;
    }
    expect(record).toEqual(Array.from({ length: 2000 }, (_, index) => index));
  });
});
