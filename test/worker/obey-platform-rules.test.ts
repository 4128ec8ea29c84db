import { describe, expect, it } from 'vitest';
import { noPlatformRules, type PlatformRules } from '../../src/ports/platform-rules.ts';
import type { DownloadedFile, VideoSource } from '../../src/ports/videos.ts';
import { obeyPlatformRules } from '../../src/worker/obey-platform-rules.ts';

const video = { platform: 'vimeo', videoId: '1', canonicalUrl: 'https://vimeo.com/1' };
const options = { directory: '/', signal: new AbortController().signal, onProgress: () => undefined };
const wanted = { output: 'mp4', quality: 'best', item: 1 } as const;
const file = { ok: true, name: 'media.mp4' } as DownloadedFile;
const metadata = { title: 'A film', durationSeconds: 1, thumbnail: '', downloadRefusal: null };

/** The outside world: a platform that gives everything, during whose download a rule may be made. */
function sourceWith(rules: PlatformRules, meanwhile: Partial<PlatformRules> = {}) {
  const asked: string[] = [];
  const now = { ...rules };
  const source: VideoSource = {
    probe: async () => {
      asked.push('probe');
      return { ok: true, metadata };
    },
    download: async () => {
      asked.push('download');
      Object.assign(now, meanwhile);
      return file;
    },
  };
  return { asked, source: obeyPlatformRules(source, now) };
}

const off = { ...noPlatformRules, whyOff: () => 'Paused.' };
const blocked = { ...noPlatformRules, whyBlocked: () => 'Notice 17.' };

describe('the rules of the operator', () => {
  it.each([
    ['a switched-off platform', off, 'unsupported_media', 'The operator has switched this platform off: Paused.'],
    ['a blocked item', blocked, 'video_unavailable', 'The operator has blocked this item: Notice 17.'],
  ])('end what was queued before them, without a request to the platform: %s', async (_what, rules, reason, detail) => {
    const { source, asked } = sourceWith(rules);
    const refused = { ok: false, reason, fault: 'service', detail };
    expect(await source.download(video, wanted, options)).toEqual(refused);
    expect(await source.probe(video, options)).toEqual(refused);
    expect(asked).toEqual([]);
  });

  it('withhold the file of an item that is blocked during its attempt', async () => {
    const { source } = sourceWith(noPlatformRules, blocked);
    expect(await source.download(video, wanted, options)).toMatchObject({ ok: false, reason: 'video_unavailable' });
  });

  it('let an attempt end that has begun before its platform was switched off', async () => {
    const { source } = sourceWith(noPlatformRules, off);
    expect(await source.download(video, wanted, options)).toBe(file);
  });
});
