import { randomUUID } from 'node:crypto';
import {
  ANY,
  type AppendExpectedRevision,
  type AppendResult,
  EventStoreDBClient,
  jsonEvent,
  NO_STREAM,
  STREAM_EXISTS,
} from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import {
  collect,
  errorOf,
  eventStoreUnderTest,
  freshStream,
  type TestEvent,
  testEvent,
} from '../../support/event-store-under-test.ts';

const store = eventStoreUnderTest();
type Expected = AppendExpectedRevision | undefined;

const append = (stream: string, events: TestEvent[], expectedRevision: Expected) =>
  store.client.appendToStream(stream, events, expectedRevision === undefined ? {} : { expectedRevision });

const idsIn = async (stream: string): Promise<string[]> =>
  (await collect(store.client.readStream(stream))).map(({ event }) => event?.id ?? '');

/** A stream with a, b and c at revisions 0 to 2; x was never written. */
async function abc() {
  const stream = freshStream();
  const byName = Object.fromEntries(['a', 'b', 'c', 'd', 'x'].map((name) => [name, testEvent(name)]));
  const named = (names: string) => Array.from(names, (name) => byName[name]!);
  const { position } = await append(stream, named('abc'), NO_STREAM);
  return { stream, named, position: position!.commit };
}

describe('a retry, against a stream that holds a, b and c', () => {
  test.each<{ events: string; expected: Expected; next: bigint }>([
    { events: 'abc', expected: NO_STREAM, next: 2n },
    { events: 'ab', expected: NO_STREAM, next: 1n },
    { events: 'a', expected: NO_STREAM, next: 0n },
    { events: 'bc', expected: 0n, next: 2n },
    { events: 'c', expected: 1n, next: 2n },
    { events: 'abc', expected: ANY, next: 2n },
    { events: 'abc', expected: undefined, next: 2n },
    { events: 'b', expected: ANY, next: 1n },
    { events: 'c', expected: STREAM_EXISTS, next: 2n },
  ])('$events expecting $expected is answered with success at $next, and writes nothing', async (row) => {
    const { stream, named } = await abc();
    const before = await idsIn(stream);
    const result = await append(stream, named(row.events), row.expected);
    expect(result).toMatchObject({ success: true, nextExpectedRevision: row.next });
    expect(await idsIn(stream)).toEqual(before);
  });

  test.each<{ events: string; expected: Expected; said: unknown }>([
    { events: 'abcd', expected: NO_STREAM, said: 'no_stream' },
    { events: 'xb', expected: NO_STREAM, said: 'no_stream' },
    { events: 'ax', expected: NO_STREAM, said: 'no_stream' },
    { events: 'x', expected: NO_STREAM, said: 'no_stream' },
    { events: 'd', expected: 1n, said: 1n },
    { events: 'd', expected: 7n, said: 7n },
    { events: 'cd', expected: ANY, said: 'any' },
    { events: '', expected: NO_STREAM, said: 'no_stream' },
  ])('$events expecting $expected is refused', async (row) => {
    const { stream, named } = await abc();
    const error = await errorOf(append(stream, named(row.events), row.expected));
    expect(error).toMatchObject({
      type: 'wrong-expected-version',
      streamName: stream,
      expectedVersion: row.said,
      actualVersion: 2n,
    });
    expect(await idsIn(stream)).toHaveLength(3);
  });

  test('is answered with the original position, also after later events', async () => {
    const { stream, named, position } = await abc();
    await append(stream, named('d'), 2n);
    const again = await append(stream, named('abc'), NO_STREAM);
    expect(again.nextExpectedRevision).toBe(2n);
    expect(again.position?.commit).toBe(position);
  });

  test('is known by its ids alone: other data is not stored', async () => {
    const { stream, named } = await abc();
    const others = ['a', 'b', 'c'].map((name) => testEvent(name, { other: true }, named(name)[0]!.id));
    expect((await append(stream, others, NO_STREAM)).nextExpectedRevision).toBe(2n);
    const [first] = await collect(store.client.readStream(stream));
    expect(first?.event?.data).toEqual({ name: 'a' });
  });

  test('d at 2, twice, is stored once', async () => {
    const { stream, named } = await abc();
    expect((await append(stream, named('d'), 2n)).nextExpectedRevision).toBe(3n);
    expect((await append(stream, named('d'), 2n)).nextExpectedRevision).toBe(3n);
    expect((await append(stream, named('d'), ANY)).nextExpectedRevision).toBe(3n);
    expect((await append(stream, named('d'), STREAM_EXISTS)).nextExpectedRevision).toBe(3n);
    expect(await errorOf(append(stream, named('d'), 1n))).toMatchObject({ actualVersion: 3n });
    expect(await idsIn(stream)).toHaveLength(4);
  });

  test('a new id before a known one, without a revision, is a new append', async () => {
    const { stream, named } = await abc();
    expect((await append(stream, named('xc'), ANY)).nextExpectedRevision).toBe(4n);
  });
});

