import { randomUUID } from 'node:crypto';
import { ANY, EventStoreDBClient, NO_STREAM } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import { startEventStore } from '../../support/event-store.ts';
import { collect, errorOf, foreignUrl, freshStream, testEvent } from '../../support/event-store-under-test.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';

const isOurs = foreignUrl === undefined;
if (!isOurs) console.log('The server at EVENTSTORE_URL is not ours to kill: its restarts are not tested.');

describe.runIf(isOurs)('after SIGKILL and a restart', () => {
  test('a retry at a revision is known, one without is stored again, and positions go on rising', async () => {
    const dataDirectory = temporaryDirectory();
    const before = await startEventStore({ dataDirectory });
    const stream = freshStream();
    const events = [testEvent('a'), testEvent('b')];
    const unversioned = testEvent('c');
    let client = EventStoreDBClient.connectionString(before.url);
    const first = await client.appendToStream(stream, events, { expectedRevision: NO_STREAM });
    await client.appendToStream(stream, unversioned, { expectedRevision: ANY });
    await client.setStreamMetadata(stream, { maxCount: 10 });
    await before.kill();
    await client.dispose();

    const after = await startEventStore({ dataDirectory });
    client = EventStoreDBClient.connectionString(after.url);
    try {
      const again = await client.appendToStream(stream, events, { expectedRevision: NO_STREAM });
      expect(again).toEqual(first);
      const twice = await client.appendToStream(stream, unversioned, { expectedRevision: ANY });
      expect(twice.nextExpectedRevision).toBe(3n);
      const all = await collect(client.readStream(stream));
      expect(all.map(({ event }) => event?.type)).toEqual(['type-a', 'type-b', 'type-c', 'type-c']);
      expect((await client.getStreamMetadata(stream)).metadata).toEqual({ maxCount: 10 });
      const positions = all.map(({ event }) => event!.position!.commit);
      expect(positions).toEqual(positions.toSorted((a, b) => (a < b ? -1 : 1)));
    } finally {
      await client.dispose();
      await after.stop();
    }
  });
});

describe.runIf(isOurs)('without a server', () => {
  test('an append fails with a bare error, a read as unavailable, and both work again after a restart', async () => {
    const dataDirectory = temporaryDirectory();
    const before = await startEventStore({ dataDirectory });
    const port = Number(new URL(before.url).port);
    const client = EventStoreDBClient.connectionString(before.url);
    const stream = `known-${randomUUID()}`;
    await client.appendToStream(stream, testEvent('a'));
    await before.kill();
    // The first call after the kill finds the dead connection; the next finds that nobody listens.
    await errorOf(client.appendToStream(stream, testEvent('b')));
    expect(await errorOf(client.appendToStream(stream, testEvent('b')))).toMatchObject({ code: 14 });
    const read = collect(client.readStream(stream));
    expect(await errorOf(read)).toMatchObject({ type: 'unavailable', code: 14 });
    const after = await startEventStore({ dataDirectory, port });
    try {
      const events = () => collect(client.readStream(stream)).catch(() => false as const);
      expect(await waitFor(events, { what: 'a read to work again' })).toHaveLength(1);
    } finally {
      await client.dispose();
      await after.stop();
    }
  });
});
