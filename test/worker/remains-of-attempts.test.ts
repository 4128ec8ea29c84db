import { randomUUID } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { createS3FileStore } from '../../src/adapters/files/s3-file-store.ts';
import { readJob, readQueuedJob } from '../../src/commands/record-job-progress.ts';
import type { VideoSource } from '../../src/ports/videos.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { downloadJob } from '../../src/worker/download.ts';
import { claimOne, dispatchingUnderTest, queueOne } from '../dispatcher/dispatching.ts';
import { rememberingLogger, silent } from '../projections/read-models-under-test.ts';
import { s3Account, startS3Server } from '../support/s3/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const parts = dispatchingUnderTest();

/** A platform with one film. */
const oneFilm: VideoSource = {
  probe: () => Promise.reject(new Error('nobody asks')),
  download: async (_video, _wanted, { directory }) => {
    const path = join(directory, 'media.mp4');
    await writeFile(path, 'a film');
    const { size: sizeBytes } = await stat(path);
    return {
      ok: true,
      path,
      name: 'media.mp4',
      mime: 'video/mp4',
      sizeBytes,
      sha256: 'a'.repeat(64),
      durationSeconds: 9,
    };
  },
};

test('a download is done, and is not said to have failed, if the files of its earlier attempts cannot be removed', async () => {
  await using s3 = await startS3Server();
  const { bucket, region, ...credentials } = s3Account;
  const files = await createS3FileStore({
    ...{
      bucket,
      region,
      credentials,
      endpoint: s3.url,
      publicEndpoint: undefined,
      forcePathStyle: true,
      logger: silent,
    },
    ...{ prefix: 'files/', nowMs: () => Date.now(), nonce: randomUUID },
  });
  const message = await queueOne(parts);
  const [workerId, now] = [newId('wrk'), '2026-11-14T14:00:00.000Z'];
  const claim = await claimOne(parts, message, { workerId, now });
  const job = await readQueuedJob(parts.store, message);
  const { logger, text } = rememberingLogger();
  // The bucket takes files, and lists none.
  s3.failWith(503, ['GET']);
  await downloadJob(
    {
      ...{ store: parts.store, now: () => now, newUuid, workerId, source: oneFilm, logger, files },
      ...{ attemptTimeoutMs: 60_000, workDirectory: temporaryDirectory() },
      ...{ progress: { report: () => undefined }, kindOf: () => 'video' },
    },
    { job: job!, claim },
    new AbortController().signal,
  );
  expect((await readJob(parts.store, message.token)).status).toBe('done');
  const lines = text().trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    'unused files of a job could not be removed; the dispatcher removes them later',
    'a download is done',
  ]);
});