describe('an append', () => {
  test.each<{ expected: Expected; said: unknown }>([
    { expected: 0n, said: 0n },
    { expected: 5n, said: 5n },
    { expected: STREAM_EXISTS, said: 'stream_exists' },
  ])('to a missing stream expecting $expected is refused', async ({ expected, said }) => {
    const error = await errorOf(append(freshStream(), [testEvent('a')], expected));
    expect(error).toMatchObject({
      type: 'wrong-expected-version',
      expectedVersion: said,
      actualVersion: 'no_stream',
    });
  });

  test('of no events succeeds where the expectation holds, and creates nothing', async () => {
    const missing = freshStream();
    expect(await append(missing, [], NO_STREAM)).toMatchObject({ success: true, nextExpectedRevision: 0n });
    expect(await errorOf(collect(store.client.readStream(missing)))).toMatchObject({ type: 'stream-not-found' });
    const stream = freshStream();
    await append(stream, [testEvent('a'), testEvent('b')], NO_STREAM);
    expect(await append(stream, [], 1n)).toMatchObject({ success: true, nextExpectedRevision: 1n });
  });

  test.each([
    { what: 'small', pad: 1 },
    { what: 'too large', pad: 1100 * 1024 },
  ])('whose time is over when it comes ($what) is not stored', async ({ pad }) => {
    const stream = freshStream();
    const late = store.client.appendToStream(stream, testEvent('late', { pad: 'x'.repeat(pad) }), { deadline: -1000 });
    expect(await errorOf(late)).toMatchObject({ type: 'deadline-exceeded' });
    expect(await errorOf(collect(store.client.readStream(stream)))).toMatchObject({ type: 'stream-not-found' });
  });

  test('with one id twice, or an id known in another stream, is stored', async () => {
    const event = testEvent('a');
    const stream = freshStream();
    expect((await append(stream, [event, event], NO_STREAM)).nextExpectedRevision).toBe(1n);
    expect((await append(freshStream(), [event], ANY)).nextExpectedRevision).toBe(0n);
    expect(await idsIn(stream)).toEqual([event.id, event.id]);
  });

  test.each(['ä ö ü', '日本語/🎬', 'with space %20?&#', 'a\nb', '$system-like', 'x'.repeat(500)])(
    'to a stream named %j is stored and read back',
    async (name) => {
      const stream = `${name}-${randomUUID()}`;
      await append(stream, [testEvent('a')], NO_STREAM);
      const [resolved] = await collect(store.client.readStream(stream));
      expect(resolved?.event?.streamId).toBe(stream);
      const error = await errorOf(append(stream, [testEvent('b')], NO_STREAM));
      expect(error).toMatchObject({ type: 'wrong-expected-version', streamName: stream });
    },
  );

  test('of a type that begins with $ is stored', async () => {
    const stream = freshStream();
    await store.client.appendToStream(stream, jsonEvent({ type: '$own', data: {} }), { expectedRevision: NO_STREAM });
    expect((await collect(store.client.readStream(stream)))[0]?.event?.type).toBe('$own');
  });

  test.each([1, 11])('of 1 023 KiB in %i events is stored, of 1 100 KiB refused', async (count) => {
    const sized = (kibibytes: number): TestEvent[] =>
      Array.from({ length: count }, () =>
        testEvent('big', { pad: 'x'.repeat(Math.floor((kibibytes * 1024) / count) - 100) }),
      );
    const stream = freshStream();
    expect((await append(stream, sized(1023), NO_STREAM)).success).toBe(true);
    const error = await errorOf(append(stream, sized(1100), BigInt(count - 1)));
    expect(error).toMatchObject({ type: 'maximum-append-size-exceeded', maxAppendSize: 1024 * 1024 });
    expect(await idsIn(stream)).toHaveLength(count);
  });

  test('in several messages is one append', async () => {
    const stream = freshStream();
    const events = Array.from({ length: 40 }, (_, index) => testEvent('part', { index, pad: 'x'.repeat(500) }));
    await store.client.appendToStream(stream, events, { expectedRevision: NO_STREAM, batchAppendSize: 2000 });
    expect(await idsIn(stream)).toEqual(events.map(({ id }) => id));
  });

  test('one of a hundred at one revision succeeds', async () => {
    const stream = freshStream();
    await append(stream, [testEvent('a')], NO_STREAM);
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) => append(stream, [testEvent(`racer-${index}`)], 0n)),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(99);
    for (const { reason } of refused)
      expect(reason).toMatchObject({ type: 'wrong-expected-version', actualVersion: 1n });
    expect(await idsIn(stream)).toHaveLength(2);
  });

  test('without a revision is stored in the order of the calls', async () => {
    const stream = freshStream();
    const events = Array.from({ length: 100 }, (_, index) => testEvent('one', { index }));
    await Promise.all(events.map((event) => append(stream, [event], ANY)));
    expect(await idsIn(stream)).toEqual(events.map(({ id }) => id));
  });
});

