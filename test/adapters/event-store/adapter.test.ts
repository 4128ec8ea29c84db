import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { describe, expect, test } from 'vitest';

import { EventStoreClosed, EventStoreUnavailable, InvalidAppend } from '../../../src/ports/event-store.ts';
import type { EventToAppend } from '../../../src/ports/event-store.ts';
import { appendNumbers, eventToAppend, numberOf, openAdapter, upTo } from '../../support/event-store-adapter.ts';
import { deadUrl } from '../../support/event-store.ts';
import { eventStoreUnderTest, freshStream } from '../../support/event-store-under-test.ts';
import { patienceMs } from '../../support/wait-for.ts';

const server = eventStoreUnderTest();

describe('an append', () => {
  test('is stored, or conflicts, and a retry of it is stored', async () => {
    const store = openAdapter({ url: server.url });
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
    const store = openAdapter({ url: await deadUrl() });
    await expect(store.append(stream, expected ?? 'no_stream', events)).rejects.toBeInstanceOf(InvalidAppend);
  });

  test('of nearly the largest size is stored', async () => {
    const store = openAdapter({ url: server.url });
    const events = [eventToAppend(0, { pad: 'x'.repeat(1023 * 1024) })];
    expect(await store.append(freshStream(), 'no_stream', events)).toBe('stored');
  });

  test('is refused by a server that allows less', async () => {
    const store = openAdapter({ url: server.url, maxAppendBytes: 8 * 1024 * 1024 });
    const events = [eventToAppend(0, { pad: 'x'.repeat(1100 * 1024) })];
    await expect(store.append(freshStream(), 'no_stream', events)).rejects.toBeInstanceOf(InvalidAppend);
  });

  test('sends what it was given, whatever happens to that afterwards', async () => {
    const store = openAdapter({ url: server.url });
    const stream = freshStream();
    const data: Record<string, unknown> = { number: 1 };
    const appended = store.append(stream, 'no_stream', [{ ...eventToAppend(1), data }]);
    data['number'] = 2;
    expect(await appended).toBe('stored');
    expect((await store.read(stream, 0)).map(numberOf)).toEqual([1]);
  });

  test('is one of two hundred at once on a connection that was never used', async () => {
    const store = openAdapter({ url: server.url });
    const streams = Array.from({ length: 200 }, () => freshStream());
    const outcomes = await Promise.all(
      streams.map((stream) => store.append(stream, 'no_stream', [eventToAppend(0), eventToAppend(1)])),
    );
    expect(new Set(outcomes)).toEqual(new Set(['stored']));
  });

  test('is not sent where nobody listens in time', async () => {
    const store = openAdapter({ url: await deadUrl() });
    const sendBeforeMs = performance.now() + 300;
    expect(await store.append(freshStream(), 'no_stream', [eventToAppend(0)], { sendBeforeMs })).toBe('not_sent');
    expect(performance.now()).toBeGreaterThanOrEqual(sendBeforeMs - 5);
  });

  test('is not sent after its time, even where somebody listens', async () => {
    const store = openAdapter({ url: server.url });
    const stream = freshStream();
    expect(await store.ready({ timeoutMs: patienceMs })).toBe(true);
    const options = { sendBeforeMs: performance.now() - 1 };
    expect(await store.append(stream, 'no_stream', [eventToAppend(0)], options)).toBe('not_sent');
    expect(await store.read(stream, 0)).toEqual([]);
  });

  test('to a tombstoned stream is refused', async () => {
    const stream = freshStream();
    await server.client.tombstoneStream(stream);
    await server.client.dispose();
    const store = openAdapter({ url: server.url });
    await expect(store.append(stream, 'no_stream', [eventToAppend(0)])).rejects.toBeInstanceOf(InvalidAppend);
  });
});

describe('a read', () => {
  test('gives events from a revision on, at most so many, with all that was stored', async () => {
    const store = openAdapter({ url: server.url });
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
    const store = openAdapter({ url: server.url });
    expect(await store.read(freshStream(), 0)).toEqual([]);
  });

  test('gives the newest position of the log', async () => {
    const store = openAdapter({ url: server.url });
    const stream = freshStream();
    await appendNumbers(store, stream, 0, 3);
    const [last] = await store.read(stream, 3);
    expect(await store.headPosition()).toBeGreaterThanOrEqual(last!.position);
  });

  test('gives everything after an event, unless that is more than wanted; the events of others count', async () => {
    const isOurs = (stream: string) => stream.startsWith('wanted');
    const store = openAdapter({ url: server.url, streams: { prefix: '', isOurs } });
    const [wanted, other] = [freshStream('wanted'), freshStream('other')];
    await appendNumbers(store, wanted, 0, 3);
    const [second] = await store.read(wanted, 1);
    const numbers = async (after: bigint, maxCount: number) => (await store.readTail(after, maxCount))?.map(numberOf);
    await appendNumbers(store, other, 0, 99);
    await appendNumbers(store, wanted, 4, 5);
    expect(await numbers(second!.position, 200)).toEqual([2, 3, 4, 5]);
    expect(await numbers(second!.position, 50)).toBeUndefined();
    const [newest] = await store.read(wanted, 5);
    expect(await numbers(newest!.position, 20)).toEqual([]);
  });

  test('gives the newest position of streams with a prefix, however far back it lies', async () => {
    const store = openAdapter({ url: server.url });
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
    expect(await store.newestPositions(asked)).toEqual([newest, newest, undefined, undefined, newestOther, undefined]);
    for (const each of asked.slice(0, 3))
      expect(await store.newestPositions([each])).toEqual([each.after < newest ? newest : undefined]);
    expect(await store.newestPositions([])).toEqual([]);
    const within = (maxEvents: number) => store.newestPositionsWithin(maxEvents, asked);
    expect(await within(1_000)).toEqual(await store.newestPositions(asked));
    const back = 'further_back';
    expect(await within(100)).toEqual([back, back, back, back, newestOther, undefined]);
  });

  test('gives up in time where nobody listens', async () => {
    const store = openAdapter({ url: await deadUrl(), readTimeoutMs: 300 });
    await expect(store.read(freshStream(), 0)).rejects.toBeInstanceOf(EventStoreUnavailable);
    await expect(store.headPosition()).rejects.toBeInstanceOf(EventStoreUnavailable);
    expect(await store.ready({ timeoutMs: 100 })).toBe(false);
  });
});

describe('closing', () => {
  test('rejects what is pending, and whatever comes after', async () => {
    const store = openAdapter({ url: await deadUrl() });
    const append = () => store.append(freshStream(), 'no_stream', [eventToAppend(0)]);
    const pending = expect(append()).rejects.toBeInstanceOf(EventStoreClosed);
    await store.close();
    await expect(append()).rejects.toBeInstanceOf(EventStoreClosed);
    await expect(store.read(freshStream(), 0)).rejects.toBeInstanceOf(EventStoreClosed);
    expect(await store.ready({ timeoutMs: 1000 })).toBe(false);
    await pending;
  });

  test.each(['used', 'unused', 'unreachable'])('leaves nothing that keeps a process alive (%s)', async (how) => {
    const script = fileURLToPath(new URL('./use-and-close.ts', import.meta.url));
    const target = how === 'unreachable' ? await deadUrl() : server.url;
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, target, how], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(child.stdout, 'data');
    const exited = once(child, 'exit') as Promise<[number | null]>;
    await closed;
    const closedAtMs = performance.now();
    expect((await exited)[0]).toBe(0);
    expect(performance.now() - closedAtMs).toBeLessThan(1500);
  });
});
