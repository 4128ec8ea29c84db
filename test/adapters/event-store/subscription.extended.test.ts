import { describe, expect, onTestFinished, test } from 'vitest';
import { positionOfEvent } from '../../../src/ports/log-position.ts';
import { portOf, startEventStore } from '../../support/event-store.ts';
import { appendNumbers, openAdapter, upTo } from '../../support/event-store-adapter.ts';
import { EventStoreProxy } from '../../support/event-store-proxy.ts';
import { eventStoreUnderTest, foreignUrl, freshStream } from '../../support/event-store-under-test.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Consumer } from './port-contract.ts';

const server = eventStoreUnderTest();

describe('a subscription', () => {
  test('is begun anew after silence', async () => {
    const store = openAdapter({ url: server.url, watchdogMs: 150 });
    const stream = freshStream();
    const consumer = new Consumer();
    await appendNumbers(store, freshStream('other'), 0, 0);
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