describe('clients', () => {
  test('of several connections see one log', async () => {
    const stream = freshStream();
    const others = Array.from({ length: 3 }, () => EventStoreDBClient.connectionString(store.url));
    let revision: bigint | typeof NO_STREAM = NO_STREAM;
    // One after the other: a process must not have appends of two clients under way.
    for (const client of [...others, store.client, ...others]) {
      const result: AppendResult = await client.appendToStream(stream, testEvent('a'), { expectedRevision: revision });
      revision = result.nextExpectedRevision;
    }
    expect(revision).toBe(6n);
    const counts = await Promise.all(others.map(async (client) => (await collect(client.readStream(stream))).length));
    expect(counts).toEqual([7, 7, 7]);
    for (const client of others) await client.dispose();
  });

  test.each<{ expected: Expected; said: unknown }>([
    { expected: NO_STREAM, said: 'no_stream' },
    { expected: 7n, said: 7n },
  ])('that send credentials use the plain append, with the same answers ($expected)', async ({ expected, said }) => {
    const stream = freshStream();
    const credentials = { username: 'admin', password: 'changeit' };
    const event = testEvent('a');
    const send = (expectedRevision: AppendExpectedRevision, events = [event]) =>
      store.client.appendToStream(stream, events, { expectedRevision, credentials });
    expect(await send(NO_STREAM)).toMatchObject({ success: true, nextExpectedRevision: 0n });
    expect(await send(NO_STREAM)).toMatchObject({ success: true, nextExpectedRevision: 0n });
    expect(await errorOf(send(expected!, [testEvent('x')]))).toMatchObject({
      type: 'wrong-expected-version',
      streamName: stream,
      expectedVersion: said,
      actualVersion: 0n,
    });
    const big = [testEvent('big', { pad: 'x'.repeat(1100 * 1024) })];
    expect(await errorOf(send(0n, big))).toMatchObject({ type: 'maximum-append-size-exceeded' });
  });
});
