import { AckPolicy, nanos, type NatsConnection, RetentionPolicy } from 'nats';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectNats } from '../../../src/adapters/nats/connection.ts';
import { createJobQueue } from '../../../src/adapters/nats/job-queue.ts';
import { downloadQueue, type JobQueue } from '../../../src/ports/job-queue.ts';
import { defaultAckWaitMs, duplicateWindowMs } from '../../simulation/job-queue.ts';
import { emptyNatsServer, startNatsServer, type TestNatsServer } from '../../support/nats.ts';
import { waitFor } from '../../support/wait-for.ts';
import { jobQueueContract, messageOf, nextOf } from './job-queue-contract.ts';

const logger = pino({ level: 'silent' });

let server: TestNatsServer;
let connection: NatsConnection;
let queue: ReturnType<typeof createJobQueue>;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.remove());
beforeEach(async () => {
  connection = await connectNats(server.url, { name: 'test', logger });
  queue = createJobQueue(connection, { replicas: 1, logger });
});
afterEach(async () => {
  await connection.close();
  await emptyNatsServer(server.url);
});

const next = (from: JobQueue = queue) => nextOf(from);

async function waitingMessages(): Promise<number> {
  const manager = await connection.jetstreamManager();
  return (await manager.streams.info('DOWNLOADS')).state.messages;
}

jobQueueContract(() => ({
  queue,
  another: createJobQueue(connection, { replicas: 1, logger }),
  size: waitingMessages,
  isAwaited: async () =>
    (await (await connection.jetstreamManager()).consumers.info('DOWNLOADS', 'workers')).num_waiting === 1,
  redeliverAfter: async (ms) => {
    const manager = await connection.jetstreamManager();
    await manager.consumers.update('DOWNLOADS', 'workers', { ack_wait: nanos(ms) });
  },
}));

it('has the time limits of the simulated queue', async () => {
  await queue.publish(messageOf(1), '1');
  const manager = await connection.jetstreamManager();
  const [stream, consumer] = [
    await manager.streams.info('DOWNLOADS'),
    await manager.consumers.info('DOWNLOADS', 'workers'),
  ];
  expect(stream.config.duplicate_window).toBe(nanos(duplicateWindowMs));
  expect(consumer.config.ack_wait).toBe(nanos(defaultAckWaitMs));
});

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
