import { describe, expect, it } from 'vitest';
import { type Answer, call, expectError } from '../support/client.ts';
import { countEvents } from './engines-behind.ts';
import { creditsOf, exhaust, issueKey, together } from './requests.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);

/** The sample film that fails at once, so that the worker behind has little to do. */
const queue = (key: string, more: object = {}): Promise<Answer> =>
  call(service.url, '/video/download', { key, body: { url: service.sampleUrl('private'), ...more } });

describe('POST /video/download, 202', () => {
  it('has exactly the fields of the contract, with the defaults for what was not said', async () => {
    const { status, data } = await queue(demoOf(service).key);
    expect(status).toBe(202);
    expect(data).toEqual({
      request_token: expect.stringMatching(/^[\w-]{24,64}$/) as unknown,
      status: 'queued',
      platform: 'sample',
      video_id: 'private',
      format: 'video',
      quality: 'best',
      overage: false,
    });
  });

  it.each(['best', '2160', '1440', '1080', '720', '480', '360'])('takes quality %s', async (quality) => {
    const { status, data } = await queue(demoOf(service).key, { quality });
    expect([status, data['quality']]).toEqual([202, quality]);
  });

  it.each(['video', 'audio'])('takes format %s', async (format) => {
    const { status, data } = await queue(demoOf(service).key, { format });
    expect([status, data['format']]).toEqual([202, format]);
  });

  it.each([{ format: 'audio', audio_format: 'm4a' }, { audio_format: 'mp3' }, { item: 1 }])(
    'takes %j',
    async (more) => {
      expect((await queue(demoOf(service).key, more)).status).toBe(202);
    },
  );

  it('takes a still of an image post, and stores what was asked for, defaults included', async () => {
    const { key } = demoOf(service);
    const url = service.sampleUrl('stills').replace('/watch/', '/photo/');
    const { status, data } = await queue(key, { url, item: 3 });
    expect([status, data['video_id'], data['format']]).toEqual([202, 'stills', 'video']);
    const { rows } = await service.cli<{ rows: { type: string; data: object }[] }>(
      ...['jobs', 'timeline', String(data['request_token'])],
    );
    expect(rows.find(({ type }) => type === 'DownloadQueued')?.data).toMatchObject({
      audio_format: 'mp3',
      item: 3,
      url,
    });
  });

  it('takes one credit each time, already counted in X-Credits-Remaining, and gives each its own token', async () => {
    const { key } = demoOf(service);
    const before = await creditsOf(service.url, key);
    const answers = [await queue(key), await queue(key)];
    expect(answers.map(({ headers }) => headers.get('x-credits-remaining'))).toEqual([
      String(before.downloads.remaining - 1),
      String(before.downloads.remaining - 2),
    ]);
    expect(new Set(answers.map(({ data }) => data['request_token'])).size).toBe(2);
    const after = await creditsOf(service.url, key);
    expect(after.downloads.used).toBe(before.downloads.used + 2);
    expect(after.metadata).toEqual(before.metadata);
  });
});

describe('POST /video/download, 202 beyond the allowance', () => {
  it('sells the 101st download of Dev 100 as overage, up to the cap that the owner has set', async () => {
    const { url, cli } = service;
    const { accountId, key } = await service.openAccount('dev_100');
    const keys = [key, ...(await Promise.all(Array.from({ length: 4 }, () => issueKey(url, key))))];

    // All at once: however they race, exactly one is the 101st.
    const answers = await together(101, (index) => queue(keys[index % keys.length] ?? ''));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const overage = answers.filter(({ data }) => data['overage'] === true);
    expect(overage).toHaveLength(1);
    expect(overage[0]?.headers.get('x-credits-remaining')).toBe('0');
    const remaining = answers.map(({ headers }) => Number(headers.get('x-credits-remaining')));
    expect(remaining.every((credits) => credits >= 0 && credits < 100)).toBe(true);
    const spent = {
      plan: 'dev_100',
      downloads: { limit: 100, used: 100, remaining: 0 },
      overage: { downloads: 1, cents: 25 },
    };
    expect(await creditsOf(url, key)).toMatchObject(spent);

    await cli('accounts', 'cap', accountId, '0');
    const refused = await queue(key);
    expect([refused.status, refused.code]).toEqual([402, 'overage_cap_reached']);
    expect(refused.headers.get('x-credits-remaining')).toBe('0');
    expect(await creditsOf(url, keys[1] ?? '')).toMatchObject(spent);

    // A cap is never passed, not even by a part of a charge: 74 cents have room for two charges of 25.
    await cli('accounts', 'cap', accountId, '74');
    const raced = await together(5, (index) => queue(keys[index % keys.length] ?? ''));
    expect(raced.map(({ status, code }) => code ?? status).sort()).toEqual([
      202,
      ...Array.from({ length: 4 }, () => 'overage_cap_reached'),
    ]);
    expect(await creditsOf(url, keys[2] ?? '')).toMatchObject({ ...spent, overage: { downloads: 2, cents: 50 } });
  });
});

describe('POST /video/download, 400', () => {
  it.each([
    ['no body', undefined],
    ['no url', {}],
    ['an unknown format', { url: 'https://youtu.be/dQw4w9WgXcQ', format: 'mp3' }],
    ['an unknown quality', { url: 'https://youtu.be/dQw4w9WgXcQ', quality: '1081' }],
    ['a quality that is a number', { url: 'https://youtu.be/dQw4w9WgXcQ', quality: 720 }],
    ['an unknown sound', { url: 'https://youtu.be/dQw4w9WgXcQ', format: 'audio', audio_format: 'wav' }],
    ['a still of a video', { url: 'https://youtu.be/dQw4w9WgXcQ', item: 2 }],
  ])('invalid_request for %s', async (_, body) => {
    const asked = { key: demoOf(service).key, method: 'POST', ...(body && { body }) };
    await expectError(call(service.url, '/video/download', asked), '400 invalid_request');
  });

  it('invalid_request for the sound of an image post', async () => {
    const url = service.sampleUrl('stills').replace('/watch/', '/photo/');
    const { status, code, message } = await queue(demoOf(service).key, { url, format: 'audio' });
    expect([status, code]).toEqual([400, 'invalid_request']);
    expect(message).toMatch(/^format: /);
  });

  it('unsupported_platform for the address of another site', async () => {
    const elsewhere = { url: 'https://example.com/watch?v=1' };
    await expectError(queue(demoOf(service).key, elsewhere), '400 unsupported_platform');
  });
});

describe('POST /video/download, 401', () => {
  it('wants a key', async () => {
    const body = { url: 'https://youtu.be/x' };
    await expectError(call(service.url, '/video/download', { body }), '401 unauthorized');
  });
});

describe('POST /video/download, 402 and 429 on the free plan', () => {
  it('download_quota_exceeded from the first download on, and nothing is stored; then rate_limited', async () => {
    const { accountId, key } = await service.openAccount('sandbox');
    const before = await creditsOf(service.url, key);
    const events = await countEvents(service, `usage-${accountId}-`);
    const refused = await together(3, () => queue(key));
    expect(refused.map(({ status, code }) => [status, code])).toEqual(
      refused.map(() => [402, 'download_quota_exceeded']),
    );
    expect(refused[0]?.headers.get('x-credits-remaining')).toBe('0');
    expect(await creditsOf(service.url, key)).toEqual(before);
    expect(await countEvents(service, `usage-${accountId}-`)).toBe(events);

    await exhaust(service.url, key);
    await expectError(queue(key), '429 rate_limited');
  });
});
