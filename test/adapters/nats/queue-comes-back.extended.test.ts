import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { connectNats } from '../../../src/adapters/nats/connection.ts';
import { createJobQueue } from '../../../src/adapters/nats/job-queue.ts';
import { launchNatsServer } from '../../../src/embedded/nats-server.ts';
import type { JobQueue } from '../../../src/ports/job-queue.ts';
import { givenEngines } from '../../support/given-engines.ts';
import { startNatsServer } from '../../support/nats.ts';
import { waitFor } from '../../support/wait-for.ts';
import { messageOf, nextOf } from './job-queue-contract.ts';

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

/**
 * Ends a server between two steps and starts it again at the same address.
 *
 * @param change changes what it left behind
 */
async function aroundRestart({
  before,
  change,
  after,
}: {
  before: (queue: JobQueue) => Promise<void>;
  change: (dataDirectory: string) => void;
  after: (queue: JobQueue) => Promise<void>;
}): Promise<void> {
  await using server = await startNatsServer();
  const logger = pino({ level: 'silent' });
  const connection = await connectNats(server.url, { name: 'test', logger });
  const queue = createJobQueue(connection, { replicas: 1, logger });
  await before(queue);
  await server.stop();
  const { dataDirectory } = server;
  change(dataDirectory);
  const again = await launchNatsServer({ dataDirectory, port: Number(new URL(server.url).port) });
  try {
    await after(queue);
  } finally {
    await connection.close();
    await again.stop();
  }
}

// Somebody else's server is not ours to stop.
describe.skipIf(givenEngines.natsUrl !== undefined)('a server that comes back', () => {
  it('has what it had', async () => {
    await aroundRestart({
      before: (queue) => queue.publish(messageOf(1), 'one'),
      change: () => undefined,
      after: async (queue) => {
        expect((await retried(() => nextOf(queue))).message).toEqual(messageOf(1));
      },
    });
  });

  it('without its data gets its stream back, and takes messages again', async () => {
    await aroundRestart({
      before: async (queue) => {
        await queue.publish(messageOf(1), 'one');
        (await nextOf(queue)).acknowledge();
      },
      change: (dataDirectory) => rmSync(join(dataDirectory, 'jetstream'), { recursive: true }),
      after: async (queue) => {
        await retried(() => queue.publish(messageOf(1), 'one'));
        expect((await retried(() => nextOf(queue))).message).toEqual(messageOf(1));
      },
    });
  });
});
