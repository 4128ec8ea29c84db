import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { AckPolicy, RetentionPolicy } from 'nats';
import type { NatsConnection } from 'nats';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createJobQueue } from '../../../src/adapters/nats/job-queue.ts';
import { connectNats } from '../../../src/adapters/nats/connection.ts';
import { downloadQueue } from '../../../src/ports/job-queue.ts';
import type { JobQueue, ReceivedJob } from '../../../src/ports/job-queue.ts';
import { launchNatsServer } from '../../../src/embedded/nats-server.ts';
import type { RunningServer } from '../../../src/embedded/server-process.ts';
import { givenEngines } from '../../support/given-engines.ts';
import { startNatsServer } from '../../support/nats.ts';
import type { TestNatsServer } from '../../support/nats.ts';
import { waitFor } from '../../support/wait-for.ts';

const logger = pino({ level: 'silent' });

let server: TestNatsServer;
let connection: NatsConnection;
let queue: ReturnType<typeof createJobQueue>;
beforeEach(async () => {
  server = await startNatsServer();
  connection = await connectNats(server.url, { name: 'test', logger });
  queue = createJobQueue(connection, { replicas: 1, logger });
});
afterEach(async () => {
  await connection.close();
  await server.remove();
});

const messageOf = (number: number) => ({
  token: `TokenOfDownload-${String(number).padStart(4, '0')}`,
  usageStream: 'usage-acc_aaaaaaaaaaaaaaaa-20261101',
  usageRevision: number * 2,
});

async function next(from: JobQueue = queue): Promise<ReceivedJob> {
  const received = await from.next(new AbortController().signal);
  if (!received) throw new Error('the queue is empty');
  return received;
}

async function waitingMessages(): Promise<number> {
  const manager = await connection.jetstreamManager();
  return (await manager.streams.info('DOWNLOADS')).state.messages;
}

it('a look that does not wait leaves no question behind, whose missing answer would end the process', async () => {
  const asked: string[] = [];
  connection.subscribe('$JS.API.CONSUMER.INFO.>', { callback: (_error, { subject }) => asked.push(subject) });
  await queue.publish(messageOf(1), '1');
  const taken = await queue.next(new AbortController().signal, false);
  expect(taken?.message.usageRevision).toBe(2);
  await connection.flush();
  expect(asked).toEqual([]);
});

it('a consumer of an earlier version gets the limits of this one', async () => {
  const manager = await connection.jetstreamManager();
  await manager.streams.add({ name: 'DOWNLOADS', subjects: [downloadQueue], retention: RetentionPolicy.Workqueue });
  const earlier = { durable_name: 'workers', ack_policy: AckPolicy.Explicit, max_ack_pending: 1 };
  await manager.consumers.add('DOWNLOADS', earlier);
  for (const number of [1, 2, 3]) await queue.publish(messageOf(number), String(number));
  const taken = [await next(), await next(), await next()];
  expect(taken.map(({ message }) => message.usageRevision)).toEqual([2, 4, 6]);
});

it('that has another number of replicas than asked for is used as it is, and says so', async () => {
  const lines: string[] = [];
  const told = pino({}, { write: (line: string) => void lines.push(line) });
  await queue.publish(messageOf(1), 'one');
  const other = createJobQueue(connection, { replicas: 3, logger: told });
  expect((await next(other)).message).toEqual(messageOf(1));
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { level: 40, stream: 'DOWNLOADS', replicas: 1, NATS_REPLICAS: 3 },
  ]);
});

it('cannot have more replicas than its server has others', async () => {
  const wide = createJobQueue(connection, { replicas: 3, logger });
  await expect(wide.publish(messageOf(1), 'one')).rejects.toThrow('replicas > 1 not supported in non-clustered mode');
});

it('tells how many messages wait, and how many are on their way, from its first moment on', async () => {
  expect(await queue.depth()).toEqual({ pending: 0, unacknowledged: 0, redelivered: 0 });
  for (const number of [1, 2, 3]) await queue.publish(messageOf(number), String(number));
  const received = await next();
  expect(await queue.depth()).toEqual({ pending: 2, unacknowledged: 1, redelivered: 0 });
  received.postpone(0);
  const taken = [await next(), await next(), await next()];
  expect(await queue.depth()).toEqual({ pending: 0, unacknowledged: 3, redelivered: 1 });
  for (const job of taken) job.acknowledge();
  await waitFor(async () => (await queue.depth()).unacknowledged === 0, { what: 'the acknowledgements' });
});

