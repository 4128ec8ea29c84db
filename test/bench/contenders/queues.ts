import { Logger, makeWorkerUtils } from 'graphile-worker';
import type { Pool, PoolClient } from 'pg';

/** The queues that people use where Reeltally has its log: a table of the same database, and Redis. Nobody consumes them here. */
export interface JobQueue {
  beforeCommit: (client: PoolClient, job: QueuedJob) => Promise<unknown>;
  afterCommit: (job: QueuedJob) => Promise<unknown>;
}

export interface QueuedJob {
  token: string;
  format: string;
  quality: string;
}

export const bullMqPackage = 'bullmq';
const nothing = () => Promise.resolve();
const taskName = 'download';

/** @param kind undefined: none */
export async function openQueue(kind: string | undefined, pool: Pool): Promise<JobQueue> {
  if (kind === 'graphile-worker') return openGraphile(pool);
  if (kind === 'BullMQ') return openBullMq(process.env['REDIS_URL'] ?? '');
  return { beforeCommit: nothing, afterCommit: nothing };
}

async function openGraphile(pgPool: Pool): Promise<JobQueue> {
  const utils = await makeWorkerUtils({ pgPool, logger: new Logger(() => () => undefined) });
  await utils.migrate();
  return {
    beforeCommit: (client, job) =>
      client.query('select graphile_worker.add_job($1, $2::json)', [taskName, JSON.stringify(job)]),
    afterCommit: nothing,
  };
}

/** The part of the package `bullmq` that is used. Some of its own packages are not on every registry, so it is not installed. */
interface BullMq {
  Queue: new (
    name: string,
    options: { connection: { host: string; port: number } },
  ) => {
    add: (name: string, data: object) => Promise<unknown>;
  };
}

async function openBullMq(redisUrl: string): Promise<JobQueue> {
  const { hostname: host, port } = new URL(redisUrl);
  const { Queue } = (await import(bullMqPackage)) as BullMq;
  const queue = new Queue(taskName, { connection: { host, port: Number(port) } });
  return { beforeCommit: nothing, afterCommit: (job) => queue.add(taskName, job) };
}
