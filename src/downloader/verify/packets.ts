import { stat } from 'node:fs/promises';
import type { DownloadFailure } from '../../ports/videos.ts';
import { anyMedia, fieldsOf, headOf, runTool, type ToolOptions } from './tools.ts';

/** The contents of one stream of a file, counted by its packets, before any is read. */
const nothingRead = (index: number) => ({
  index,
  /** `video`, `audio`, or another type of ffprobe; `cover` for a picture that belongs to the whole file. */
  kind: '',
  codec: '',
  /** Less is better: an original that is marked as the usual one is 0, a dub, a comment or a description the last. */
  rank: 1,
  /** Its language, title and special purpose, for people. */
  label: '',
  /** ffprobe's name of the transfer function of its colours. */
  transfer: '',
  width: 0,
  height: 0,
  /** By the index of the file; 0 if it has none. */
  promisedPackets: 0,
  /** Without a last one that is cut short. */
  readPackets: 0,
  corruptPackets: 0,
  /** When the first of these begins. */
  corruptFromSeconds: Infinity,
  /** Its last packet is cut short, as a recorder leaves it that was stopped. */
  endsInside: false,
  /** Before the first one that needs no other: a recording that begins between two pictures has some. */
  leadingPackets: 0,
  beginSeconds: Infinity,
  endSeconds: 0,
  /** The lengths of all packets together: less than what lies between begin and end where the clock jumps. */
  playedSeconds: 0,
});
export type StreamFacts = ReturnType<typeof nothingRead>;

export interface FileFacts {
  path: string;
  /** The first bytes, as Latin-1. */
  head: string;
  /** ffprobe's name of the container, such as `mov,mp4,m4a,3gp,3g2,mj2`. */
  container: string;
  durationSeconds: number;
  /** For whoever reads the file too: what is cut short at its end is left out. */
  inputFlags: readonly string[];
  streams: readonly StreamFacts[];
}

const entries =
  'format=format_name,duration:stream=index,codec_type,codec_name,nb_frames,width,height,color_transfer:stream_tags=language,title:stream_disposition=attached_pic,default,dub,comment,visual_impaired:packet=stream_index,dts_time,pts_time,duration_time,flags';

function takePacket(facts: StreamFacts, fields: Map<string, string>): void {
  const flags = fields.get('flags') ?? '';
  const isLeading = facts.leadingPackets === facts.readPackets && !flags.includes('K');
  if (isLeading) facts.leadingPackets += 1;
  facts.readPackets += 1;
  facts.endsInside = flags.includes('C');
  if (facts.endsInside) facts.corruptPackets += 1;
  const lengthSeconds = Number(fields.get('duration_time')) || 0;
  facts.playedSeconds += lengthSeconds;
  const seconds = [fields.get('dts_time'), fields.get('pts_time')].map(Number).find((time) => !Number.isNaN(time));
  if (seconds === undefined) return;
  facts.beginSeconds = Math.min(facts.beginSeconds, seconds);
  facts.endSeconds = Math.max(facts.endSeconds, seconds + lengthSeconds);
  if (facts.endsInside) facts.corruptFromSeconds = Math.min(facts.corruptFromSeconds, seconds);
}

function takeStream(facts: StreamFacts, fields: Map<string, string>): void {
  // Cover art is not part of the film.
  facts.kind = fields.get('disposition:attached_pic') === '1' ? 'cover' : (fields.get('codec_type') ?? '');
  facts.codec = fields.get('codec_name') ?? '';
  const isMarked = (name: string) => fields.get(`disposition:${name}`) === '1';
  const purposes = ['dub', 'comment', 'visual_impaired'].filter(isMarked);
  facts.rank = purposes.length > 0 ? 2 : isMarked('default') ? 0 : 1;
  const language = fields.get('tag:language');
  const named = [language === 'und' ? '' : language, fields.get('tag:title'), ...purposes];
  facts.label = named.filter(Boolean).join(', ');
  facts.transfer = fields.get('color_transfer') ?? '';
  facts.promisedPackets = Number(fields.get('nb_frames')) || 0;
  [facts.width, facts.height] = [Number(fields.get('width')) || 0, Number(fields.get('height')) || 0];
}

/** A beginning of the MP4 family: its second word names a box. */
export const isMp4 = (head: string) => /^.{4}(?:ftyp|styp|moov|moof|mdat|free|skip|wide|sidx)/s.test(head);

