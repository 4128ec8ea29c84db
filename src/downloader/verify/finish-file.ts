import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Output } from '../../domain/download-options.ts';
import type { DownloadFailure } from '../../ports/videos.ts';
import { failure } from '../download-failures.ts';
import { foreignStretches } from './foreign-bytes.ts';
import { noteOf } from './note.ts';
import {
  endsInside,
  type FileFacts,
  isMp4,
  lengthOf,
  mediaStreams,
  missingPackets,
  packetSeconds,
  readPackets,
  type StreamFacts,
} from './packets.ts';
import { anyMedia, finishedFiles, onlyFiles, runTool, type ToolOptions, type Verdict } from './tools.ts';

type FilmOutput = Exclude<Output, 'jpg'>;

/** The facts about what was fetched. */
export interface Arrived {
  /** How many files were fetched. */
  parts: number;
  /** The transfer of all of them was whole (`whole_files.py`, `whole_streams.py`). */
  isProved: boolean;
  /** The duration that the platform announced; 0 if it announced none. */
  announcedSeconds: number;
}

interface Finishing extends ToolOptions {
  output: FilmOutput;
  arrived: Arrived;
  /** Told how much of the film has been worked on, from 0 to 1. */
  onProgress: (share: number) => void;
}

/** Codecs that are copied: the file may hold them, and players play them. Everything else is converted. */
const copied: Readonly<Record<FilmOutput, readonly string[]>> = {
  mp4: ['h264', 'hevc', 'av1', 'vp9', 'aac', 'mp3', 'opus'],
  mp3: ['mp3'],
  m4a: ['aac'],
};
const encoders: Readonly<Record<FilmOutput, { video: readonly string[]; audio: readonly string[] }>> = {
  mp4: {
    // Players want even sides and four pixels to one colour.
    video: [
      ...['libx264', '-preset', 'veryfast', '-crf', '20', '-threads', '2'],
      ...['-vf', 'format=yuv420p,pad=ceil(iw/2)*2:ceil(ih/2)*2'],
    ],
    // Silence in the place of what was never sent keeps sound and picture together.
    audio: ['aac', '-b:a', '192k', '-af', 'aresample=async=1'],
  },
  mp3: { video: [], audio: ['libmp3lame', '-b:a', '192k'] },
  m4a: { video: [], audio: ['aac', '-b:a', '192k'] },
};
const containers: Readonly<Record<FilmOutput, readonly string[]>> = {
  mp4: ['-movflags', '+faststart', '-f', 'mp4'],
  mp3: ['-f', 'mp3'],
  m4a: ['-movflags', '+faststart', '-f', 'ipod'],
};
/** Filters that check, without decoding, that a codec's packets are complete, by the lengths of their parts. */
const wholenessFilters: Readonly<Record<string, string>> = { h264: 'h264_mp4toannexb', hevc: 'hevc_mp4toannexb' };

/** Of small films all pictures are decoded, in a sixteenth of a second at most; of others only those that need no other. */
const maxDecodedPixels = 15_000_000;
/** Less than this share of what was announced is not the film, unless the transfer was whole. */
const minAnnouncedShare = 0.9;
/** A converted film may be so much shorter or longer: codecs have frames of other lengths. */
const conversionSeconds = 1;
const conversionShare = 0.02;

interface Chosen {
  /** Number of the part. */
  part: number;
  facts: FileFacts;
  stream: StreamFacts;
  isCopied: boolean;
}

function choose(parts: readonly FileFacts[], output: FilmOutput, kind: 'video' | 'audio'): Chosen | undefined {
  if (kind === 'video' && finishedFiles[output].needed === 'audio') return undefined;
  const all = parts.flatMap((facts, part) => mediaStreams(facts, kind).map((stream) => ({ part, facts, stream })));
  const pixels = ({ stream }: (typeof all)[number]) => stream.width * stream.height;
  const [first] = all.toSorted((one, other) => pixels(other) - pixels(one) || one.stream.rank - other.stream.rank);
  return first && { ...first, isCopied: copied[output].includes(first.stream.codec) };
}

/** True if the one file that came is the requested one already. */
function isFinished(parts: readonly FileFacts[], chosen: readonly Chosen[], output: FilmOutput): boolean {
  const [only] = parts;
  if (only === undefined || parts.length > 1 || mediaStreams(only).length > chosen.length) return false;
  if (chosen.some(({ isCopied }) => !isCopied)) return false;
  if (output === 'mp3') return only.container === 'mp3';
  // A film of QuickTime is of the family, and one in fragments is played by some and not by others.
  const isPlain = chosen.every(({ stream }) => stream.promisedPackets === stream.readPackets);
  return isMp4(only.head) && !only.head.slice(8).startsWith('qt') && isPlain;
}

