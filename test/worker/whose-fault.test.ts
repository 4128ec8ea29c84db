import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import type { VideoSource } from '../../src/ports/videos.ts';
import { readQueuedJob } from '../../src/commands/record-job-progress.ts';
import { downloadJob } from '../../src/worker/download.ts';
import { serveLocalStore, signingKey } from '../adapters/files/local-file-store.ts';
import { claimOne, dispatchingUnderTest, queueOne, releaseOne } from '../dispatcher/dispatching.ts';
import { silent } from '../projections/read-models-under-test.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const parts = dispatchingUnderTest();

/** A platform that never comes to an end. */
const endless: VideoSource = {
  probe: () => Promise.reject(new Error('nobody asks')),
  download: async (_video, _wanted, { signal }) => {
    if (!signal.aborted) await once(signal, 'abort');
    throw signal.reason;
  },
};

/** The third attempt of a download, which is its last. @returns the event that it ends with */
async function lastAttempt(limits: { attemptTimeoutMs: number; workDirectory: string }) {
  const message = await queueOne(parts);
  for (const hour of ['12', '13']) {
    const now = `2026-11-14T${hour}:00:00.000Z`;
    const claim = await claimOne(parts, message, { workerId: newId('wrk'), now });
    await releaseOne(parts, message, { claim, now });
  }
  const [workerId, now] = [newId('wrk'), '2026-11-14T14:00:00.000Z'];
  const claim = await claimOne(parts, message, { workerId, now });
  const { store: files } = serveLocalStore({ current: signingKey('k1'), others: [] });
  const job = await readQueuedJob(parts.store, message);
  await downloadJob(
    {
      ...{ store: parts.store, now: () => now, newUuid, workerId, source: endless, logger: silent, ...limits },
      ...{ files, progress: { report: () => undefined }, kindOf: () => 'video' },
    },
    { job: job!, claim },
    new AbortController().signal,
  );
  return (await parts.store.read(`job-${message.token}`, 0)).at(-1);
}

test('an attempt that runs into its time limit is the fault of the video', async () => {
  const ended = await lastAttempt({ attemptTimeoutMs: 200, workDirectory: temporaryDirectory() });
  expect(ended).toMatchObject({ type: 'JobFailed', data: { reason: 'timed_out', fault: 'video' } });
});

test('an attempt that fails inside the service is the fault of the service', async () => {
  const workDirectory = join(temporaryDirectory(), 'a-file');
  writeFileSync(workDirectory, 'in the place of the folder');
  const ended = await lastAttempt({ attemptTimeoutMs: 60_000, workDirectory });
  expect(ended).toMatchObject({ type: 'JobFailed', data: { reason: 'internal_error', fault: 'service' } });
});
