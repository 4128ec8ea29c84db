import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { EventStoreUnavailable, InvalidAppend } from '../../../src/ports/event-store.ts';
import { deadUrl } from '../../support/event-store.ts';
import { appendNumbers, eventToAppend, numberOf, openAdapter } from '../../support/event-store-adapter.ts';
import { eventStoreUnderTest, freshStream } from '../../support/event-store-under-test.ts';
import { atMostMs } from '../../support/proof-scale.ts';
import { patienceMs } from '../../support/wait-for.ts';
import { describeEventStorePort } from './port-contract.ts';

const server = eventStoreUnderTest();

describeEventStorePort({
  open: () => openAdapter({ url: server.url }),
  openUnreachable: async () => openAdapter({ url: await deadUrl() }),
});

describe('an append to a server', () => {
  test('is refused by a server that allows less', async () => {
    const store = openAdapter({ url: server.url, maxAppendBytes: 8 * 1024 * 1024 });
    const events = [eventToAppend(0, { pad: 'x'.repeat(1100 * 1024) })];
    await expect(store.append(freshStream(), 'no_stream', events)).rejects.toBeInstanceOf(InvalidAppend);
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

describe('a read from a server', () => {
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

  test('gives up in time where nobody listens', async () => {
    const store = openAdapter({ url: await deadUrl(), readTimeoutMs: 300 });
    await expect(store.read(freshStream(), 0)).rejects.toBeInstanceOf(EventStoreUnavailable);
    await expect(store.headPosition()).rejects.toBeInstanceOf(EventStoreUnavailable);
    expect(await store.ready({ timeoutMs: 100 })).toBe(false);
  });
});

describe('closing a connection to a server', () => {
  test('leaves it unready', async () => {
    const store = openAdapter({ url: server.url });
    await store.close();
    expect(await store.ready({ timeoutMs: 1000 })).toBe(false);
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
    expect(performance.now() - closedAtMs).toBeLessThan(atMostMs(1_500));
  });
});
