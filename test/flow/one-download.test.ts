import { describe, expect, test } from 'vitest';
import { demoOf, shareService } from '../http/shared-service.ts';
import { apiClient } from '../support/client.ts';
import { ended, pollEveryMs, queue } from '../support/downloads.ts';
import { ffprobe } from '../support/ffprobe.ts';
import { waitFor } from '../support/wait-for.ts';
import { fetchFile } from './fetch-file.ts';

/** The main job, through real HTTP, log, Postgres, NATS, yt-dlp and ffmpeg. */
const service = shareService();
const keyOf = () => demoOf(service).key;

describe('a download that succeeds', () => {
  test('comes as MP3 where audio is asked for', async () => {
    const { request_token: token } = await queue(service.url, keyOf(), {
      url: service.sampleUrl('bars'),
      format: 'audio',
    });
    const data = await ended(service.url, keyOf(), token);
    expect(data).toMatchObject({ status: 'done', file_mime: 'audio/mpeg' });
    const { path, response } = await fetchFile(data);
    expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="sample-bars\.mp3"$/);
    const probed = await ffprobe(path);
    expect(probed).toMatchObject({ format: 'mp3', codecs: ['mp3'] });
    expect(probed.durationSeconds).toBeCloseTo(10, 0);
  });
});

test('a download that fails keeps its charge', async () => {
  const key = keyOf();
  const used = async () => (await apiClient(service.url, key).GET('/credits')).data?.data.downloads.used ?? NaN;
  const before = await used();
  const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('private') });
  expect(await ended(service.url, key, token)).toMatchObject({ status: 'failed' });
  expect(await used()).toBe(before + 1);
});

describe('a download that takes its time', () => {
  test('goes from queued over running to done, and its link serves an MP4 that ffprobe accepts', async () => {
    const key = keyOf();
    const wanted = { url: service.sampleUrl('slow') };
    const { request_token: token, status: queued } = await queue(service.url, key, wanted);
    const seen = new Set<unknown>();
    const progress: unknown[] = [];
    const done = await waitFor(
      async () => {
        const { data: answer } = await apiClient(service.url, key).GET('/video/status', {
          params: { query: { token } },
        });
        const data = answer?.data;
        seen.add(data?.status);
        if (data?.status === 'running' && data.progress) progress.push(data.progress);
        return data?.status === 'done' && data;
      },
      { what: 'the slow download to be done', pollMs: pollEveryMs },
    );
    expect(queued).toBe('queued');
    expect([...seen]).toEqual(expect.arrayContaining(['running', 'done']));
    expect(progress).toContainEqual({
      percent: expect.any(Number) as unknown,
      speed: expect.any(Number) as unknown,
      eta: expect.any(Number) as unknown,
    });
    expect(done).toMatchObject({ request_token: token, video_id: 'slow', expires_in: 3600, file_mime: 'video/mp4' });

    const { path, response, bytes } = await fetchFile(done);
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
