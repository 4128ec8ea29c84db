import type { NatsConnection } from 'nats';
import { pino } from 'pino';
import { afterAll, beforeAll } from 'vitest';
import { type JobRow, readJob } from '../../projections/jobs.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import type { ConnectedEventStore } from '../../src/adapters/event-store/event-store.ts';
import { createJobQueue } from '../../src/adapters/nats/job-queue.ts';
import { claimJob, readQueuedJob } from '../../src/commands/record-job-progress.ts';
import { dispatchDownloads } from '../../src/dispatcher/dispatch-downloads.ts';
import type { ClaimProof, JobCommand } from '../../src/domain/download-job.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { EndOfCatchUp } from '../../src/embedded/event-store/checkpoints.ts';
import type { JobMessage, JobQueue } from '../../src/ports/job-queue.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { recordStep } from '../commands/record-step.ts';
import { ask, downloadOf, freshToken, openUsage, writersOf } from '../commands/usage-account.ts';
import { readModelsOfFile, type TestReadModels } from '../projections/read-models-under-test.ts';
import { connectTo, startNatsServer, type TestNatsServer } from '../support/nats.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';

/** Log, queue and read models, all real, with the projection running. */
export interface Dispatching {
  store: ConnectedEventStore;
  models: TestReadModels;
  queue: JobQueue;
  nats: NatsConnection;
}

export function dispatchingUnderTest(endOfCatchUp?: EndOfCatchUp): Dispatching {
  const log = logUnderTest(endOfCatchUp);
  const parts: Partial<Dispatching> = {};
  const models = readModelsOfFile(log, usageAndJobs);
  let server: TestNatsServer;
  beforeAll(async () => {
    server = await startNatsServer();
    const nats = await connectTo(server.url);
    const queue = createJobQueue(nats, { replicas: 1, logger: pino({ level: 'silent' }) });
    Object.assign(parts, { store: log.store, models, nats, queue });
  });
  afterAll(async () => {
    await parts.nats?.close();
    await server.remove();
  });
  return parts as Dispatching;
}

/** The loop that publishes queued downloads. */
export const startDispatcher = ({ store, queue, models }: Dispatching) =>
  dispatchDownloads({ store, queue, pool: models.pool });

/** A download that was just queued (at noon of 14 November), as its message names it. */
export async function queueOne({ store }: Dispatching): Promise<JobMessage> {
  const account = await openUsage(store);
  const token = freshToken();
  await ask(writersOf(store), account, downloadOf(token));
  return { token, usageStream: account.stream, usageRevision: 2 };
}

export async function claimOne(
  { store }: Dispatching,
  message: JobMessage,
  { workerId, now }: { workerId: string; now: string },
): Promise<ClaimProof> {
  const job = await readQueuedJob(store, message);
  const dependencies = { store, now: () => now, newUuid };
  const proof = await claimJob(dependencies, { workerId, job: job!, message, timeoutMs: patienceMs });
  if (isRefused(proof)) throw new Error(proof.refusal);
  return proof;
}

export async function stepOne({ store }: Dispatching, command: JobCommand, now: string): Promise<void> {
  await recordStep({ store, now: () => now }, command);
}

/** The holder gives a job back, with a failure that may pass. */
export const releaseOne = (
  parts: Dispatching,
  { token }: JobMessage,
  { claim, now }: { claim: ClaimProof; now: string },
): Promise<void> => stepOne(parts, { kind: 'give_up', token, claim, reason: 'platform_error', fault: 'video' }, now);

const finishedFile = {
  name: 'media.mp4',
  mime: 'video/mp4',
  sizeBytes: 6,
  sha256: 'b'.repeat(64),
  durationSeconds: 9.5,
};

/** The holder has finished a job. */
export const completeOne = (
  parts: Dispatching,
  { token }: JobMessage,
  { claim, now }: { claim: ClaimProof; now: string },
): Promise<void> => stepOne(parts, { kind: 'complete', token, claim, file: finishedFile }, now);

/** Waits for a job's row to be as it should. */
export function rowOf(
  { models }: Dispatching,
  { token }: JobMessage,
  isRight: (row: JobRow) => boolean,
): Promise<JobRow> {
  return waitFor(
    async () => {
      const row = await readJob(models.pool, token);
      return row && isRight(row) && row;
    },
    { what: `the row of ${token}` },
  );
}

/** Takes and acknowledges so many messages; more than these must not be there. */
export async function takeMessages({ queue, nats }: Dispatching, count: number): Promise<JobMessage[]> {
  const manager = await nats.jetstreamManager();
  const waiting = async () => (await manager.streams.info('DOWNLOADS')).state.messages;
  await waitFor(
    () =>
      waiting().then(
        (messages) => messages >= count,
        () => false,
      ),
    { what: `${count} messages` },
  );
  const taken: JobMessage[] = [];
  while (taken.length < count) {
    const received = await queue.next(new AbortController().signal);
    if (!received) continue;
    taken.push(received.message);
    received.acknowledge();
  }
  await waitFor(async () => (await waiting()) === 0, { what: 'no further message' });
  return taken;
}
