import { statSync, unlinkSync } from 'node:fs';
import { beforeEach } from 'vitest';
import { fileStoreContract } from '../adapters/files/file-store-contract.ts';
import { jobQueueContract } from '../adapters/nats/job-queue-contract.ts';
import { pendingVoidsContract } from '../adapters/postgres/pending-voids-contract.ts';
import { promised } from '../dispatcher/resolving.ts';
import { SimulatedQueue } from './job-queue.ts';
import { perfectNetwork } from './perfect-network.ts';
import { pendingVoidsOf, Postgres } from './postgres.ts';
import { ReadModels } from './read-models.ts';
import { beginClosing } from './replaced-queries.ts';
import { SimulatedFiles } from './simulated-files.ts';

/** Without faults the simulated parts keep the promises of the real ones. `event-log.test.ts` shows it of the log, `postgres.extended.test.ts` of the queries. */

pendingVoidsContract(() => {
  const postgres = new Postgres(new ReadModels(), perfectNetwork);
  const pendingVoids = pendingVoidsOf(postgres, { process: promised.process, now: () => promised.at });
  return { pendingVoids, closings: { begin: (stream) => beginClosing(postgres as never, stream) } };
});

let queue: SimulatedQueue;
beforeEach(() => {
  queue = new SimulatedQueue(perfectNetwork);
});
jobQueueContract(() => ({
  queue,
  another: queue,
  size: () => Promise.resolve(queue.size),
  isAwaited: () => Promise.resolve(true),
  redeliverAfter: (ms) => Promise.resolve(void (queue.ackWaitMs = ms)),
}));

fileStoreContract('the simulated file store', () => {
  const take = (path: string) => {
    const { size } = statSync(path);
    unlinkSync(path);
    return size;
  };
  return Promise.resolve({ store: new SimulatedFiles(perfectNetwork, take) });
});
