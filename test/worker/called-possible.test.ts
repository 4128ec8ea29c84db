import { expect, it } from 'vitest';
import { readQueuedJob } from '../../src/commands/record-job-progress.ts';
import type { FailureReason } from '../../src/domain/failure-reasons.ts';
import type { DownloadFailure, VideoSource } from '../../src/ports/videos.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { downloadJob } from '../../src/worker/download.ts';
import { serveLocalStore, signingKey } from '../adapters/files/local-file-store.ts';
import { correct } from '../commands/keyed-downloads.ts';
import { ask, downloadOf, freshToken, midNovember, openUsage, writersOf } from '../commands/usage-account.ts';
import { claimOne, dispatchingUnderTest } from '../dispatcher/dispatching.ts';
import { video } from '../domain/usage-examples.ts';
import { silent } from '../projections/read-models-under-test.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { patienceMs } from '../support/wait-for.ts';

/** A job that fails at its probe for what metadata had just called possible is given back; any other failure stays as it is. */
const parts = dispatchingUnderTest();

const minutesBefore = (minutes: number) => new Date(Date.parse(midNovember) - minutes * 60_000).toISOString();

interface LookUp {
  minutesBefore: number;
  refusal?: FailureReason | null;
  videoId?: string;
  /** The client was told that it failed. */
  isVoided?: boolean;
}

/** What an account asked before it queued a download, and how that failed. @returns whose fault the log calls it */
async function faultAfter(lookUps: readonly LookUp[], failed: Partial<DownloadFailure>, others = 0) {
  const account = await openUsage(parts.store, { metadata_limit: 1_000 });
  for (const lookUp of lookUps) {
    const writers = writersOf(parts.store, () => minutesBefore(lookUp.minutesBefore));
    const lookupId = newUuid();
    const downloadRefusal = lookUp.refusal ?? null;
    const asked = { ...video, videoId: lookUp.videoId ?? video.videoId };
    await ask(writers, account, { kind: 'debit_metadata', lookupId, video: asked, downloadRefusal });
    if (lookUp.isVoided) await correct(parts.store, account.stream, { kind: 'void_lookup', lookupId });
  }
  const writers = writersOf(parts.store);
  const elsewhere = { ...video, videoId: 'another' };
  const lookUpElsewhere = () =>
    ask(writers, account, { kind: 'debit_metadata', lookupId: newUuid(), video: elsewhere, downloadRefusal: null });
  await Promise.all(Array.from({ length: others }, lookUpElsewhere));
  const token = freshToken();
  const queued = await ask(writers, account, downloadOf(token));
  if (queued.outcome !== 'accepted') throw new Error(queued.outcome);
  const at = (await parts.store.read(account.stream, 0)).findLast(({ type }) => type === 'DownloadQueued');
  const message = { token, usageStream: account.stream, usageRevision: at?.revision ?? -1 };
  const [workerId, now] = [newId('wrk'), midNovember];
  const claim = await claimOne(parts, message, { workerId, now });
  const job = await readQueuedJob(parts.store, message);
  const source: VideoSource = {
    probe: () => Promise.reject(new Error('nobody asks')),
    download: async () => ({ ok: false, reason: 'live_stream', fault: 'video', detail: 'It is live.', ...failed }),
  };
  const { store: files } = serveLocalStore({ current: signingKey('k1'), others: [] });
  await downloadJob(
    {
      store: parts.store,
      now: () => now,
      newUuid,
      workerId,
      logger: silent,
      attemptTimeoutMs: patienceMs,
      progress: { report: () => undefined },
      kindOf: () => 'video',
      source,
      files,
      workDirectory: temporaryDirectory(),
    },
    { job: job!, claim },
    new AbortController().signal,
  );
  const ended = (await parts.store.read(`job-${token}`, 0)).at(-1);
  return ended?.data as { fault: string; reason: string; detail: string };
}

const atProbe = { nothingFetched: true };

it('is given back, and the log says why', async () => {
  expect(await faultAfter([{ minutesBefore: 59 }], atProbe)).toMatchObject({
    fault: 'service',
    reason: 'live_stream',
    detail: 'Metadata had called this possible. It is live.',
  });
});

it('is given back however much else was asked in between', async () => {
  expect(await faultAfter([{ minutesBefore: 5 }], atProbe, 700)).toMatchObject({ fault: 'service' });
});

it.each<[string, LookUp[], Partial<DownloadFailure>]>([
  ['the answer is older than an hour', [{ minutesBefore: 61 }], atProbe],
  ['the answer was about another video', [{ minutesBefore: 5, videoId: 'another' }], atProbe],
  ['nobody asked', [], atProbe],
  ['the newest answer was another', [{ minutesBefore: 9 }, { minutesBefore: 5, refusal: 'live_stream' }], atProbe],
  ['the client was told that its question failed', [{ minutesBefore: 5, isVoided: true }], atProbe],
  ['bytes were fetched', [{ minutesBefore: 5 }], { nothingFetched: false }],
  ['metadata never says it', [{ minutesBefore: 5 }], { ...atProbe, reason: 'video_unavailable' }],
])('stays charged if %s', async (_what, lookUps, failed) => {
  expect(await faultAfter(lookUps, failed)).toMatchObject({ fault: 'video' });
});
