import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ended, queue } from '../support/downloads.ts';
import { ffprobe } from '../support/ffprobe.ts';
import { isLongProof } from '../support/proof-scale.ts';
import { type Service, startService } from '../support/service.ts';
import { fetchFile } from './fetch-file.ts';

/** Downloads in other formats and with other luck, on a service that makes all that it needs at its first one, as on a new machine. */
let service: Service;
let key: string;
let patientKey: string;
/** Those that take their time, for the tests at the end: they run while the others do. An account of their own pays. */
let retried: { flaky: string; broken: string };

beforeAll(async () => {
  service = await startService({ WORKER_SLOTS: '4' }, { isPrepared: false });
  ({ key } = await service.openAccount('enterprise'));
  ({ key: patientKey } = await service.openAccount('enterprise'));
  const token = async (item: string) =>
    (await queue(service.url, patientKey, { url: service.sampleUrl(item) })).request_token;
  retried = { flaky: await token('flaky'), broken: await token('broken') };
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  const log = service.log();
  for (const secret of [key, patientKey, service.demo?.key ?? '', 'signature=']) expect(log).not.toContain(secret);
});

describe('a download that succeeds', () => {
  const sizes = [
    ['720', 720],
    ['best', 1080],
    ['360', 360],
  ] as const;
  // That each size comes is shown where films are made; here, that the service hands on which was asked for.
  test.each(isLongProof ? sizes : sizes.slice(0, 1))('comes in the quality asked for: %s', async (quality, height) => {
    const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('bars'), quality });
    const { path } = await fetchFile(await ended(service.url, key, token));
    expect((await ffprobe(path)).height).toBe(height);
  });

  test('comes as M4A where that is asked for, also from a DASH stream', async () => {
    const body = { url: service.sampleUrl('dash'), format: 'audio', audio_format: 'm4a' } as const;
    const { request_token: token } = await queue(service.url, key, body);
    const data = await ended(service.url, key, token);
    expect(data).toMatchObject({ status: 'done', file_mime: 'audio/mp4' });
    expect(await ffprobe((await fetchFile(data)).path)).toMatchObject({ codecs: ['aac'] });
  });

  test('comes as the JPG of an image post that was asked for', async () => {
    const url = service.sampleUrl('stills').replace('/watch/', '/photo/');
    const { request_token: token } = await queue(service.url, key, { url, item: 3 });
    const data = await ended(service.url, key, token);
    expect(data).toMatchObject({ status: 'done', file_mime: 'image/jpeg' });
    expect(await ffprobe((await fetchFile(data)).path)).toMatchObject({ codecs: ['mjpeg'], height: 640 });
  });
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
});
