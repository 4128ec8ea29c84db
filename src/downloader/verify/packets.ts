import type { Fault } from '../../domain/download-job-events.ts';
import type { FailureReason } from '../../domain/failure-reasons.ts';

export type Verdict =
  { ok: true; durationSeconds: number } | { ok: false; reason: FailureReason; fault: Fault; detail: string };

/** The properties of an item that the platform announced. */
export interface Announced {
  /** 0 if it announced none. */
  durationSeconds: number;
  /** Undefined if it did not say. */
  hasSound?: boolean | undefined;
  /** The item came in segments, the last of which may have been a wrong one, or in parts that were merged. */
  inPieces?: boolean;
}

/** Audio has no gaps, since silence is audio too, so a longer gap is a lost segment. */
const maxSoundGapSeconds = 0.5;
/** For video with a constant frame rate. With a variable one, a picture may stand still for long. */
const maxPictureGapSeconds = 0.9;
const evenShare = 0.95;
/** The container's duration is by presentation times, which are a little later than decoding times. */
const maxShortSeconds = 0.5;
const maxShortShare = 0.005;
/** Packets far too close to the one before come from a segment that was sent instead of another. A few may come from a cut. */
const maxCrowdedPackets = 4;
/** The tolerance for the announced duration: platforms round it, and cut to whole frames. */
const minToleranceSeconds = 1.5;
const toleranceShare = 0.01;
/** Shorter than a segment of most streams. */
const maxToleranceSeconds = 5;

interface StreamFacts {
  kind: string;
  codec: string;
  /** The end of the stream by the container; NaN if it has none. */
  promisedSeconds: number;
  readPackets: number;
  corruptPackets: number;
  lastSeconds: number;
  endSeconds: number;
  /** How often each interval between two packets occurs, in whole milliseconds. */
  stepCounts: Map<number, number>;
}

const nothingRead = (): StreamFacts => ({
  kind: '',
  codec: '',
  promisedSeconds: NaN,
  readPackets: 0,
  corruptPackets: 0,
  lastSeconds: NaN,
  endSeconds: 0,
  stepCounts: new Map(),
});

export function refuse(
  detail: string,
  reason: FailureReason = 'platform_error',
  fault: Fault = 'video',
): Extract<Verdict, { ok: false }> {
  return { ok: false, reason, fault, detail };
}

/** Reads ffprobe's compact format, `name|key=value|key=value`. None of the requested fields can contain a `|`. */
export function fieldsOf(line: string): { name: string; fields: Map<string, string> } {
  const [name = '', ...pairs] = line.split('|');
  return {
    name,
    fields: new Map(pairs.map((pair) => [pair.split('=', 1)[0] ?? '', pair.slice(pair.indexOf('=') + 1)])),
  };
}

/** The entries that `countPackets` reads, as ffprobe's `-show_entries` takes them. */
export const packetEntries =
  'stream=index,codec_type,codec_name,start_time,duration:stream_disposition=attached_pic:packet=stream_index,dts_time,duration_time,flags';

function takePacket(facts: StreamFacts, fields: Map<string, string>): void {
  facts.readPackets += 1;
  if (fields.get('flags')?.includes('C')) facts.corruptPackets += 1;
  const seconds = Number(fields.get('dts_time'));
  if (Number.isNaN(seconds)) return;
  if (!Number.isNaN(facts.lastSeconds)) {
    const stepMs = Math.round((seconds - facts.lastSeconds) * 1000);
    facts.stepCounts.set(stepMs, (facts.stepCounts.get(stepMs) ?? 0) + 1);
  }
  facts.lastSeconds = seconds;
  facts.endSeconds = Math.max(facts.endSeconds, seconds + (Number(fields.get('duration_time')) || 0));
}