describe('a message', () => {
  it('is delivered once to one of the workers, and is gone when it is acknowledged', async () => {
    await queue.publish(messageOf(1), 'one');
    await queue.publish(messageOf(2), 'two');
    const [first, second] = [await next(), await next(createJobQueue(connection, { replicas: 1, logger }))];
    expect([first.message, second.message]).toEqual([messageOf(1), messageOf(2)]);
    expect(await waitingMessages()).toBe(2);
    first.keepAlive();
    first.acknowledge();
    second.acknowledge();
    await waitFor(async () => (await waitingMessages()) === 0, { what: 'an empty queue' });
  });

  it('hands on the span that it comes from, or none', async () => {
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    await queue.publish(messageOf(1), 'one', traceparent);
    await queue.publish(messageOf(2), 'two');
    expect([await next(), await next()].map((received) => received.traceparent)).toEqual([traceparent, undefined]);
  });

  it('of an id that the queue has had already is not taken again', async () => {
    await queue.publish(messageOf(1), 'one');
    await queue.publish(messageOf(1), 'one');
    expect(await waitingMessages()).toBe(1);
    (await next()).acknowledge();
    await waitFor(async () => (await waitingMessages()) === 0, { what: 'an empty queue' });
    await queue.publish(messageOf(1), 'one');
    await queue.publish(messageOf(1), 'one again');
    expect(await waitingMessages()).toBe(1);
  });

  it('that was postponed comes again, and not before its time', async () => {
    await queue.publish(messageOf(1), 'one');
    const postponedAtMs = performance.now();
    (await next()).postpone(600);
    const again = await next();
    expect(again.message).toEqual(messageOf(1));
    expect(performance.now() - postponedAtMs).toBeGreaterThanOrEqual(550);
    again.acknowledge();
  });

  it('that is none of ours is taken away, and what comes behind it is delivered', async () => {
    await queue.publish(messageOf(1), 'one');
    (await next()).acknowledge();
    for (const malformed of ['not JSON', '{}', JSON.stringify({ token: '', usage_stream: 'x', usage_revision: -1 })])
      await connection.jetstream().publish('downloads.queued', malformed);
    await queue.publish(messageOf(2), 'two');
    const stopping = new AbortController().signal;
    const received = [];
    for (let pull = 0; pull < 4; pull += 1) received.push(await queue.next(stopping));
    expect(received.map((job) => job?.message)).toEqual([undefined, undefined, undefined, messageOf(2)]);
    received.at(-1)?.acknowledge();
    await waitFor(async () => (await waitingMessages()) === 0, { what: 'an empty queue' });
  });
});

describe('a worker that stops', () => {
  it('no longer waits for a message', async () => {
    await queue.publish(messageOf(1), 'one');
    (await next()).acknowledge();
    const stopping = new AbortController();
    const pulling = queue.next(stopping.signal);
    const manager = await connection.jetstreamManager();
    const isPulling = async () => (await manager.consumers.info('DOWNLOADS', 'workers')).num_waiting === 1;
    await waitFor(isPulling, { what: 'the pull' });
    const stoppedAtMs = performance.now();
    stopping.abort();
    expect(await pulling).toBeUndefined();
    expect(performance.now() - stoppedAtMs).toBeLessThan(2_000);
  });

  it('takes none any more', async () => {
    await queue.publish(messageOf(1), 'one');
    expect(await queue.next(AbortSignal.abort())).toBeUndefined();
    expect((await next()).message).toEqual(messageOf(1));
  });
});

// Somebody else's server is not ours to stop.
describe.skipIf(givenEngines.natsUrl !== undefined)('a server that comes back', () => {
  /** Ends it, changes what it left behind, and starts it again at the same address. */
  async function restartAfter(change: () => void): Promise<RunningServer> {
    await server.stop();
    change();
    const { dataDirectory } = server;
    return await launchNatsServer({ dataDirectory, port: Number(new URL(server.url).port) });
  }

  /** Tries again, as the dispatcher and the worker do. */
  const retried = <Value>(attempt: () => Promise<Value>): Promise<Value> =>
    waitFor(
      () =>
        attempt().then(
          (value) => ({ value }),
          () => false as const,
        ),
      { what: 'the queue to work again' },
    ).then(({ value }) => value);

  it('has what it had', async () => {
    await queue.publish(messageOf(1), 'one');
    const again = await restartAfter(() => undefined);
    try {
      expect((await retried(() => next())).message).toEqual(messageOf(1));
    } finally {
      await again.stop();
    }
  });

  it('without its data gets its stream back, and takes messages again', async () => {
    await queue.publish(messageOf(1), 'one');
    (await next()).acknowledge();
    const again = await restartAfter(() => rmSync(join(server.dataDirectory, 'jetstream'), { recursive: true }));
    try {
      await retried(() => queue.publish(messageOf(1), 'one'));
      expect((await retried(() => next())).message).toEqual(messageOf(1));
    } finally {
      await again.stop();
    }
  });
});
