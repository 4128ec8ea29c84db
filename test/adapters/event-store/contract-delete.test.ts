import { ANY, BACKWARDS, END, NO_STREAM, STREAM_EXISTS } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import {
  collect,
  errorOf,
  eventStoreUnderTest,
  freshStream,
  streamOf,
  testEvent,
} from '../../support/event-store-under-test.ts';
import { waitFor } from '../../support/wait-for.ts';

const store = eventStoreUnderTest();

const revisions = async (stream: string): Promise<number[]> =>
  (await collect(store.client.readStream(stream))).map(({ event }) => Number(event?.revision));

describe('a deleted stream', () => {
  test.each([NO_STREAM, 2n, ANY] as const)('can be written to expecting %s, and goes on counting', async (expected) => {
    const stream = await streamOf(store, 3);
    const { position } = await store.client.deleteStream(stream);
    expect(position?.commit).toBeGreaterThan(0n);
    expect(await errorOf(collect(store.client.readStream(stream)))).toMatchObject({ type: 'stream-not-found' });
    const result = await store.client.appendToStream(stream, testEvent('new'), { expectedRevision: expected });
    expect(result.nextExpectedRevision).toBe(3n);
    // EventStoreDB brings a deleted stream back behind the append; until then a read may not find it.
    const isThere = () => revisions(stream).then(Boolean, () => false);
    await waitFor(isThere, { what: 'the stream to be there again' });
    expect(await revisions(stream)).toEqual([3]);
  });

  test('does not exist, where that is expected', async () => {
    const stream = await streamOf(store, 1);
    await store.client.deleteStream(stream, { expectedRevision: 0n });
    const append = store.client.appendToStream(stream, testEvent('new'), { expectedRevision: STREAM_EXISTS });
    expect(await errorOf(append)).toMatchObject({ type: 'stream-deleted', streamName: stream });
  });

  test('can be deleted again', async () => {
    const stream = await streamOf(store, 1);
    await store.client.deleteStream(stream);
    await expect(store.client.deleteStream(stream)).resolves.toBeDefined();
  });

  test('stays in the whole log', async () => {
    const stream = await streamOf(store, 1);
    const { position } = await store.client.deleteStream(stream);
    const [last] = await collect(store.client.readAll({ fromPosition: position!, direction: BACKWARDS, maxCount: 1 }));
    expect(last?.event?.streamId).toBe(stream);
  });
});

describe('a deletion', () => {
  test('at a wrong revision is refused', async () => {
    const stream = await streamOf(store, 2);
    const error = await errorOf(store.client.deleteStream(stream, { expectedRevision: 7n }));
    expect(error).toMatchObject({
      type: 'wrong-expected-version',
      code: 9,
      streamName: stream,
      expectedVersion: 7n,
      actualVersion: 1n,
    });
  });

  test.each([
    { expected: ANY, said: -2n },
    { expected: NO_STREAM, said: -1n },
  ] as const)('of a missing stream expecting $expected is refused', async ({ expected, said }) => {
    const error = await errorOf(store.client.deleteStream(freshStream(), { expectedRevision: expected }));
    expect(error).toMatchObject({ type: 'wrong-expected-version', expectedVersion: said, actualVersion: -1n });
  });

  test('of a missing stream expecting it to exist fails in the client', async () => {
    const error = await errorOf(
      store.client.deleteStream(freshStream(), { expectedRevision: STREAM_EXISTS as unknown as typeof ANY }),
    );
    expect(error).toMatchObject({ type: 'unknown', code: 13 });
  });
});

