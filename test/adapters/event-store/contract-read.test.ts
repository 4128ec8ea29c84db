import {
  BACKWARDS,
  binaryEvent,
  END,
  EventStoreDBClient,
  FORWARDS,
  jsonEvent,
  NO_STREAM,
  type ReadStreamOptions,
  START,
} from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import {
  collect,
  errorOf,
  eventStoreUnderTest,
  freshStream,
  streamOf,
  testEvent,
} from '../../support/event-store-under-test.ts';
import { areInContainers } from '../../support/given-engines.ts';

const store = eventStoreUnderTest();

const revisions = async (stream: string, options: Parameters<typeof store.client.readStream>[1]): Promise<number[]> =>
  (await collect(store.client.readStream(stream, options))).map(({ event }) => Number(event?.revision));

describe('a read of a stream', () => {
  test('gives every field of an event', async () => {
    const stream = freshStream();
    const event = testEvent('a', { text: 'ä', nested: { list: [1, null] } });
    const { position } = await store.client.appendToStream(stream, event, { expectedRevision: NO_STREAM });
    const [resolved] = await collect(store.client.readStream(stream));
    expect(resolved?.event).toMatchObject({
      streamId: stream,
      id: event.id,
      revision: 0n,
      type: 'type-a',
      isJson: true,
      data: { text: 'ä', nested: { list: [1, null] } },
      metadata: { from: 'test' },
      position,
    });
    expect(Math.abs(Number(resolved?.event?.created) - Date.now())).toBeLessThan(60_000);
  });

  test('gives bytes as bytes, and no metadata as undefined', async () => {
    const stream = freshStream();
    const bytes = Uint8Array.from([0, 255, 1, 2]);
    await store.client.appendToStream(stream, [
      binaryEvent({ type: 'bytes', data: bytes, metadata: bytes }),
      jsonEvent({ type: 'plain', data: {} }),
    ]);
    const [binary, plain] = await collect(store.client.readStream(stream));
    expect(binary?.event?.isJson).toBe(false);
    expect(Buffer.from(binary?.event?.data as Uint8Array)).toEqual(Buffer.from(bytes));
    expect(Buffer.from(binary?.event?.metadata as Uint8Array)).toEqual(Buffer.from(bytes));
    expect(plain?.event?.metadata).toBeUndefined();
  });

  test('of a missing stream fails', async () => {
    const stream = freshStream();
    const error = await errorOf(collect(store.client.readStream(stream)));
    expect(error).toMatchObject({ type: 'stream-not-found', streamName: stream });
  });

  test.each<{ options: ReadStreamOptions; expected: number[] }>([
    { options: {}, expected: [0, 1, 2, 3, 4] },
    { options: { fromRevision: 3n }, expected: [3, 4] },
    { options: { fromRevision: START, maxCount: 2 }, expected: [0, 1] },
    { options: { fromRevision: 9n }, expected: [] },
    { options: { direction: BACKWARDS, fromRevision: END }, expected: [4, 3, 2, 1, 0] },
    { options: { direction: BACKWARDS, fromRevision: END, maxCount: 2 }, expected: [4, 3] },
    { options: { direction: BACKWARDS, fromRevision: 2n }, expected: [2, 1, 0] },
    { options: { direction: BACKWARDS, fromRevision: 9n }, expected: [4, 3, 2, 1, 0] },
    { options: { direction: BACKWARDS, fromRevision: START }, expected: [0] },
  ])('with $options gives $expected', async ({ options, expected }) => {
    expect(await revisions(await streamOf(store, 5), options)).toEqual(expected);
  });

  test('of no events fails with the code of an unknown error', async () => {
    const error = await errorOf(collect(store.client.readStream(await streamOf(store, 1), { maxCount: 0 })));
    expect(error).toMatchObject({ type: 'unknown', code: 2 });
  });

  test('forwards from its end fails, of a stream that exists or does not', async () => {
    for (const stream of [await streamOf(store, 1), freshStream()]) {
      const error = await errorOf(collect(store.client.readStream(stream, { fromRevision: END })));
      expect(error).toMatchObject({ type: 'unknown', code: 2 });
    }
  });

  test('of many large events comes in order and complete', async () => {
    const stream = freshStream();
    for (let batch = 0; batch < 6; batch += 1) {
      const events = Array.from({ length: 100 }, () => testEvent('large', { pad: 'x'.repeat(8000) }));
      await store.client.appendToStream(stream, events);
    }
    const all = Array.from({ length: 600 }, (_, index) => index);
    expect(await revisions(stream, {})).toEqual(all);
    expect(await revisions(stream, { direction: BACKWARDS, fromRevision: END })).toEqual(all.toReversed());
  });

  test('follows links where asked to', async () => {
    const target = await streamOf(store, 2);
    const stream = freshStream();
    await store.client.appendToStream(stream, binaryEvent({ type: '$>', data: Buffer.from(`1@${target}`) }));
    const [plain] = await collect(store.client.readStream(stream));
    expect(plain?.event?.type).toBe('$>');
    const [followed] = await collect(store.client.readStream(stream, { resolveLinkTos: true }));
    expect(followed?.event).toMatchObject({ streamId: target, revision: 1n });
    expect(followed?.link).toMatchObject({ streamId: stream, revision: 0n });
  });
});

describe('a read of the whole log', () => {
  test('has rising positions, commit and prepare alike, in both directions', async () => {
    await streamOf(store, 20);
    const forwards = await collect(store.client.readAll({ direction: FORWARDS, fromPosition: START, maxCount: 1000 }));
    const positions = forwards.map(({ event }) => event!.position);
    for (const [index, position] of positions.entries()) {
      expect(position.prepare).toBe(position.commit);
      if (index > 0) expect(position.commit).toBeGreaterThan(positions[index - 1]!.commit);
    }
    const backwards = await collect(store.client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 10 }));
    const commits = backwards.map(({ event }) => event!.position.commit);
    expect(commits).toEqual(commits.toSorted((a, b) => (a < b ? 1 : -1)));
  });

  test('begins at its position forwards, and before it backwards', async () => {
    const stream = await streamOf(store, 3);
    const positions = (await collect(store.client.readStream(stream))).map(({ event }) => event!.position!);
    const at = positions[1]!;
    const [first] = await collect(store.client.readAll({ fromPosition: at, maxCount: 1 }));
    expect(first?.event?.position).toEqual(at);
    const [before] = await collect(store.client.readAll({ fromPosition: at, direction: BACKWARDS, maxCount: 1 }));
    expect(before?.event?.position).toEqual(positions[0]);
  });

  test('is empty from the end forwards and from the start backwards', async () => {
    expect(await collect(store.client.readAll({ fromPosition: END }))).toEqual([]);
    expect(await collect(store.client.readAll({ fromPosition: START, direction: BACKWARDS }))).toEqual([]);
  });
});

describe('a connection string', () => {
  // A server in a container gossips the port that it has in there.
  test.skipIf(areInContainers)('of a cluster leads to the same server, by its gossip', async () => {
    const stream = await streamOf(store, 1);
    const { host } = new URL(store.url);
    const client = EventStoreDBClient.connectionString(`esdb://${host},${host}?tls=false&nodePreference=leader`);
    expect(await collect(client.readStream(stream, { requiresLeader: true }))).toHaveLength(1);
    await client.dispose();
  });
});