/** Counts the packets of a file from ffprobe's output, line by line. */
export function countPackets(): { take: (line: string) => void; streams: Map<string, StreamFacts> } {
  const streams = new Map<string, StreamFacts>();
  const factsOf = (index: string): StreamFacts => {
    const facts = streams.get(index) ?? nothingRead();
    streams.set(index, facts);
    return facts;
  };
  return {
    streams,
    take(line) {
      const { name, fields } = fieldsOf(line);
      if (name === 'packet') takePacket(factsOf(fields.get('stream_index') ?? ''), fields);
      if (name !== 'stream') return;
      const facts = factsOf(fields.get('index') ?? '');
      // Cover art is not part of the video.
      facts.kind = fields.get('disposition:attached_pic') === '1' ? 'cover' : (fields.get('codec_type') ?? '');
      facts.codec = fields.get('codec_name') ?? '';
      facts.promisedSeconds = Number(fields.get('start_time') ?? NaN) + Number(fields.get('duration') ?? NaN);
    },
  };
}

const isMedia = (kind: string) => kind === 'audio' || kind === 'video';

/** @returns the fault in the times of a stream's packets; undefined if there is none */
function wrongPace({ kind, stepCounts }: StreamFacts): string | undefined {
  const steps = [...stepCounts];
  const [usualMs = 0] = steps.toSorted(([, one], [, other]) => other - one)[0] ?? [];
  const count = (isMeant: (stepMs: number) => boolean) =>
    steps.reduce((sum, [stepMs, times]) => sum + (isMeant(stepMs) ? times : 0), 0);
  const even = count((stepMs) => Math.abs(stepMs - usualMs) <= Math.max(usualMs * 0.4, 2));
  if (kind !== 'audio' && even < evenShare * count(() => true)) return undefined;
  const longestMs = Math.max(...stepCounts.keys(), 0);
  const name = kind === 'audio' ? 'sound' : 'picture';
  const maxGapSeconds = kind === 'audio' ? maxSoundGapSeconds : Math.max(maxPictureGapSeconds, (usualMs * 3) / 1000);
  if (longestMs / 1000 > maxGapSeconds) return `The ${name} has a gap of ${(longestMs / 1000).toFixed(1)} s.`;
  const crowded = count((stepMs) => stepMs < usualMs / 5);
  return crowded > maxCrowdedPackets ? `${crowded} packets of the ${name} come too soon.` : undefined;
}

function wrongPackets(facts: StreamFacts): string | undefined {
  const { kind, promisedSeconds, endSeconds, corruptPackets } = facts;
  if (kind === 'cover') return undefined;
  if (promisedSeconds - endSeconds > Math.max(maxShortSeconds, promisedSeconds * maxShortShare)) {
    return `The file is cut short: the ${kind} ends after ${endSeconds.toFixed(1)} of ${promisedSeconds.toFixed(1)} s.`;
  }
  if (corruptPackets > 0) return `${corruptPackets} ${kind} packets are cut short.`;
  return isMedia(kind) ? wrongPace(facts) : undefined;
}

/** @param needed the kind of stream that the file must have */
export function judgePackets(
  streams: readonly StreamFacts[],
  needed: 'video' | 'audio',
  announced: Announced,
): Verdict {
  const holds = (kind: string) => streams.some((stream) => stream.kind === kind && stream.readPackets > 0);
  if (!holds(needed)) return refuse(`The file holds no ${needed}.`, 'unsupported_media');
  if (announced.hasSound === true && !holds('audio')) return refuse('The sound is missing.');
  for (const stream of streams) {
    const wrong = wrongPackets(stream);
    if (wrong !== undefined) return refuse(wrong);
  }
  const durationSeconds = Math.max(...streams.map((stream) => stream.endSeconds));
  const tolerance = Math.min(Math.max(minToleranceSeconds, durationSeconds * toleranceShare), maxToleranceSeconds);
  const early = streams.find(({ kind, endSeconds }) => isMedia(kind) && durationSeconds - endSeconds > tolerance);
  if (announced.inPieces === true && early)
    return refuse(`The ${early.kind} ends after ${early.endSeconds.toFixed(1)} s.`);
  if (announced.durationSeconds > 0 && Math.abs(durationSeconds - announced.durationSeconds) > tolerance) {
    return refuse(`The file lasts ${durationSeconds.toFixed(1)} s instead of ${announced.durationSeconds} s.`);
  }
  return { ok: true, durationSeconds };
}
