import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { components } from '../../src/client/paths.ts';
import { apiClient } from '../support/client.ts';
import { ended, pollEveryMs, queue } from '../support/downloads.ts';
import { ffprobe } from '../support/ffprobe.ts';
import { isLongProof } from '../support/proof-scale.ts';
import { type Service, startService } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/** The main job, through real HTTP, log, Postgres, NATS, yt-dlp and ffmpeg. */
let service: Service;
let key: string;
const keys: string[] = [];

/** Those that take their time, for the tests at the end: they run while the others do. An account of their own pays. */
let patientKey: string;
let slow: Promise<Watched>;
let retried: { flaky: string; broken: string };

beforeAll(async () => {
  // As on a new machine: with all that it makes at its first download.
  service = await startService({ WORKER_SLOTS: '4' }, { isPrepared: false });
  ({ key } = await service.openAccount('enterprise'));
  ({ key: patientKey } = await service.openAccount('enterprise'));
  keys.push(key, patientKey);
  slow = watchSlow();
  // The test that waits for it says what went wrong.
  slow.catch(() => undefined);
  const token = async (item: string) =>
    (await queue(service.url, patientKey, { url: service.sampleUrl(item) })).request_token;
  retried = { flaky: await token('flaky'), broken: await token('broken') };
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  const log = service.log();
  for (const secret of [...keys, service.demo?.key ?? '', 'signature=']) expect(log).not.toContain(secret);
});

interface Watched {
  token: string;
  queued: string;
  seen: Set<unknown>;
  progress: unknown[];
  done: components['schemas']['DownloadDone'];
}

/** Queues the download that can be watched, and watches it to its end. */
async function watchSlow(): Promise<Watched> {
  const wanted = { url: service.sampleUrl('slow') };
  const { request_token: token, status: queued } = await queue(service.url, patientKey, wanted);
  const seen = new Set<unknown>();
  const progress: unknown[] = [];
  const done = await waitFor(
    async () => {
      const { data: answer } = await apiClient(service.url, patientKey).GET('/video/status', {
        params: { query: { token } },
      });
      const data = answer?.data;
      seen.add(data?.status);
      if (data?.status === 'running' && data.progress) progress.push(data.progress);
      return data?.status === 'done' && data;
    },
    { what: 'the slow download to be done', pollMs: pollEveryMs },
  );
  return { token, queued, seen, progress, done };
}

async function download(
  data: Awaited<ReturnType<typeof ended>>,
): Promise<{ path: string; response: Response; bytes: Buffer }> {
  if (data.status !== 'done') throw new Error(`the download ended with ${data.error}`);
  const response = await fetch(data.download_url);
  const bytes = Buffer.from(await response.arrayBuffer());
  const path = join(temporaryDirectory(), 'file');
  await writeFile(path, bytes);
  return { path, response, bytes };
}

describe('a download that succeeds', () => {
  const sizes = [
    ['720', 720],
    ['best', 1080],
    ['360', 360],
  ] as const;
  // That each size comes is shown where films are made; here, that the service hands on which was asked for.
  test.each(isLongProof ? sizes : sizes.slice(0, 1))('comes in the quality asked for: %s', async (quality, height) => {
    const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('bars'), quality });
    const { path } = await download(await ended(service.url, key, token));
    expect((await ffprobe(path)).height).toBe(height);
  });

  test('comes as MP3 where audio is asked for', async () => {
    const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('bars'), format: 'audio' });
    const data = await ended(service.url, key, token);
    expect(data).toMatchObject({ status: 'done', file_mime: 'audio/mpeg' });
    const { path, response } = await download(data);
    expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="sample-bars\.mp3"$/);
    const probed = await ffprobe(path);
    expect(probed).toMatchObject({ format: 'mp3', codecs: ['mp3'] });
    expect(probed.durationSeconds).toBeCloseTo(10, 0);
  });

  test('comes as M4A where that is asked for, also from a DASH stream', async () => {
    const body = { url: service.sampleUrl('dash'), format: 'audio', audio_format: 'm4a' } as const;
    const { request_token: token } = await queue(service.url, key, body);
    const data = await ended(service.url, key, token);
    expect(data).toMatchObject({ status: 'done', file_mime: 'audio/mp4' });
    expect(await ffprobe((await download(data)).path)).toMatchObject({ codecs: ['aac'] });
  });

  test('comes as the JPG of an image post that was asked for', async () => {
    const url = service.sampleUrl('stills').replace('/watch/', '/photo/');
    const { request_token: token } = await queue(service.url, key, { url, item: 3 });
    const data = await ended(service.url, key, token);
    expect(data).toMatchObject({ status: 'done', file_mime: 'image/jpeg' });
    expect(await ffprobe((await download(data)).path)).toMatchObject({ codecs: ['mjpeg'], height: 640 });
  });
});

test('a download that fails keeps its charge', async () => {
  const used = async () => (await apiClient(service.url, key).GET('/credits')).data?.data.downloads.used ?? NaN;
  const before = await used();
  const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('private') });
  expect(await ended(service.url, key, token)).toMatchObject({ status: 'failed' });
  expect(await used()).toBe(before + 1);
});

describe('a download that takes its time', () => {
  test('is tried again where the platform fails at first', async () => {
    const token = retried.flaky;
    expect(await ended(service.url, patientKey, token)).toMatchObject({ status: 'done' });
    const { rows } = await service.cli<{ rows: { type: string }[] }>('jobs', 'timeline', token);
    expect(rows.map(({ type }) => type)).toContain('JobReleased');
  });

  test('is given up after three attempts, where each might have succeeded', async () => {
    const token = retried.broken;
    expect(await ended(service.url, patientKey, token)).toMatchObject({ status: 'failed', error: 'platform_error' });
    const { rows } = await service.cli<{ rows: { type: string }[] }>('jobs', 'timeline', token);
    expect(rows.filter(({ type }) => type === 'JobClaimed')).toHaveLength(3);
  });

  test('goes from queued over running to done, and its link serves an MP4 that ffprobe accepts', async () => {
    const { token, queued, seen, progress, done } = await slow;
    expect(queued).toBe('queued');
    expect([...seen]).toEqual(expect.arrayContaining(['running', 'done']));
    expect(progress).toContainEqual({
      percent: expect.any(Number) as unknown,
      speed: expect.any(Number) as unknown,
      eta: expect.any(Number) as unknown,
    });
    expect(done).toMatchObject({ request_token: token, video_id: 'slow', expires_in: 3600, file_mime: 'video/mp4' });

    const { path, response, bytes } = await download(done);
    expect(response.status).toBe(200);
    expect(bytes.length).toBe(done.file_size_bytes);
    expect(await ffprobe(path)).toMatchObject({
      codecs: ['aac', 'h264'],
      format: expect.stringContaining('mp4') as unknown,
    });

    const { rows } = await service.cli<{ rows: { type: string; stream: string; cents?: number }[] }>(
      'jobs',
      'timeline',
      token,
    );
    expect(rows.map(({ type }) => type)).toEqual([
      'DownloadCreditDebited',
      'DownloadQueued',
      'JobClaimed',
      'JobStarted',
      'JobCompleted',
    ]);
    expect(rows[0]?.cents).toBe(0);
  });
});
