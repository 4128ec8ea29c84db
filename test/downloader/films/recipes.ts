import type { Output } from '../../../src/domain/download-options.ts';

/**
 * Films, sounds and stills that play everywhere, in the shapes of the world: each is made by ffmpeg, is odd in one way, and must
 * be delivered.
 */
export interface SoundFilm {
  name: string;
  /** What ffmpeg is told, one run after the other, in a folder of the film's own. */
  runs: readonly (readonly string[])[];
  /** Changes the files, by their names. */
  change?: (files: Map<string, Buffer>) => void;
  /** What the platform says of it, beside the title. */
  describe: (base: string) => Record<string, unknown>;
  output: Output;
  /** The codecs of the finished file: what is copied keeps its own. */
  gives: string;
  title?: string;
  /** What the platform announces; undefined if it announces nothing. */
  seconds?: number | undefined;
}

export const seconds = 6;
export const picture = (size = '160x90', rate = 12, length = seconds) => [
  '-f',
  'lavfi',
  '-i',
  `testsrc2=size=${size}:rate=${rate}:duration=${length}`,
];
export const tone = (length = seconds) => ['-f', 'lavfi', '-i', `sine=frequency=440:duration=${length}`];
export const quiet = ['-f', 'lavfi', '-i', `anullsrc=r=44100:cl=mono:d=${seconds}`];
export const both = [...picture(), ...tone()];
export const h264 = [
  '-c:v',
  'libx264',
  '-preset',
  'ultrafast',
  '-pix_fmt',
  'yuv420p',
  '-g',
  '24',
  '-keyint_min',
  '24',
  '-sc_threshold',
  '0',
];
export const aac = ['-c:a', 'aac', '-b:a', '48k', '-ac', '1'];
export const usual = [...h264, ...aac];
export const fast = '-movflags +faststart'.split(' ');

export const words = (text: string) => text.split(' ');
const extensionOf = (file: string) => file.slice(file.lastIndexOf('.') + 1);
const onlySound = /^(?:mp3|m4a|ogg|opus|flac|wav|aac|ac3|mka|aiff|caf|wma|amr|weba|wv|tta)$/;

/** One file, of which the platform says what it says of most: which is often not what it is. */
const oneFile = (file: string) => (base: string) => ({
  renditions: [
    {
      id: 'film',
      path: `${base}/${file}`,
      extension: extensionOf(file),
      ...(onlySound.test(extensionOf(file))
        ? { videoCodec: 'none', audioCodec: 'unknown' }
        : { width: 160, height: 90, kilobitsPerSecond: 300, videoCodec: 'avc1.42C01E', audioCodec: 'mp4a.40.2' }),
    },
  ],
});
export const twoFiles = (pictures: string, sounds: string) => (base: string) => ({
  renditions: [
    {
      id: 'p',
      path: `${base}/${pictures}`,
      extension: extensionOf(pictures),
      width: 160,
      height: 90,
      videoCodec: 'avc1.42C01E',
      audioCodec: 'none',
    },
    { id: 's', path: `${base}/${sounds}`, extension: extensionOf(sounds), videoCodec: 'none', audioCodec: 'mp4a.40.2' },
  ],
});
export const playlist = (file: string) => (base: string) => ({ playlistPath: `${base}/${file}` });
export const manifest = (file: string) => (base: string) => ({ manifestPath: `${base}/${file}` });
export const still = (file: string) => (base: string) => ({ stillPaths: [`${base}/${file}`] });

export type Row = [name: string, file: string, gives: string, run: readonly string[], more?: Partial<SoundFilm>];

export function film([name, file, gives, run, more]: Row): SoundFilm {
  return { name, runs: [[...run, file]], describe: oneFile(file), output: 'mp4', gives, seconds, ...more };
}

export const hls = (...more: string[]) => [...words('-f hls -hls_time 2 -hls_playlist_type vod'), ...more];
export const half = [...picture('160x90', 12, 4), ...tone(4), ...usual];
export type Stream = Pick<SoundFilm, 'name' | 'runs' | 'gives'> & Partial<SoundFilm>;
export const dash = (...more: string[]) => [...words('-f dash -seg_duration 2'), ...more, 'film.mpd'];
export const onePicture = [...picture('160x90', 1, 1), ...words('-frames:v 1 -update 1')];
export const append = (file: string, bytes: (files: Map<string, Buffer>) => Buffer) => (files: Map<string, Buffer>) =>
  void files.set(file, Buffer.concat([files.get(file) ?? Buffer.alloc(0), bytes(files)]));
