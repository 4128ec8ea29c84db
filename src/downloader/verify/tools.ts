import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Output } from '../../domain/download-options.ts';
import type { DownloadFailure } from '../../ports/videos.ts';
import { failure } from '../download-failures.ts';
import { runSandboxed, type SandboxedProcess } from '../sandbox/run-sandboxed.ts';

/** `note` tells people what was left out, and what became of HDR. */
export type Verdict = { ok: true; durationSeconds: number; note?: string } | DownloadFailure;

/** The finished file of each output: its name, its MIME type, the demuxer that must read it, and the stream that it must have. */
export const finishedFiles = {
  mp4: { name: 'media.mp4', mime: 'video/mp4', demuxer: 'mov', needed: 'video' },
  mp3: { name: 'media.mp3', mime: 'audio/mpeg', demuxer: 'mp3', needed: 'audio' },
  m4a: { name: 'media.m4a', mime: 'audio/mp4', demuxer: 'mov', needed: 'audio' },
  jpg: { name: 'media.jpg', mime: 'image/jpeg', demuxer: 'jpeg_pipe', needed: 'video' },
} as const satisfies Record<Output, { name: string; mime: string; demuxer: string; needed: 'video' | 'audio' }>;

/** Whatever holds media by itself. Playlists and lists of files are not among them: they would lead to other files. */
const demuxers = `
  mov mp4 m4a 3gp 3g2 mj2 matroska webm mpegts mpeg mpegvideo m4v h264 hevc obu ivf flv avi asf rm mxf nut
  dv ogg mp3 aac ac3 eac3 dts truehd flac wav w64 aiff caf amr amrnb amrwb ape au tta wv loas gif apng
  webp_anim vvc mlp mjpeg vc1 dirac dtshd voc sox wtv mpc mpc8 tak dsf iff
`;

/** The files that any run of ffmpeg and ffprobe may read. */
export const anyMedia = ['-protocol_whitelist', 'file', '-format_whitelist', demuxers.trim().split(/\s+/).join()];

const maxOutputBytes = 512 * 1024 * 1024;

/** The options of one run of ffprobe or ffmpeg. */
export interface ToolOptions extends Pick<
  SandboxedProcess,
  'directory' | 'timeoutMs' | 'signal' | 'reaper' | 'observer' | 'namespaces'
> {
  ffprobePath: string;
  ffmpegPath: string;
}

/** Reads ffprobe's compact format, `name|key=value|key=value`. It writes a backslash before signs that a value shares with it. */
export function fieldsOf(line: string): { name: string; fields: Map<string, string> } {
  const [name = '', ...pairs] = line.match(/(?:\\.|[^|\\])+/g) ?? [];
  const valueOf = (pair: string) => pair.slice(pair.indexOf('=') + 1).replace(/\\(.)/g, '$1');
  return { name, fields: new Map(pairs.map((pair) => [pair.split('=', 1)[0] ?? '', valueOf(pair)])) };
}

/**
 * The files of a directory, by name. There are as many as were fetched, and each is a regular file of its own.
 *
 * @returns their names and sizes in bytes, or what is wrong
 */
export async function onlyFiles(
  directory: string,
  count: number,
): Promise<{ files: { name: string; sizeBytes: number }[] } | { detail: string }> {
  const names = (await readdir(directory).catch(() => [])).toSorted();
  if (names.length !== count) return { detail: `Expected ${count} files, found ${names.length}.` };
  const files = [];
  for (const name of names) {
    const stats = await lstat(join(directory, name));
    // A file with a second hard link may not belong to the attempt.
    if (!stats.isFile() || stats.nlink !== 1) return { detail: `${name} is not a regular file.` };
    if (stats.size === 0) return { detail: `${name} is empty.` };
    files.push({ name, sizeBytes: stats.size });
  }
  return { files };
}

/** The first bytes of a file, as Latin-1. */
export async function headOf(path: string): Promise<string> {
  // Opening a pipe would wait for a writer, and a link may lead anywhere.
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(24), 0, 24, 0);
  return buffer.toString('latin1', 0, bytesRead);
}

/**
 * Runs ffprobe or ffmpeg on downloaded files. The caller names the demuxers, so that a playlist in disguise is not followed, and
 * only local files can be opened.
 *
 * @returns its standard error; or the refusal of the file if it failed
 */
export async function runTool(
  tool: 'ffprobe' | 'ffmpeg',
  toolArguments: readonly string[],
  options: ToolOptions & { onLine?: (line: string) => void },
): Promise<{ stderr: string } | DownloadFailure> {
  const command = tool === 'ffprobe' ? options.ffprobePath : options.ffmpegPath;
  const result = await runSandboxed({
    onLine: () => undefined,
    ...options,
    command,
    arguments: ['-v', 'error', ...toolArguments],
    searchPath: [dirname(command)],
    maxOutputBytes,
  });
  if (result.ending === 'timed_out') return failure('timed_out', 'Finishing the file took too long.');
  if (result.ending !== 'exited') {
    const fault = ['aborted', 'not_started'].includes(result.ending) ? 'service' : 'video';
    return failure('internal_error', `${tool}: ${result.ending} ${result.stderr}`, fault);
  }
  if (result.exitCode !== 0) return failure('platform_error', `${tool} cannot read the file: ${result.stderr}`);
  return { stderr: result.stderr };
}
