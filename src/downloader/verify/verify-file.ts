import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Reaper } from '../sandbox/child-reaper.ts';
import type { ChildObserver } from '../../ports/observers.ts';
import type { Output } from '../../domain/download-options.ts';
import type { Namespaces } from '../sandbox/launch.ts';
import { runSandboxed } from '../sandbox/run-sandboxed.ts';
import { countPackets, judgePackets, packetEntries, refuse } from './packets.ts';
import type { Announced, Verdict } from './packets.ts';

/** The finished file of each output: its name, its MIME type, the demuxer that must read it, and the stream that it must have. */
export const finishedFiles = {
  mp4: { name: 'media.mp4', mime: 'video/mp4', demuxer: 'mov', needed: 'video' },
  mp3: { name: 'media.mp3', mime: 'audio/mpeg', demuxer: 'mp3', needed: 'audio' },
  m4a: { name: 'media.m4a', mime: 'audio/mp4', demuxer: 'mov', needed: 'audio' },
  jpg: { name: 'media.jpg', mime: 'image/jpeg', demuxer: 'jpeg_pipe', needed: 'video' },
} as const satisfies Record<Output, { name: string; mime: string; demuxer: string; needed: 'video' | 'audio' }>;

const probeOutputBytes = 512 * 1024 * 1024;

/** The options of one check of a file by ffprobe or ffmpeg. */
export interface CheckOptions {
  path: string;
  ffprobePath: string;
  ffmpegPath: string;
  /** The attempt's own directory. */
  directory: string;
  timeoutMs: number;
  signal: AbortSignal;
  reaper: Reaper;
  observer?: ChildObserver | undefined;
  namespaces?: Namespaces | undefined;
}

/**
 * Checks that a directory has exactly one file, a regular one with the expected name.
 *
 * @returns its size in bytes, or what is wrong.
 */
export async function onlyFile(directory: string, name: string): Promise<{ sizeBytes: number } | { detail: string }> {
  const names = await readdir(directory).catch(() => []);
  if (names.length !== 1 || names[0] !== name)
    return { detail: `Expected ${name} alone, found ${names.length} files.` };
  const stats = await lstat(join(directory, name));
  // A file with a second hard link may not belong to the attempt.
  if (!stats.isFile() || stats.nlink !== 1) return { detail: `${name} is not a regular file.` };
  return stats.size > 0 ? { sizeBytes: stats.size } : { detail: `${name} is empty.` };
}

/**
 * Runs ffprobe or ffmpeg on a downloaded file. The caller names the demuxer, so that a playlist in disguise is not followed, and
 * only local files can be opened.
 *
 * @returns its standard error; or the refusal of the file if it failed
 */
export async function runTool(
  tool: 'ffprobe' | 'ffmpeg',
  toolArguments: readonly string[],
  options: CheckOptions & { onLine?: (line: string) => void },
): Promise<{ stderr: string } | Extract<Verdict, { ok: false }>> {
  const command = tool === 'ffprobe' ? options.ffprobePath : options.ffmpegPath;
  const { directory, timeoutMs, signal, reaper, observer, namespaces, onLine = () => undefined } = options;
  const result = await runSandboxed({
    command,
    arguments: ['-v', 'error', '-protocol_whitelist', 'file', ...toolArguments],
    searchPath: [dirname(command)],
    maxOutputBytes: probeOutputBytes,
    directory,
    timeoutMs,
    signal,
    onLine,
    reaper,
    observer,
    namespaces,
  });
  if (result.ending === 'timed_out') return refuse('Checking the file took too long.', 'timed_out');
  if (result.ending !== 'exited') {
    const fault = ['aborted', 'not_started'].includes(result.ending) ? 'service' : 'video';
    return refuse(`${tool}: ${result.ending} ${result.stderr}`, 'internal_error', fault);
  }
  if (result.exitCode !== 0) return refuse(`${tool} cannot read the file: ${result.stderr}`);
  return { stderr: result.stderr };
}

/** Filters that check, without decoding, that a codec's packets are complete, by the lengths of their parts. */
const wholenessFilters: Readonly<Record<string, string>> = {
  h264: 'h264_mp4toannexb',
  hevc: 'hevc_mp4toannexb',
};

/**
 * Packets of the right size may still contain bytes from another place of the file. Audio is decoded, which takes seconds for an
 * hour. Video is only parsed, since decoding it would take minutes.
 */
async function verifyContents(
  codecOfPictures: string,
  options: CheckOptions & { output: Output },
): Promise<Extract<Verdict, { ok: false }> | undefined> {
  const filter = wholenessFilters[codecOfPictures];
  const result = await runTool(
    'ffmpeg',
    [
      ...['-nostdin', '-xerror', '-threads', '1'],
      ...['-f', finishedFiles[options.output].demuxer, '-i', `file:${options.path}`],
      ...(filter === undefined ? [] : ['-map', '0:v:0', '-c:v', 'copy', '-bsf:v', filter]),
      ...['-map', '0:a?', '-c:a', 'pcm_s16le', '-f', 'null', '-'],
    ],
    options,
  );
  if ('ok' in result) return result;
  return result.stderr === '' ? undefined : refuse(`The contents are damaged: ${result.stderr}`);
}

/**
 * Reads every packet of a finished video or audio file. The header does not suffice, because the duration that it states does
 * not change when frames are missing.
 */
export async function verifyFile(
  options: CheckOptions & { output: Exclude<Output, 'jpg'>; announced: Announced },
): Promise<Verdict> {
  const { path, output, announced } = options;
  const { demuxer, needed } = finishedFiles[output];
  const packets = countPackets();
  const result = await runTool(
    'ffprobe',
    ['-f', demuxer, '-show_entries', packetEntries, '-of', 'compact', '-i', `file:${path}`],
    { ...options, onLine: packets.take },
  );
  if ('ok' in result) return result;
  const streams = [...packets.streams.values()];
  const verdict = judgePackets(streams, needed, announced);
  if (!verdict.ok) return verdict;
  const codec = streams.find(({ kind }) => kind === 'video')?.codec ?? '';
  return (await verifyContents(codec, options)) ?? verdict;
}