describe('a tombstoned stream', () => {
  test('is deleted for reads, appends, deletions, tombstones and subscriptions', async () => {
    const stream = await streamOf(store, 2);
    await store.client.tombstoneStream(stream);
    const deleted = { type: 'stream-deleted', streamName: stream };
    const withCode = { ...deleted, code: 9 };
    expect(await errorOf(collect(store.client.readStream(stream)))).toMatchObject(withCode);
    for (const expectedRevision of [ANY, NO_STREAM, 1n] as const) {
      const append = store.client.appendToStream(stream, testEvent('x'), { expectedRevision });
      expect(await errorOf(append)).toMatchObject(deleted);
    }
    expect(await errorOf(store.client.deleteStream(stream))).toMatchObject(withCode);
    expect(await errorOf(store.client.tombstoneStream(stream))).toMatchObject(withCode);
    expect(await errorOf(collect(store.client.subscribeToStream(stream)))).toMatchObject(withCode);
  });

  test('refuses a tombstone at a wrong revision', async () => {
    const stream = await streamOf(store, 2);
    const error = await errorOf(store.client.tombstoneStream(stream, { expectedRevision: 0n }));
    expect(error).toMatchObject({ type: 'wrong-expected-version', code: 9, expectedVersion: 0n, actualVersion: 1n });
  });

  test('can be a missing one', async () => {
    const stream = freshStream();
    await store.client.tombstoneStream(stream, { expectedRevision: NO_STREAM });
    expect(await errorOf(collect(store.client.readStream(stream)))).toMatchObject({ type: 'stream-deleted' });
  });

  test('ends a live subscription with an event at the highest revision, and an error', async () => {
    const stream = await streamOf(store, 1);
    const subscription = store.client.subscribeToStream(stream);
    const seen: bigint[] = [];
    const failures: Error[] = [];
    let isCaughtUp = false;
    subscription.on('error', (error: Error) => failures.push(error));
    subscription.on('caughtUp', () => (isCaughtUp = true));
    subscription.on('data', ({ event }) => seen.push(event!.revision));
    await waitFor(() => isCaughtUp, { what: 'the subscription has caught up' });
    await store.client.tombstoneStream(stream);
    await waitFor(() => seen.length === 2, { what: 'the tombstone' });
    expect(seen).toEqual([0n, 2n ** 63n - 1n]);
    await waitFor(() => failures.length > 0, { what: 'the end of the subscription' });
    expect(failures).toMatchObject([{ type: 'stream-deleted', streamName: stream }]);
  });
});

describe('metadata', () => {
  test('is undefined where there is none', async () => {
    expect((await store.client.getStreamMetadata(await streamOf(store, 1))).metadata).toBeUndefined();
    expect((await store.client.getStreamMetadata(freshStream())).metadata).toBeUndefined();
  });

  test('keeps its own and other keys', async () => {
    const stream = await streamOf(store, 1);
    const metadata = {
      maxCount: 7,
      maxAge: 3600,
      cacheControl: 9,
      acl: { readRoles: ['some'], writeRoles: ['$admins'], metaReadRoles: ['some', 'other'] },
      colour: 'blue',
      nested: { list: [1, 2] },
    };
    await store.client.setStreamMetadata(stream, metadata);
    expect((await store.client.getStreamMetadata(stream)).metadata).toEqual(metadata);
    await store.client.setStreamMetadata(stream, { colour: 'red' }, { expectedRevision: 0n });
    expect((await store.client.getStreamMetadata(stream)).metadata).toEqual({ colour: 'red' });
  });

  test('hides all but the newest events of maxCount', async () => {
    const stream = await streamOf(store, 5);
    await store.client.setStreamMetadata(stream, { maxCount: 2 });
    expect(await revisions(stream)).toEqual([3, 4]);
    await store.client.appendToStream(stream, testEvent('new'));
    expect(await revisions(stream)).toEqual([4, 5]);
    const backwards = await collect(store.client.readStream(stream, { direction: BACKWARDS, fromRevision: END }));
    expect(backwards.map(({ event }) => event?.revision)).toEqual([5n, 4n]);
  });

  test('hides what is before truncateBefore, and numbering goes on', async () => {
    const stream = await streamOf(store, 5);
    await store.client.setStreamMetadata(stream, { truncateBefore: 3 });
    expect(await revisions(stream)).toEqual([3, 4]);
    const result = await store.client.appendToStream(stream, testEvent('new'), { expectedRevision: 4n });
    expect(result.nextExpectedRevision).toBe(5n);
  });

  test('hides what is older than maxAge', async () => {
    const stream = await streamOf(store, 2);
    await store.client.setStreamMetadata(stream, { maxAge: 1 });
    await waitFor(async () => (await revisions(stream)).length === 0, { what: 'the events are too old' });
  });

  test('survives a deletion only as what hides the old events', async () => {
    const stream = await streamOf(store, 3);
    await store.client.setStreamMetadata(stream, { colour: 'blue' });
    await store.client.deleteStream(stream);
    await store.client.appendToStream(stream, testEvent('new'));
    // A server may write it a moment after it has answered the append.
    await waitFor(async () => (await store.client.getStreamMetadata(stream)).metadata?.truncateBefore === 3, {
      what: 'the metadata of the stream that lives again',
    });
    expect((await store.client.getStreamMetadata(stream)).metadata).toEqual({ truncateBefore: 3 });
  });
});
