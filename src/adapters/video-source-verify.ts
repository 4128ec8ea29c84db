import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Keeper } from './contained-process-keeper.ts';
import type { ChildObserver } from '../commands/observers.ts';
import type { Format } from '../domain/download-options.ts';
import type { FailureReason } from '../domain/failure-reasons.ts';
import type { Namespaces } from './contained-launch.ts';
import { runContained } from './contained-process.ts';

/** What each format ends as: the file's name, its MIME type and the demuxer that must be able to read it. */
export const finishedFiles = {
  video: { name: 'media.mp4', mime: 'video/mp4', demuxer: 'mov', stream: 'video' },
  audio: { name: 'media.mp3', mime: 'audio/mpeg', demuxer: 'mp3', stream: 'audio' },
} as const satisfies Record<Format, { name: string; mime: string; demuxer: string; stream: 'video' | 'audio' }>;

export type Verdict = { ok: true; durationSeconds: number } | { ok: false; reason: FailureReason; detail: string };

const probeOutputBytes = 512 * 1024 * 1024;
/** A pause in the sound longer than this is a lost piece: sound is written without gaps, silence included. */
const maxSoundGapSeconds = 1;
/** How much of the announced length may be missing or too much: platforms round, and cut to whole frames. */
const toleranceSeconds = 2;
const toleranceShare = 0.02;

interface StreamFacts {
  kind: string;
  /** Packets that the container's index promises; NaN where it has no index. */
  promisedPackets: number;
  readPackets: number;
  lastSeconds: number;
  endSeconds: number;
  longestGapSeconds: number;
}

function refuse(detail: string, reason: FailureReason = 'platform_error'): Verdict {
  return { ok: false, reason, detail };
}

/** Reads `name|key=value|key=value`, ffprobe's compact form. None of the fields asked for can hold a `|`. */
function fieldsOf(line: string): { name: string; fields: Map<string, string> } {
  const [name = '', ...pairs] = line.split('|');
  return {
    name,
    fields: new Map(pairs.map((pair) => [pair.split('=', 1)[0] ?? '', pair.slice(pair.indexOf('=') + 1)])),
  };
}

function countPackets(): { take: (line: string) => void; streams: Map<string, StreamFacts> } {
  const streams = new Map<string, StreamFacts>();
  const factsOf = (index: string): StreamFacts => {
    const known = streams.get(index);
    if (known !== undefined) return known;
    const fresh = {
      kind: '',
      promisedPackets: NaN,
      readPackets: 0,
      lastSeconds: NaN,
      endSeconds: 0,
      longestGapSeconds: 0,
    };
    streams.set(index, fresh);
    return fresh;
  };
  return {
    streams,
    take(line) {
      const { name, fields } = fieldsOf(line);
      if (name === 'packet') {
        const facts = factsOf(fields.get('stream_index') ?? '');
        facts.readPackets += 1;
        const seconds = Number(fields.get('dts_time'));
        if (Number.isNaN(seconds)) return;
        if (facts.readPackets > 1)
          facts.longestGapSeconds = Math.max(facts.longestGapSeconds, seconds - facts.lastSeconds);
        facts.lastSeconds = seconds;
        facts.endSeconds = Math.max(facts.endSeconds, seconds + (Number(fields.get('duration_time')) || 0));
      } else if (name === 'stream') {
        const facts = factsOf(fields.get('index') ?? '');
        facts.kind = fields.get('codec_type') ?? '';
        facts.promisedPackets = Number(fields.get('nb_frames') ?? NaN);
      }
    },
  };
}

function judge(streams: readonly StreamFacts[], format: Format, announcedSeconds: number): Verdict {
  const needed = finishedFiles[format].stream;
  const main = streams.find((stream) => stream.kind === needed && stream.readPackets > 0);
  if (main === undefined) return refuse(`The file holds no ${needed}.`, 'unsupported_media');
  for (const { kind, promisedPackets, readPackets, longestGapSeconds } of streams) {
    // A few packets before the start belong to the codec's warming up and may be left out.
    if (promisedPackets - readPackets > Math.max(promisedPackets * 0.01, 5)) {
      return refuse(`The file is cut short: ${readPackets} of ${promisedPackets} ${kind} packets.`);
    }
    if (kind === 'audio' && longestGapSeconds > maxSoundGapSeconds) {
      return refuse(`The sound has a gap of ${longestGapSeconds.toFixed(1)} s.`);
    }
  }
  const durationSeconds = Math.max(...streams.map((stream) => stream.endSeconds));
  const tolerance = Math.max(toleranceSeconds, announcedSeconds * toleranceShare);
  if (announcedSeconds > 0 && Math.abs(durationSeconds - announcedSeconds) > tolerance) {
    return refuse(`The file lasts ${durationSeconds.toFixed(1)} s instead of ${announcedSeconds} s.`);
  }
  return { ok: true, durationSeconds };
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
 * Reads every packet of a finished file, because a header goes on promising what is not there: the length it states does not
 * change when frames are missing. The demuxer is named, so that a playlist in disguise is not followed.
 */
export async function verifyFile(options: {
  path: string;
  format: Format;
  /** What the platform announced; 0 when it announced nothing. */
  announcedSeconds: number;
  ffprobePath: string;
  /** Belongs to this attempt. */
  directory: string;
  timeoutMs: number;
  signal: AbortSignal;
  keeper: Keeper;
  observer?: ChildObserver | undefined;
  namespaces?: Namespaces | undefined;
}): Promise<Verdict> {
  const { path, format } = options;
  const packets = countPackets();
  const result = await runContained({
    command: options.ffprobePath,
    arguments: [
      ...['-v', 'error', '-protocol_whitelist', 'file', '-f', finishedFiles[format].demuxer],
      ...[
        '-show_entries',
        'stream=index,codec_type,nb_frames:packet=stream_index,dts_time,duration_time',
        '-of',
        'compact',
      ],
      ...['-i', `file:${path}`],
    ],
    directory: options.directory,
    searchPath: [dirname(options.ffprobePath)],
    timeoutMs: options.timeoutMs,
    signal: options.signal,
    maxOutputBytes: probeOutputBytes,
    onLine: packets.take,
    keeper: options.keeper,
    observer: options.observer,
    namespaces: options.namespaces,
  });
  if (result.ending === 'timed_out') return refuse('Checking the file took too long.', 'timed_out');
  if (result.ending !== 'exited') return refuse(`ffprobe: ${result.ending} ${result.stderr}`, 'internal_error');
  if (result.exitCode !== 0) return refuse(`ffprobe cannot read the file: ${result.stderr}`);
  return judge([...packets.streams.values()], format, options.announcedSeconds);
}
