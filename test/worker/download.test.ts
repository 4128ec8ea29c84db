import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createS3FileStore } from '../../src/adapters/files/s3-file-store.ts';
import { readJob, readQueuedJob } from '../../src/commands/record-job-progress.ts';
import type { JobMessage } from '../../src/ports/job-queue.ts';
import type { VideoSource } from '../../src/ports/videos.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { type DownloadDependencies, downloadJob } from '../../src/worker/download.ts';
import { serveLocalStore, signingKey } from '../adapters/files/local-file-store.ts';
import { claimOne, dispatchingUnderTest, queueOne, releaseOne } from '../dispatcher/dispatching.ts';
import { rememberingLogger, silent } from '../projections/read-models-under-test.ts';
import { s3Account, startS3Server } from '../support/s3/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { patienceMs } from '../support/wait-for.ts';

const parts = dispatchingUnderTest();

/** A platform that never comes to an end. */
const endless: VideoSource = {
  probe: () => Promise.reject(new Error('nobody asks')),
  download: async (_video, _wanted, { signal }) => {
    if (!signal.aborted) await once(signal, 'abort');
    throw signal.reason;
  },
};

/** A platform with one film. */
const oneFilm: VideoSource = {
  ...endless,
  download: async (_video, _wanted, { directory }) => {
    const path = join(directory, 'media.mp4');
    await writeFile(path, 'a film');
    const { size: sizeBytes } = await stat(path);
    const file = { path, name: 'media.mp4', mime: 'video/mp4', sizeBytes, durationSeconds: 9, title: 'A film' };
    return { ok: true, ...file, sha256: 'a'.repeat(64) };
  },
};

/** Claims a job, and downloads it. */
async function attempt(
  message: JobMessage,
  given: Pick<DownloadDependencies, 'source' | 'files' | 'workDirectory'> & Partial<DownloadDependencies>,
): Promise<void> {
  const [workerId, now] = [newId('wrk'), '2026-11-14T14:00:00.000Z'];
  const claim = await claimOne(parts, message, { workerId, now });
  const job = await readQueuedJob(parts.store, message);
  const dependencies: DownloadDependencies = {
    store: parts.store,
    now: () => now,
    newUuid,
    workerId,
    logger: silent,
    attemptTimeoutMs: patienceMs,
    progress: { report: () => undefined },
    kindOf: () => 'video',
    ...given,
  };
  await downloadJob(dependencies, { job: job!, claim }, new AbortController().signal);
}

/** The third attempt of a download, which is its last. @returns the event that it ends with */
async function lastAttempt(given: { attemptTimeoutMs: number; workDirectory: string }) {
  const message = await queueOne(parts);
  for (const hour of ['12', '13']) {
    const now = `2026-11-14T${hour}:00:00.000Z`;
    const claim = await claimOne(parts, message, { workerId: newId('wrk'), now });
    await releaseOne(parts, message, { claim, now });
  }
  const { store: files } = serveLocalStore({ current: signingKey('k1'), others: [] });
  await attempt(message, { ...given, source: endless, files });
  return (await parts.store.read(`job-${message.token}`, 0)).at(-1);
}

test('an attempt that runs into its time limit is the fault of the video', async () => {
  const ended = await lastAttempt({ attemptTimeoutMs: 200, workDirectory: temporaryDirectory() });
  expect(ended).toMatchObject({ type: 'JobFailed', data: { reason: 'timed_out', fault: 'video' } });
});

test('an attempt that fails inside the service is the fault of the service', async () => {
  const workDirectory = join(temporaryDirectory(), 'a-file');
  writeFileSync(workDirectory, 'in the place of the folder');
  const ended = await lastAttempt({ attemptTimeoutMs: patienceMs, workDirectory });
  expect(ended).toMatchObject({ type: 'JobFailed', data: { reason: 'internal_error', fault: 'service' } });
});

test.each(['bars\n\u202e', 'x'.repeat(10_000)])('the end of a download has its title: %j', async (title) => {
  const { store: files } = serveLocalStore({ current: signingKey('k1'), others: [] });
  const named: VideoSource = {
    ...oneFilm,
    download: async (...given) => ({ ...(await oneFilm.download(...given)), title }),
  };
  const message = await queueOne(parts);
  await attempt(message, { source: named, files, workDirectory: temporaryDirectory() });
  const recorded = { title: title.slice(0, 200).replaceAll(/[\n\u202e]/g, '') };
  expect((await parts.store.read(`job-${message.token}`, 0)).at(-1)).toMatchObject({
    type: 'JobCompleted',
    data: recorded,
  });
  const failing: VideoSource = {
    ...endless,
    download: () => Promise.resolve({ ok: false, reason: 'too_long', fault: 'video', detail: 'x', title }),
  };
  const other = await queueOne(parts);
  await attempt(other, { source: failing, files, workDirectory: temporaryDirectory() });
  expect((await parts.store.read(`job-${other.token}`, 0)).at(-1)).toMatchObject({ type: 'JobFailed', data: recorded });
});

test('a download is done, and is not said to have failed, if the files of its earlier attempts cannot be removed', async () => {
  await using s3 = await startS3Server();
  const { bucket, region, ...credentials } = s3Account;
  const files = await createS3FileStore({
    bucket,
    region,
    credentials,
    endpoint: s3.url,
    publicEndpoint: undefined,
    forcePathStyle: true,
    logger: silent,
    prefix: 'files/',
    nowMs: () => Date.now(),
    nonce: randomUUID,
  });
  const message = await queueOne(parts);
  const { logger, text } = rememberingLogger();
  // The bucket takes files, and lists none.
  s3.failWith(503, ['GET']);
  await attempt(message, { source: oneFilm, files, logger, workDirectory: temporaryDirectory() });
  expect((await readJob(parts.store, message.token)).status).toBe('done');
  const lines = text().trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    'unused files of a job could not be removed; the dispatcher removes them later',
    'a download is done',
  ]);
});
