import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { connectNats } from '../../src/adapters/nats/connection.ts';
import { createJobQueue } from '../../src/adapters/nats/job-queue.ts';
import { sendSignal } from '../../src/system/processes.ts';
import { messageOf } from '../adapters/nats/job-queue-contract.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { canStartNatsCluster, startNatsCluster } from './nats-cluster.ts';

const silent = pino({ level: 'silent' });

it.skipIf(!canStartNatsCluster)(
  'three servers of NATS with the files of the profile cluster keep the queue while any one of them is away',
  async () => {
    const { serverOf, stop, url } = await startNatsCluster(temporaryDirectory());
    onTestFinished(stop);
    const connected = () => connectNats(url, { name: 'test', logger: silent }).catch(() => false as const);
    const connection = await waitFor(connected, { what: 'a server that listens' });
    onTestFinished(() => connection.close());
    // The others may not listen yet, and the client gives the reason of the last one that it tried.
    const withoutAuthority = url.replace(/@.*/, `@${connection.getServer()}`);
    await expect(connectNats(withoutAuthority, { name: 'test', logger: silent })).rejects.toThrow(/certificate/);
    const queue = createJobQueue(connection, { replicas: 3, logger: silent });
    const waiting = { what: 'the queue to work' };
    const publish = (number: number) => {
      const attempt = () => queue.publish(messageOf(number), String(number));
      return waitFor(
        () =>
          attempt().then(
            () => true,
            () => false,
          ),
        waiting,
      );
    };
    const take = () => waitFor(() => queue.next(new AbortController().signal).catch(() => undefined), waiting);

    await publish(0);
    const { streams } = await connection.jetstreamManager();
    const { config, cluster } = await streams.info('DOWNLOADS');
    expect(config.num_replicas).toBe(3);
    const missing = (count: number) =>
      waitFor(async () => (await queue.missingReplicas().catch(() => -1)) === count, {
        what: `${String(count)} missing replicas`,
      });
    await missing(0);
    // The one that leads the queue.
    sendSignal(serverOf(cluster?.leader ?? '').pid, 'SIGKILL');
    await publish(1);
    await missing(1);
    const taken = [await take(), await take()];
    expect(taken.map((job) => job.message)).toEqual([messageOf(0), messageOf(1)]);
    await expect(streams.delete('DOWNLOADS')).rejects.toThrow();
  },
);
