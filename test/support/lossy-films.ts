import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** How a film is cut into files. */
export const packagings = [
  ...(['file', 'file with its index last', 'tracks', 'webm', 'webm without lengths', 'ogg'] as const),
  ...(['hls', 'hls with a piece that comes twice', 'dash'] as const),
] as const;
export type Packaging = (typeof packagings)[number];

export const filmSeconds = 8;

export interface Film {
  files: ReadonlyMap<string, Buffer>;
  /** What the engine reads about it, beside title and duration. */
  description: (base: string) => Record<string, unknown>;
}

const picture = ['-f', 'lavfi', '-i', `testsrc2=size=320x180:rate=12:duration=${filmSeconds}`];
const sound = ['-f', 'lavfi', '-i', `sine=frequency=440:duration=${filmSeconds}`];
const codecs = [
  ...['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '24', '-keyint_min', '24'],
  ...['-c:a', 'aac', '-b:a', '48k', '-ac', '1'],
];
const both = ['-map', '0:v', '-map', '1:a', ...codecs];
const open = ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8', '-c:a', 'libopus', '-b:a', '48k'];

const hls = [...both, '-f', 'hls', '-hls_time', '2', '-hls_playlist_type', 'vod', 'film.m3u8'];

/** What ffmpeg is told for each; two-second pieces, so that there are four. */
const outputs: Record<Packaging, readonly string[]> = {
  file: [...both, '-movflags', '+faststart', 'film.mp4'],
  'file with its index last': [...both, 'film.mp4'],
  tracks: [
    ...['-map', '0:v', ...codecs, '-movflags', '+faststart', 'picture.mp4'],
    ...['-map', '1:a', ...codecs, '-movflags', '+faststart', 'sound.m4a'],
  ],
  webm: [...open, 'film.webm'],
  // As it is written by whoever cannot go back to its beginning.
  'webm without lengths': [...open, '-f', 'webm', '-live', '1', 'film.webm'],
  ogg: ['-map', '1:a', '-c:a', 'libopus', '-b:a', '48k', 'film.ogg'],
  hls,
  'hls with a piece that comes twice': hls,
  dash: [
    ...both,
    ...['-f', 'dash', '-seg_duration', '2', '-use_timeline', '0', '-init_seg_name', 'init$RepresentationID$.mp4'],
    ...['-media_seg_name', 'piece$RepresentationID$.$Number$.m4s', 'film.mpd'],
  ],
};

/** As an advertisement that is shown again: each time the clock begins anew. */
function repeatPiece(playlist: string): string {
  const lines = playlist.trimEnd().split('\n');
  const last = lines.slice(-3, -1);
  return [...lines.slice(0, -1), ...['#EXT-X-DISCONTINUITY', ...last], '#EXT-X-ENDLIST', ''].join('\n');
}

const whole = { extension: 'mp4', videoCodec: 'avc1.42C01E', audioCodec: 'mp4a.40.2' };

const webm = { id: 'film', extension: 'webm', videoCodec: 'vp9', audioCodec: 'opus' };

const descriptions: Record<Packaging, Film['description']> = {
  file: (base) => ({ renditions: [{ ...whole, id: 'film', path: `${base}/film.mp4` }] }),
  'file with its index last': (base) => ({ renditions: [{ ...whole, id: 'film', path: `${base}/film.mp4` }] }),
  tracks: (base) => ({
    renditions: [
      { ...whole, id: 'picture', path: `${base}/picture.mp4`, audioCodec: 'none' },
      { ...whole, id: 'sound', path: `${base}/sound.m4a`, extension: 'm4a', videoCodec: 'none' },
    ],
  }),
  webm: (base) => ({ renditions: [{ ...webm, path: `${base}/film.webm` }] }),
  'webm without lengths': (base) => ({ renditions: [{ ...webm, path: `${base}/film.webm` }] }),
  ogg: (base) => ({
    renditions: [{ id: 'sound', extension: 'ogg', videoCodec: 'none', audioCodec: 'opus', path: `${base}/film.ogg` }],
  }),
  hls: (base) => ({ playlistPath: `${base}/film.m3u8` }),
  'hls with a piece that comes twice': (base) => ({ playlistPath: `${base}/film.m3u8` }),
  dash: (base) => ({ manifestPath: `${base}/film.mpd` }),
};

/** Small films of the same eight seconds, one of each packaging. */
export function makeFilms(directory: string, ffmpegPath: string): ReadonlyMap<Packaging, Film> {
  return new Map(
    packagings.map((packaging) => {
      const folder = join(directory, packaging);
      mkdirSync(folder, { recursive: true });
      const ffmpegArguments = ['-nostdin', '-loglevel', 'error', ...picture, ...sound, ...outputs[packaging]];
      execFileSync(ffmpegPath, ffmpegArguments, { cwd: folder });
      const files = new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
      const playlist = files.get('film.m3u8');
      if (playlist && packaging === 'hls with a piece that comes twice')
        files.set('film.m3u8', Buffer.from(repeatPiece(playlist.toString())));
      return [packaging, { files, description: descriptions[packaging] }];
    }),
  );
}
