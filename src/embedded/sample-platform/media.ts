import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { mediaDurationSeconds, mediaSets } from './items.ts';
import type { MediaSetName, Rendition } from './items.ts';

/** Raised when a generated film would differ, so that a cache from an earlier version is not served. */
const mediaVersion = 'v1';
const framesPerSecond = 12;

const audioArguments = ['-c:a', 'aac', '-b:a', '64k', '-ac', '1'];

function videoArguments(rendition: Rendition): string[] {
  return [
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-profile:v', 'baseline', '-pix_fmt', 'yuv420p'],
    ...['-g', String(framesPerSecond * 2), '-b:v', `${rendition.kilobitsPerSecond}k`],
  ];
}

/** Arguments that make every file of a set in one run, so that the test picture is drawn only once. */
function ffmpegArguments(set: MediaSetName): string[] {
  const { packaging, renditions } = mediaSets[set];
  const largest = renditions.at(-1);
  if (largest === undefined) throw new Error(`The media set ${set} has no renditions.`);
  const picture = `testsrc2=size=${largest.width}x${largest.height}:rate=${framesPerSecond}:duration=${mediaDurationSeconds}`;
  const labels = renditions.map((_, index) => `[copy${index}]`).join('');
  const scaled = renditions.map((rendition, index) => {
    return `[copy${index}]scale=${rendition.width}:${rendition.height}[picture${index}]`;
  });
  const outputs = renditions.flatMap((rendition, index) => {
    const sound = packaging === 'tracks' ? [] : ['-map', '1:a', ...audioArguments];
    const target =
      packaging === 'hls'
        ? ['-f', 'hls', '-hls_time', '2', '-hls_playlist_type', 'vod', `${rendition.name}.m3u8`]
        : ['-movflags', '+faststart', `${rendition.name}.mp4`];
    return ['-map', `[picture${index}]`, ...videoArguments(rendition), ...sound, ...target];
  });
  const soundTrack = packaging === 'tracks' ? ['-map', '1:a', ...audioArguments, 'sound.m4a'] : [];
  return [
    ...['-nostdin', '-hide_banner', '-loglevel', 'error'],
    ...['-f', 'lavfi', '-i', picture],
    ...['-f', 'lavfi', '-i', `sine=frequency=440:duration=${mediaDurationSeconds}`],
    ...['-filter_complex', [`[0:v]split=${renditions.length}${labels}`, ...scaled].join(';')],
    ...outputs,
    ...soundTrack,
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

export interface SampleMedia {
  /** The directory that holds a set's files, made at first use. @throws {Error} when ffmpeg fails. */
  directoryOf(set: MediaSetName): Promise<string>;
  /** Kills what is being made and waits for its end. */
  close(): Promise<void>;
}

/**
 * Makes the sample films when they are first asked for and keeps them in `cacheDirectory`. A set appears there by one
 * rename, so that processes that share the directory see all of it or nothing.
 */
export function createSampleMedia(options: { cacheDirectory: string; ffmpegPath: string }): SampleMedia {
  const stop = new AbortController();
  const underWay = new Map<MediaSetName, Promise<string>>();

  async function make(set: MediaSetName): Promise<string> {
    const finished = join(options.cacheDirectory, `${set}-${mediaVersion}`);
    if (await exists(finished)) return finished;
    await mkdir(options.cacheDirectory, { recursive: true });
    const unfinished = await mkdtemp(join(options.cacheDirectory, `${set}-making-`));
    try {
      await runFfmpeg(options.ffmpegPath, set, unfinished, stop.signal);
      await rename(unfinished, finished);
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      // Another process may have been quicker; its films are the same.
      if (!(await exists(finished))) throw error;
    }
    return finished;
  }

  return {
    directoryOf(set) {
      let making = underWay.get(set);
      if (making === undefined) {
        making = make(set);
        underWay.set(set, making);
        making.catch(() => underWay.delete(set));
      }
      return making;
    },
    async close() {
      stop.abort();
      await Promise.allSettled(underWay.values());
    },
  };
}
