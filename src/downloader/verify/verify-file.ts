import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Reaper } from '../sandbox/reaper.ts';
import type { ChildObserver } from '../../ports/observers.ts';
import type { Output } from '../../domain/download-options.ts';
import type { Namespaces } from '../sandbox/launch.ts';
import { runSandboxed } from '../sandbox/process.ts';
import { countPackets, judgePackets, packetEntries, refuse } from './packets.ts';
import type { Announced, Verdict } from './packets.ts';

/** What each output ends as: the file's name, its MIME type, the demuxer that must be able to read it, and what it must hold. */
export const finishedFiles = {
  mp4: { name: 'media.mp4', mime: 'video/mp4', demuxer: 'mov', needed: 'video' },
  mp3: { name: 'media.mp3', mime: 'audio/mpeg', demuxer: 'mp3', needed: 'audio' },
  m4a: { name: 'media.m4a', mime: 'audio/mp4', demuxer: 'mov', needed: 'audio' },
  jpg: { name: 'media.jpg', mime: 'image/jpeg', demuxer: 'jpeg_pipe', needed: 'video' },
} as const satisfies Record<Output, { name: string; mime: string; demuxer: string; needed: 'video' | 'audio' }>;

const probeOutputBytes = 512 * 1024 * 1024;

/** Of one check of a file by ffprobe or ffmpeg. */
export interface CheckOptions {
  path: string;
  ffprobePath: string;
  ffmpegPath: string;
  /** Belongs to this attempt. */
  directory: string;
  timeoutMs: number;
  signal: AbortSignal;
  reaper: Reaper;
  observer?: ChildObserver | undefined;
  namespaces?: Namespaces | undefined;
}

/**
 * Whether the one file in a directory is there, alone, regular and of the expected name.
 *
 * @returns its size in bytes, or why not.
 */
export async function onlyFile(directory: string, name: string): Promise<{ sizeBytes: number } | { detail: string }> {
  const names = await readdir(directory).catch(() => []);
  if (names.length !== 1 || names[0] !== name)
    return { detail: `Expected ${name} alone, found ${names.length} files.` };
  const stats = await lstat(join(directory, name));
  // A second name could be that of a file that is not the attempt's.
  if (!stats.isFile() || stats.nlink !== 1) return { detail: `${name} is not a regular file.` };
  return stats.size > 0 ? { sizeBytes: stats.size } : { detail: `${name} is empty.` };
}

/**
 * Runs ffprobe or ffmpeg over a file that the engine has left. The input's demuxer is named by the caller, so that a playlist
 * in disguise is not followed, and nothing but local files can be opened.
 *
 * @returns what it said on standard error; or the refusal of the file where it did not end well
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
    ...{ directory, timeoutMs, signal, onLine, reaper, observer, namespaces },
  });
  if (result.ending === 'timed_out') return refuse('Checking the file took too long.', 'timed_out');
  if (result.ending !== 'exited') {
    const fault = ['aborted', 'not_started'].includes(result.ending) ? 'service' : 'video';
    return refuse(`${tool}: ${result.ending} ${result.stderr}`, 'internal_error', fault);
  }
  if (result.exitCode !== 0) return refuse(`${tool} cannot read the file: ${result.stderr}`);
  return { stderr: result.stderr };
}

/** Filters that find out whether a packet of a codec is whole, by the lengths of its own parts, without decoding it. */
const wholenessFilters: Readonly<Record<string, string>> = {
  h264: 'h264_mp4toannexb',
  hevc: 'hevc_mp4toannexb',
};

/**
 * Packets of the right size may still hold the bytes of another place of the file. Sound is decoded, which takes seconds for an
 * hour; pictures, which would take minutes, are only looked through.
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
 * Reads every packet of a finished film or sound, because a header goes on promising what is not there: the length it states
 * does not change when frames are missing.
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