const mapped = ({ part, stream }: Chosen) => ['-map', `${part}:${stream.index}`];

function coding(chosen: Chosen, output: FilmOutput): readonly string[] {
  const kind = chosen.stream.kind === 'video' ? 'video' : 'audio';
  const mark = kind === 'video' ? 'v' : 'a';
  if (!chosen.isCopied) return [`-c:${mark}`, ...encoders[output][kind]];
  return [`-c:${mark}`, 'copy', ...(chosen.stream.codec === 'hevc' ? ['-tag:v', 'hvc1'] : [])];
}

/** Decodes what is copied, and throws the result away. What is converted is decoded for that. */
function checks(chosen: readonly Chosen[]): string[] {
  return chosen
    .filter(({ isCopied }) => isCopied)
    .flatMap((each) => {
      // A clock that begins anew is no fault.
      const counted = each.stream.kind === 'audio' ? ['-af', 'asetpts=N/SR/TB'] : ['-fps_mode', 'vfr'];
      return [...mapped(each), ...counted, ...['-f', 'null', '-']];
    });
}

function parsing(chosen: readonly Chosen[]): string[] {
  return chosen.flatMap((each) => {
    const filter = each.facts.container.startsWith('mov') ? wholenessFilters[each.stream.codec] : undefined;
    return filter === undefined ? [] : [...mapped(each), ...['-c', 'copy', '-bsf:v', filter, '-f', 'null', '-']];
  });
}

/** Said of pictures that refer to ones that were cut away before the film was made. Players show them, or begin a little later. */
const harmless =
  /mmco: unref short failure|co located POCs unavailable|exceeds max|reference picture missing|Missing reference/i;
const harmlessAtBegin =
  /non-existing [SP]PS|no frame!|decode_slice_header error|PPS id out of range|Error parsing NAL|find ref with POC|submitting packet/i;

/** Said of a tag that lies between the frames of sound, or behind them. How many of them may fail is counted. */
const harmlessInSound =
  /Header missing|invalid sync code|invalid frame header|decode_frame\(\) failed|submitting packet|Decoding error/i;

interface Excused {
  leading: number;
  foreign: number;
  endsInside: boolean;
}

function complaints(stderr: string, { leading, foreign, endsInside: isCut }: Excused): string {
  const isHarmless = (line: string) =>
    // Said of the end by the reader of the container, not by a decoder.
    (isCut && line.startsWith('[in#')) ||
    harmless.test(line) ||
    /^\s*Last message repeated/.test(line) ||
    (leading > 0 && harmlessAtBegin.test(line)) ||
    (foreign > 0 && harmlessInSound.test(line));
  return stderr
    .split('\n')
    .filter((line) => line.trim() !== '' && !isHarmless(line))
    .join('\n');
}

const isSmall = ({ width, height, readPackets: pictures }: StreamFacts) =>
  width * height * pictures <= maxDecodedPixels;

/** Reads the parts once: joins or converts them into the target, if one is named, and decodes what is only copied. */
async function runFfmpeg(
  parts: readonly FileFacts[],
  chosen: readonly Chosen[],
  target: string | undefined,
  { output, onProgress, ...options }: Finishing,
): Promise<DownloadFailure | undefined> {
  const seconds = Math.max(...parts.map(lengthOf));
  const picture = chosen.find(({ stream }) => stream.kind === 'video');
  const isSampled = picture !== undefined && picture.isCopied && !isSmall(picture.stream);
  const leading = picture?.stream.leadingPackets ?? 0;
  const foreign = Math.max(
    ...(await Promise.all(parts.map(({ path, container }) => foreignStretches(path, container)))),
  );
  const sounds = chosen.find(({ stream }) => stream.kind === 'audio')?.stream.readPackets ?? 1;
  const maxErrorRate = Math.max(
    leading === 0 ? 0 : (leading + 1) / (picture?.stream.readPackets ?? 1),
    // A decoder ends at a rate above this one: half a packet more, for what floats lose.
    foreign === 0 ? 0 : (foreign + 0.5) / sounds,
  );
  // ffmpeg refuses the option for an input without a picture.
  const sampling = (part: number) => (isSampled && picture.part === part ? ['-skip_frame:v', 'nokey'] : []);
  const inputs = parts.flatMap(({ path, inputFlags }, part) => [
    ...['-threads', '1', ...sampling(part), ...anyMedia],
    ...[...inputFlags, '-i', `file:${path}`],
  ]);
  const made = [
    ...chosen.flatMap(mapped),
    ...chosen.flatMap((each) => coding(each, output)),
    ...['-copyinkf', '-fps_mode', 'passthrough', ...containers[output]],
  ];
  const onLine = (line: string) => {
    const [, microseconds] = /^out_time_us=(\d+)$/.exec(line) ?? [];
    if (microseconds !== undefined && seconds > 0) onProgress(Math.min(Number(microseconds) / 1e6 / seconds, 1));
  };
  const result = await runTool(
    'ffmpeg',
    [
      ...['-nostdin', '-max_error_rate', String(maxErrorRate), '-nostats', '-progress', 'pipe:1', ...inputs],
      ...(target === undefined ? [] : [...made, `file:${target}`]),
      ...checks(chosen),
      ...parsing(chosen),
    ],
    { ...options, onLine },
  );
  if ('ok' in result) return result;
  const said = complaints(result.stderr, { leading, foreign, endsInside: parts.some(endsInside) });
  return said === '' ? undefined : failure('platform_error', `The contents are damaged: ${said}`);
}

