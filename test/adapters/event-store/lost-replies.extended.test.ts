import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { ConnectedEventStore } from '../../../src/adapters/event-store/event-store.ts';
import type { AppendOutcome } from '../../../src/ports/event-store.ts';
import { portOf } from '../../support/event-store.ts';
import { eventToAppend, numberOf, openAdapter } from '../../support/event-store-adapter.ts';
import { EventStoreProxy, type WayThrough } from '../../support/event-store-proxy.ts';
import { eventStoreUnderTest, freshStream } from '../../support/event-store-under-test.ts';
import { isLongProof } from '../../support/proof-scale.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

const server = eventStoreUnderTest();
let proxy: EventStoreProxy;
beforeAll(async () => {
  proxy = await EventStoreProxy.start(portOf(server.url));
});
afterAll(() => proxy.close());

/** Appends two events at a time with the connection cut each time, until the cut comes too late to touch the append. */
async function cutEveryStep(store: ConnectedEventStore, way: WayThrough, stepBytes: number): Promise<number> {
  const stream = freshStream();
  const numbers: number[] = [];
  let cutsSeen = 0;
  for (let afterBytes = 0; ; afterBytes += stepBytes) {
    expect(await store.ready({ timeoutMs: patienceMs })).toBe(true);
    const cutsBefore = proxy.cuts;
    const next = numbers.length;
    proxy.cutAfter(way, afterBytes);
    const outcome = await store.append(stream, next === 0 ? 'no_stream' : next - 1, [
      eventToAppend(next),
      eventToAppend(next + 1),
    ]);
    proxy.cutNever();
    expect(outcome, `cut ${way} after ${afterBytes} bytes`).toBe('stored');
    numbers.push(next, next + 1);
    if (proxy.cuts === cutsBefore) break;
    cutsSeen += 1;
  }
  expect((await store.read(stream, 0)).map(numberOf)).toEqual(numbers);
  return cutsSeen;
}

it('tells of each append how it ended, how often it was sent again, and which are still open', async () => {
  const told: string[] = [];
  const observer = {
    appendEnded: (outcome: string, durationSeconds: number) => void told.push(`${outcome} ${durationSeconds > 0}`),
    appendResent: () => void told.push('resent'),
  };
  const store = openAdapter({ url: proxy.url, observer });
  const stream = freshStream();
  expect(await store.ready({ timeoutMs: patienceMs })).toBe(true);
  expect(store.openAppends()).toEqual({ count: 0, oldestSeconds: 0 });
  proxy.cutAfter('to_client', 0);
  const appending = store.append(stream, 'no_stream', [eventToAppend(0)]);
  await waitFor(() => store.openAppends().oldestSeconds > 0, { what: 'the append to be open' });
  expect(store.openAppends().count).toBe(1);
  await waitFor(() => proxy.cuts > 0, { what: 'the cut' });
  proxy.cutNever();
  expect(await appending).toBe('stored');
  expect(await store.append(stream, 'no_stream', [eventToAppend(1)])).toBe('conflict');
  expect(store.openAppends().count).toBe(0);
  expect(new Set(told.slice(0, -2))).toEqual(new Set(['resent']));
  expect(told.slice(-2)).toEqual(['stored true', 'conflict true']);
});

/** Does something while the server is silent, until the connection is given up, and with it the attempts made over it. */
async function silentFor<Result>(work: () => Promise<Result>): Promise<Result> {
  const before = proxy.connections;
  proxy.silence();
  const working = work();
  await waitFor(() => proxy.connections > before, { what: 'another connection' });
  proxy.heal();
  return await working;
}

it('sends an append again once when a silent server speaks again, however its earlier attempt ends', async () => {
  let resent = 0;
  const observer = { appendEnded: () => undefined, appendResent: () => void (resent += 1) };
  // An answer that takes longer than this would be a second reason to send it again.
  const store = openAdapter({ url: proxy.url, observer, resendAfterMs: 3_000 });
  expect(await store.ready({ timeoutMs: patienceMs })).toBe(true);
  expect(await silentFor(() => store.append(freshStream(), 'no_stream', [eventToAppend(0)]))).toBe('stored');
  expect(resent).toBe(1);
});

