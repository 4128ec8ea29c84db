import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { manifestName } from './catalogue.ts';
import { mediaDurationSeconds, type MediaSet, type MediaSetName, mediaSets, type Rendition } from './items.ts';

/** Raised when a generated film would differ, so that a cache from an earlier version is not served. */
const mediaVersion = 'v2';

const audioArguments = ['-c:a', 'aac', '-b:a', '64k', '-ac', '1'];

const pictureCodec = ['-c:v', 'libx264', '-preset', 'ultrafast', '-profile:v', 'baseline', '-pix_fmt', 'yuv420p'];

function videoArguments({ kilobitsPerSecond }: Rendition, { framesPerSecond }: MediaSet): string[] {
  return [...pictureCodec, '-g', String(framesPerSecond * 2), '-b:v', `${kilobitsPerSecond}k`];
}

const soundTrack = ['-map', '1:a', ...audioArguments, 'sound.m4a'];

/** The files of a set, made from the pictures `[picture0]` … and the sound `1:a`. */
function outputArguments(set: MediaSet): string[] {
  const { packaging, renditions } = set;
  const sound = ['-map', '1:a', ...audioArguments];
  const each = (targetOf: (rendition: Rendition) => string[]) =>
    renditions.flatMap((rendition, index) => ['-map', `[picture${index}]`, ...targetOf(rendition)]);
  const file = (rendition: Rendition) => ['-movflags', '+faststart', `${rendition.name}.mp4`];
  switch (packaging) {
    case 'files':
      return each((rendition) => [...videoArguments(rendition, set), ...sound, ...file(rendition)]);
    case 'silent':
      return each((rendition) => [...videoArguments(rendition, set), ...file(rendition)]);
    case 'tracks':
      return [...each((rendition) => [...videoArguments(rendition, set), ...file(rendition)]), ...soundTrack];
    case 'hls':
      return each((rendition) => [
        ...[...videoArguments(rendition, set), ...sound],
        ...['-f', 'hls', '-hls_time', '2', '-hls_playlist_type', 'vod', `${rendition.name}.m3u8`],
      ]);
    case 'dash':
      return [
        ...each(() => []),
        ...[...pictureCodec, '-g', String(set.framesPerSecond * 2), ...sound],
        ...renditions.flatMap(({ kilobitsPerSecond }, index) => [`-b:v:${index}`, `${kilobitsPerSecond}k`]),
        ...['-f', 'dash', '-seg_duration', '2', '-use_timeline', '0'],
        ...['-init_seg_name', 'init$RepresentationID$.mp4', '-media_seg_name', 'piece$RepresentationID$.$Number$.m4s'],
        manifestName,
      ];
    case 'sound':
      return soundTrack;
    case 'stills':
      return each(({ name }) => ['-frames:v', '1', '-update', '1', name]);
  }
}

/** Arguments that make every file of a set in one run, so that the test picture is drawn only once. */
function ffmpegArguments(name: MediaSetName): string[] {
  const set: MediaSet = mediaSets[name];
  const { renditions, framesPerSecond } = set;
  const largest = renditions.at(-1) ?? { width: 64, height: 64 };
  const picture = `testsrc2=size=${largest.width}x${largest.height}:rate=${framesPerSecond || 1}:duration=${mediaDurationSeconds}`;
  const labels = renditions.map((_, index) => `[copy${index}]`).join('');
  const scaled = renditions.map((rendition, index) => {
    return `[copy${index}]scale=${rendition.width}:${rendition.height}[picture${index}]`;
  });
  const filters = [`[0:v]split=${renditions.length}${labels}`, ...scaled].join(';');
  return [
    ...['-nostdin', '-hide_banner', '-loglevel', 'error'],
    ...['-f', 'lavfi', '-i', picture],
    ...['-f', 'lavfi', '-i', `sine=frequency=440:duration=${mediaDurationSeconds}`],
    ...(renditions.length === 0 ? [] : ['-filter_complex', filters]),
    ...outputArguments(set),
  ];
}

/** Runs ffmpeg to its end; an abort of `signal` kills it. */
function runFfmpeg(ffmpegPath: string, set: MediaSetName, directory: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(ffmpegPath, ffmpegArguments(set), {
      cwd: directory,
      env: {},
      stdio: ['ignore', 'ignore', 'pipe'],
      signal,
      killSignal: 'SIGKILL',
    });
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString()).slice(-2000);
    });
    let failure: Error | undefined;
    child.once('error', (error) => (failure = error));
    child.once('close', (code) => {
      if (code === 0 && failure === undefined) resolve();
      else reject(failure ?? new Error(`ffmpeg could not make the sample media "${set}" (exit ${code}): ${complaint}`));
    });
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

export type SampleMedia = ReturnType<typeof createSampleMedia>;

/**
 * Makes the sample films when they are first asked for and keeps them in `cacheDirectory`. A set appears there by one
 * rename, so that processes that share the directory see all of it or nothing.
 */
export function createSampleMedia(options: { cacheDirectory: string; ffmpegPath: string | Promise<string> }) {
  const stop = new AbortController();
  const underWay = new Map<MediaSetName, Promise<string>>();

  async function make(set: MediaSetName): Promise<string> {
    const finished = join(options.cacheDirectory, `${set}-${mediaVersion}`);
    if (await exists(finished)) return finished;
    await mkdir(options.cacheDirectory, { recursive: true });
    const unfinished = await mkdtemp(join(options.cacheDirectory, `${set}-making-`));
    try {
      await runFfmpeg(await options.ffmpegPath, set, unfinished, stop.signal);
      await rename(unfinished, finished);
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      // Another process may have made the same films meanwhile.
      if (!(await exists(finished))) throw error;
    }
    return finished;
  }

  return {
    /** The directory that holds a set's files, made at first use. @throws {Error} when ffmpeg fails. */
    directoryOf(set: MediaSetName): Promise<string> {
      let making = underWay.get(set);
      if (making === undefined) {
        making = make(set);
        underWay.set(set, making);
        making.catch(() => underWay.delete(set));
      }
      return making;
    },
    /** Kills running ffmpeg processes and waits for their end. */
    async close() {
      stop.abort();
      await Promise.allSettled(underWay.values());
    },
  };
}
