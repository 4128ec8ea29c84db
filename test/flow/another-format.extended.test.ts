import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeFilm } from '../downloader/films/make-film.ts';
import { both, fast, film, hls, usual } from '../downloader/films/recipes.ts';
import { ended, queue } from '../support/downloads.ts';
import { installationOfFile } from '../support/installation.ts';
import type { Film } from '../support/lossy-films.ts';
import { type FaultyFile, type LossyPlatform, startLossyPlatform } from '../support/lossy-platform.ts';
import { findDownloader } from '../support/sample-platform.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/** What an attempt has fetched in vain stands in the log, and the next attempt, in another process, takes something else. */
const installation = installationOfFile();
const directory = temporaryDirectoryOfFile();
let [platform, url]: [LossyPlatform | undefined, string] = [undefined, ''];

beforeAll(async () => {
  platform = await startLossyPlatform();
  await installation.startRole('projector');
  await installation.startRole('dispatcher');
  ({ url } = await installation.startRole('api', { SAMPLE_PLATFORM_URL: platform.url }));
});

afterAll(() => platform?.close());

/** One film, as a file and as a stream in pieces, of which the one that is larger by what is said of them is taken first. */
async function filmOf(first: 'file' | 'hls'): Promise<Film> {
  const { ffmpegPath } = await findDownloader();
  const runs = [
    [...both, ...usual, ...fast, 'film.mp4'],
    [...both, ...usual, ...hls(), 'media.m3u8'],
  ];
  const { files } = makeFilm({ ...film(['', '', '', []]), runs }, join(directory, first), ffmpegPath);
  const size = first === 'hls' ? '320x180' : '80x46';
  const master = `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=300000,RESOLUTION=${size},CODECS="avc1.42C01E,mp4a.40.2"\nmedia.m3u8\n`;
  const file = { id: 'film', extension: 'mp4', width: 160, height: 90, videoCodec: 'avc1', audioCodec: 'mp4a' };
  return {
    files: new Map([...files, ['film.m3u8', Buffer.from(master)]]),
    description: (base) => ({
      playlistPath: `${base}/film.m3u8`,
      renditions: [{ ...file, path: `${base}/film.mp4` }],
    }),
  };
}

/** In the middle of the pictures. */
function damaged({ files }: Film): Buffer {
  const bytes = Buffer.from(files.get('film.mp4') ?? Buffer.alloc(0));
  return bytes.fill(0xa5, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 4000);
}

const faults = {
  file: (made: Film): FaultyFile => ({ name: 'film.mp4', fault: { kind: 'bytes', bytes: damaged(made) } }),
  hls: (): FaultyFile => ({ name: 'media1.ts', fault: { kind: 'other', name: 'media0.ts' } }),
};

async function eventsOf(token: string) {
  const events = await installation.readLog(`job-${token}`);
  return events.map(({ type, data }) => ({
    type,
    ...(data as { tried?: string[]; worker_id?: string; detail?: string }),
  }));
}

test.each([
  ['file', 'a file whose pictures do not decode', /^film\/http/, 'm3u8_native'],
  ['hls', 'a stream of which a piece was sent twice and another never', /m3u8_native/, 'film (160×90'],
] as const)('%s: after %s', async (first, _what, tried, then) => {
  const made = await filmOf(first);
  const { canonicalUrl } = platform!.reference(made, faults[first](made));
  const { key } = await installation.openAccount('dev_100');
  const { request_token: token } = await queue(url, key, { url: canonicalUrl });
  const own = { SAMPLE_PLATFORM_URL: platform!.url };
  const worker = await installation.startRole('worker', own);
  const released = await waitFor(async () => (await eventsOf(token)).find(({ type }) => type === 'JobReleased'), {
    what: 'the end of the first attempt',
  });
  expect(released.tried).toEqual([expect.stringMatching(tried)]);
  await worker.stop();

  await using _other = await installation.startRole('worker', own);
  expect(await ended(url, key, token)).toMatchObject({ status: 'done', file_mime: 'video/mp4' });
  const events = await eventsOf(token);
  expect(events.at(-1)).toMatchObject({ type: 'JobCompleted', detail: expect.stringContaining(then) as unknown });
  const claims = events.filter(({ type }) => type === 'JobClaimed').map(({ worker_id: id }) => id);
  expect(new Set(claims).size).toBe(2);
});