async function readOnce(
  path: string,
  options: ToolOptions,
  flags: readonly string[],
): Promise<FileFacts | DownloadFailure> {
  const streams = new Map<string, StreamFacts>();
  const facts = { path, head: await headOf(path), container: '', durationSeconds: NaN };
  const factsOf = (index: string) => {
    const found = streams.get(index) ?? nothingRead(Number(index));
    streams.set(index, found);
    return found;
  };
  const onLine = (line: string) => {
    const { name, fields } = fieldsOf(line);
    if (name === 'packet') takePacket(factsOf(fields.get('stream_index') ?? ''), fields);
    if (name === 'stream') takeStream(factsOf(fields.get('index') ?? ''), fields);
    if (name !== 'format') return;
    facts.container = fields.get('format_name') ?? '';
    facts.durationSeconds = Number(fields.get('duration') ?? NaN);
  };
  // Samples that an edit list leaves out are there all the same.
  const every = isMp4(facts.head) ? ['-ignore_editlist', '1'] : [];
  const shown = ['-show_entries', entries, '-of', 'compact', '-i', `file:${path}`];
  const result = await runTool('ffprobe', [...anyMedia, ...every, ...flags, ...shown], { ...options, onLine });
  if ('ok' in result) return result;
  const all = [...streams.values()].toSorted((one, other) => one.index - other.index);
  const inputFlags = all.some((stream) => dropsLast(facts.container, stream)) ? dropCorrupt : flags;
  for (const stream of all) if (dropsLast(facts.container, stream)) stream.readPackets -= 1;
  return { ...facts, inputFlags, streams: all };
}

const dropCorrupt = ['-fflags', '+discardcorrupt'];
const packetBytes = 188;
/** A transport stream packs no more than this together. */
const endSeconds = 1;

/** Reads every packet of a file. Its head does not suffice: what that states does not change when packets are missing. */
export async function readPackets(path: string, options: ToolOptions): Promise<FileFacts | DownloadFailure> {
  const facts = await readOnce(path, options, []);
  if ('ok' in facts || facts.container !== 'mpegts' || !facts.head.startsWith('G')) return facts;
  // A recording may end in a packet. Where nothing else is damaged, what began there is left out.
  const isCutInside = (await stat(path)).size % packetBytes !== 0;
  const isWholeBefore = facts.streams.every((each) => each.endSeconds - each.corruptFromSeconds < endSeconds);
  return isCutInside && isWholeBefore ? await readOnce(path, options, dropCorrupt) : facts;
}

export const mediaStreams = ({ streams }: FileFacts, kind?: 'video' | 'audio') =>
  streams.filter((stream) => stream.readPackets > 0 && (kind === undefined ? isMedia(stream) : stream.kind === kind));

const isMedia = ({ kind }: StreamFacts) => kind === 'video' || kind === 'audio';

/** @returns the seconds from the first to the last packet of what is seen or heard */
export function packetSeconds(facts: FileFacts): number {
  const streams = mediaStreams(facts);
  const end = Math.max(...streams.map(({ endSeconds }) => endSeconds), 0);
  return end - Math.min(...streams.map(({ beginSeconds }) => beginSeconds), end);
}

/** @returns how long the film lasts by its head, which knows of edits; else by its packets, as an MP3 that an editor shortened */
export function lengthOf(facts: FileFacts): number {
  return facts.durationSeconds > 0 && facts.container !== 'mp3' ? facts.durationSeconds : packetSeconds(facts);
}

/** A last packet that is cut short is left out, unless it is of sound that is not compressed, of which each sample counts. */
const dropsLast = (container: string, { codec, endsInside: isCut }: StreamFacts) =>
  isCut && container !== 'mpegts' && !codec.startsWith('pcm');

/** These say by themselves how long each packet is: one that is cut short was not sent. */
const statesLengths = (container: string) => /^(?:mov|matroska)/.test(container);

/** A recording that was stopped: of each stream no more than the last packet is cut short. */
export const endsInside = ({ container, streams }: FileFacts) =>
  container !== 'mpegts' && streams.some((stream) => isMedia(stream) && stream.endsInside);

/**
 * @param isProved the transfer was whole, so that a recording may end anywhere
 * @returns what is missing by the file's own index; undefined if nothing is
 */
export function missingPackets({ container, streams }: FileFacts, isProved: boolean): string | undefined {
  // Nobody reads the packets of other streams, such as chapters.
  for (const stream of streams.filter(isMedia)) {
    const { kind, codec, promisedPackets, readPackets: read, corruptPackets } = stream;
    // Other containers count what a packet holds, or guess.
    const isCounted = container.startsWith('mov') && !codec.startsWith('pcm');
    if (isCounted && read < promisedPackets)
      return `The file is cut short: ${read} of ${promisedPackets} ${kind} packets.`;
    const isLoose = isProved && !statesLengths(container) && stream.endsInside && corruptPackets === 1;
    // A transport stream that was cut anew at each piece counts anew there, which ffprobe calls corrupt.
    if (corruptPackets > 0 && container !== 'mpegts' && !isLoose)
      return `${corruptPackets} ${kind} packets are cut short.`;
  }
  return undefined;
}
