import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { VideoReference, VideoSource } from '../../../src/ports/videos.ts';
import { ffprobe } from '../../support/ffprobe.ts';
import { type Film, filmSeconds, makeFilms } from '../../support/lossy-films.ts';
import { isLongProof } from '../../support/proof-scale.ts';
import { downloadFrom, platformOfFile } from '../../support/sample-platform.ts';
import { type FakeSites, type Site, startFakeSites, trustingEngine } from './fake-sites.ts';

/**
 * The engine's own extractors, unmodified, and our plugin for TikTok, against pages of the shapes that they read. The pages
 * are made up here and are no recordings: this shows that metadata and files come through, not that a site looks like this.
 */

const json = (body: unknown) => ({ type: 'application/json', body: JSON.stringify(body) });
const typeOf = (name: string) => (name.endsWith('.m3u8') ? 'application/vnd.apple.mpegurl' : 'video/mp4');

function filesOf(film: Film): Site {
  return ({ pathname }) => {
    const name = pathname.split('/').at(-1) ?? '';
    const body = film.files.get(name);
    return body && { type: typeOf(name), body };
  };
}

const handle = 'maker.example';
const rutubeId = '0123456789abcdef0123456789abcdef';
const photoPost = {
  desc: 'Two stills',
  imagePost: {
    images: ['still1.jpg', 'still3.webp'].map((name) => ({
      imageURL: { urlList: [`https://stills.example/${name}`] },
    })),
  },
};
const photoPage = {
  __DEFAULT_SCOPE__: { 'webapp.video-detail': { statusCode: 0, itemInfo: { itemStruct: photoPost } } },
};
const privatePage = { __DEFAULT_SCOPE__: { 'webapp.video-detail': { statusCode: 10222 } } };

function tiktok({ pathname }: URL): ReturnType<Site> {
  const data = pathname.endsWith('/7300000000000000002') ? privatePage : photoPage;
  const script = `<script id="__UNIVERSAL_DATA_FOR_REHYDRATION__" type="application/json">${JSON.stringify(data)}</script>`;
  return { type: 'text/html', body: `<!doctype html><html><body>${script}</body></html>` };
}

function sitesOf(hls: Film, file: Film, stillsDirectory: string): Record<string, Site> {
  const bluesky = {
    author: { did: 'did:plc:maker', handle, displayName: 'Maker' },
    record: { text: 'A film', embed: { $type: 'app.bsky.embed.video' } },
    embed: { playlist: 'https://films.example/film.m3u8', thumbnail: 'https://films.example/still.jpg' },
  };
  return {
    'films.example': filesOf(hls),
    'files.example': filesOf(file),
    'stills.example': ({ pathname }) => ({
      type: 'image/jpeg',
      body: readFileSync(join(stillsDirectory, pathname.slice(1))),
    }),
    'ajax.streamable.com': () =>
      json({
        status: 2,
        title: 'A film on Streamable',
        duration: filmSeconds,
        thumbnail_url: '//files.example/still.jpg',
        files: { mp4: { url: 'https://files.example/film.mp4', width: 320, height: 180, status: 2 } },
      }),
    'rutube.ru': ({ pathname }) =>
      pathname.startsWith('/api/play/options/')
        ? json({ video_balancer: { default: 'https://films.example/film.m3u8' } })
        : json({
            id: rutubeId,
            title: 'A film on Rutube',
            duration: filmSeconds,
            thumbnail_url: 'https://films.example/still.jpg',
          }),
    'public.api.bsky.app': () => json({ thread: { post: bluesky } }),
    'www.tiktok.com': tiktok,
  };
}

const platform = platformOfFile();
let sites: FakeSites;
let source: VideoSource;
beforeAll(async () => {
  const { engine, directory, filmsDirectory } = platform;
  const films = makeFilms(join(directory, 'films'), engine.ffmpegPath);
  const [hls, file] = [films.get('hls'), films.get('file')];
  if (!hls || !file) throw new Error('the films were not made');
  // The sample platform's own stills.
  await (await fetch(`${platform.url}/media/stills/still1.jpg`)).arrayBuffer();
  sites = await startFakeSites(sitesOf(hls, file, join(filmsDirectory, 'stills-v2')));
  const ytDlpPath = trustingEngine(directory, engine.ytDlpPath);
  source = platform.source({}, { ytDlpPath, proxyUrl: sites.proxyUrl });
});
afterAll(() => sites.close());

const signal = new AbortController().signal;

describe('an extractor of the engine’s own', () => {
  const read: [string, string, string, string][] = [
    ['streamable', 'abc123', 'https://streamable.com/abc123', 'A film on Streamable'],
    ['rutube', rutubeId, `https://rutube.ru/video/${rutubeId}/`, 'A film on Rutube'],
    ['bluesky', '3kabcdefghi2x', `https://bsky.app/profile/${handle}/post/3kabcdefghi2x`, 'A film'],
  ];
  test.each(isLongProof ? read : read.slice(1))(
    '%s gives metadata and a film',
    async (name, videoId, canonicalUrl, title) => {
      const video = { platform: name, videoId, canonicalUrl };
      const [probed, file] = await Promise.all([source.probe(video, { signal }), downloadFrom(source, video)]);
      expect(probed).toMatchObject({
        ok: true,
        metadata: { title, thumbnail: expect.stringContaining('still.jpg') as string },
      });
      if (!file.ok) throw new Error(`${file.reason}: ${file.detail}`);
      expect(file).toMatchObject({ mime: 'video/mp4', durationSeconds: filmSeconds });
      expect(await ffprobe(file.path)).toMatchObject({ codecs: ['aac', 'h264'], height: 180 });
    },
  );
});

describe('an image post of TikTok', () => {
  const stills = [[2, 640] as const];
  const post = (videoId: string): VideoReference => {
    return { platform: 'tiktok', videoId, canonicalUrl: `https://www.tiktok.com/@maker/photo/${videoId}` };
  };

  test.each(isLongProof ? [...stills, [1, 1350] as const] : stills)(
    'gives its still number %d',
    async (item, height) => {
      const file = await downloadFrom(source, post('7300000000000000001'), { output: 'jpg', item });
      if (!file.ok) throw new Error(`${file.reason}: ${file.detail}`);
      expect(file).toMatchObject({ name: 'media.jpg', mime: 'image/jpeg' });
      expect(await ffprobe(file.path)).toMatchObject({ codecs: ['mjpeg'], height });
    },
  );

  test.runIf(isLongProof)('has its text as a title', async () => {
    const probed = await source.probe(post('7300000000000000001'), { signal });
    expect(probed).toMatchObject({ ok: true, metadata: { title: 'Two stills' } });
  });

  test.each([
    ['a still that it does not have', '7300000000000000001', 3, 'unsupported_media'],
    ['one that is private', '7300000000000000002', 1, 'private_video'],
  ])('refuses %s', async (_what, videoId, item, reason) => {
    expect(await downloadFrom(source, post(videoId), { output: 'jpg', item })).toMatchObject({ ok: false, reason });
  });
});