/** The finished file holds every packet of what was copied, and lasts as long as what was converted. */
function wrongFinish(finished: FileFacts, chosen: readonly Chosen[]): string | undefined {
  for (const { stream, isCopied } of chosen) {
    const kept = mediaStreams(finished).find(({ kind }) => kind === stream.kind);
    if (kept === undefined) return `The finished file holds no ${stream.kind}.`;
    if (isCopied && kept.readPackets < stream.readPackets)
      return `The finished file holds ${kept.readPackets} of ${stream.readPackets} ${stream.kind} packets.`;
    const tolerance = Math.max(conversionSeconds, stream.playedSeconds * conversionShare);
    if (!isCopied && stream.playedSeconds - kept.playedSeconds > tolerance)
      return `The finished file holds ${kept.playedSeconds.toFixed(1)} of ${stream.playedSeconds.toFixed(1)} s of ${stream.kind}.`;
  }
  return undefined;
}

async function readParts(
  names: readonly string[],
  options: Finishing,
): Promise<readonly FileFacts[] | DownloadFailure> {
  const parts: FileFacts[] = [];
  for (const name of names) {
    const facts = await readPackets(join(options.directory, name), options);
    if ('ok' in facts) return facts;
    const missing = missingPackets(facts, options.arrived.isProved);
    if (missing !== undefined) return failure('platform_error', missing);
    parts.push(facts);
  }
  return parts;
}

/**
 * Makes the finished file of a film or sound from the parts that came, in `media`: as it is where that is what was asked for,
 * else joined, repacked or converted. What the transfer proves is right, however odd the film.
 */
export async function finishFilm(media: string, options: Finishing): Promise<Verdict> {
  const { output, arrived, directory } = options;
  const { name, needed } = finishedFiles[output];
  const came = await onlyFiles(media, arrived.parts);
  if ('detail' in came) return failure('platform_error', came.detail);
  // The names are the engine's, and the finished file needs its own.
  const names = came.files.map((_, number) => `part${number}`);
  for (const [number, file] of came.files.entries())
    await rename(join(media, file.name), join(directory, `part${number}`));
  const parts = await readParts(names, options);
  if ('ok' in parts) return parts;
  const chosen = [choose(parts, output, 'video'), choose(parts, output, 'audio')].filter((each) => each !== undefined);
  if (!chosen.some(({ stream }) => stream.kind === needed))
    return failure('unsupported_media', `The file holds no ${needed}.`);
  const seconds = Math.max(...parts.map(lengthOf));
  // By the packets: the head of a file states its whole length even if its end is missing.
  const cameSeconds = Math.max(...parts.map(packetSeconds));
  const isShort = arrived.announcedSeconds > 0 && cameSeconds < arrived.announcedSeconds * minAnnouncedShare;
  if (isShort && (!arrived.isProved || parts.some(endsInside)))
    return failure(
      'platform_error',
      `The file lasts ${cameSeconds.toFixed(1)} s instead of ${arrived.announcedSeconds} s.`,
    );
  const target = join(media, name);
  const isAsked = isFinished(parts, chosen, output);
  const failed = await runFfmpeg(parts, chosen, isAsked ? undefined : target, options);
  if (failed !== undefined) return failed;
  if (isAsked) {
    await rename(join(directory, 'part0'), target);
    return {
      ok: true,
      durationSeconds: seconds,
      note: noteOf(
        parts,
        chosen,
        chosen.map(({ stream }) => stream),
      ),
    };
  }
  const finished = await readPackets(target, options);
  if ('ok' in finished) return finished;
  const wrong = missingPackets(finished, false) ?? wrongFinish(finished, chosen);
  if (wrong !== undefined) return failure('platform_error', wrong);
  for (const each of names) await rm(join(directory, each), { force: true });
  return { ok: true, durationSeconds: lengthOf(finished), note: noteOf(parts, chosen, finished.streams) };
}