it('keeps appends of a silent server that are more than the connection takes', async () => {
  const store = openAdapter({ url: proxy.url });
  expect(await store.ready({ timeoutMs: patienceMs })).toBe(true);
  const pad = 'x'.repeat(2_000);
  const append = () => store.append(freshStream(), 'no_stream', [eventToAppend(0, { pad })]);
  const outcomes = await silentFor(() => Promise.all(Array.from({ length: 2_000 }, append)));
  expect(new Set(outcomes)).toEqual(new Set(['stored']));
});

describe('a connection that is cut', () => {
  test.each<{ way: WayThrough; usual: number; leastCuts: number }>([
    { way: 'to_server', usual: 24, leastCuts: 8 },
    { way: 'to_client', usual: 8, leastCuts: 4 },
  ])('anywhere in an append, $way, leaves it stored exactly once', async ({ way, usual, leastCuts }) => {
    const store = openAdapter({ url: proxy.url });
    expect(await cutEveryStep(store, way, isLongProof ? 1 : usual)).toBeGreaterThanOrEqual(leastCuts);
  });

  test('with many appends under way leaves each stored exactly once', async () => {
    const store = openAdapter({ url: proxy.url });
    for (const [way, afterBytes] of [
      ['to_server', 3000],
      ['to_client', 500],
      ['to_client', 2000],
    ] as const) {
      expect(await store.ready({ timeoutMs: patienceMs })).toBe(true);
      const streams = Array.from({ length: 40 }, () => freshStream());
      const cutsBefore = proxy.cuts;
      proxy.cutAfter(way, afterBytes);
      const outcomes = await Promise.all(
        streams.map((stream) => store.append(stream, 'no_stream', [eventToAppend(0), eventToAppend(1)])),
      );
      expect(proxy.cuts).toBe(cutsBefore + 1);
      expect(new Set(outcomes)).toEqual(new Set(['stored']));
      const counts = await Promise.all(streams.map(async (stream) => (await store.read(stream, 0)).length));
      expect(new Set(counts)).toEqual(new Set([2]));
    }
  });
});

describe('a server that says nothing', () => {
  test('to a new connection keeps an append that may wait pending until it answers', async () => {
    proxy.silence();
    const store = openAdapter({ url: proxy.url });
    const stream = freshStream();
    let outcome: AppendOutcome | undefined;
    const appended = store.append(stream, 'no_stream', [eventToAppend(0)]).then((result) => (outcome = result));
    const sendBeforeMs = performance.now() + 1500;
    expect(await store.append(freshStream(), 'no_stream', [eventToAppend(0)], { sendBeforeMs })).toBe('not_sent');
    expect(outcome).toBeUndefined();
    proxy.heal();
    expect(await appended).toBe('stored');
    expect(await store.read(stream, 0)).toHaveLength(1);
  });

  test('on a connection that worked leaves the outcome open until it is found out, and is told as not ready', async () => {
    const store = openAdapter({ url: proxy.url });
    const stream = freshStream();
    const applied: number[] = [];
    const subscription = store.subscribe({
      name: 'silence',
      streamPrefixes: [stream],
      from: () => Promise.resolve(undefined),
      apply: async ({ events }) => void applied.push(...events.map(numberOf)),
    });
    expect(await store.append(stream, 'no_stream', [eventToAppend(0)])).toBe('stored');
    await waitFor(() => applied.length === 1 && subscription.caughtUp, { what: 'the first event' });
    proxy.silence();
    let outcome: AppendOutcome | undefined;
    const appended = store.append(stream, 0, [eventToAppend(1)]).then((result) => (outcome = result));
    expect(await store.ready({ timeoutMs: 300 })).toBe(false);
    await expect(store.read(stream, 0)).rejects.toMatchObject({ name: 'EventStoreUnavailable' });
    expect(outcome).toBeUndefined();
    proxy.heal();
    expect(await appended).toBe('stored');
    expect((await store.read(stream, 0)).map(numberOf)).toEqual([0, 1]);
    // From the start, since `from` says so: what matters is that it goes on at all.
    await waitFor(() => applied.at(-1) === 1, { what: 'the subscription goes on' });
  });
});
