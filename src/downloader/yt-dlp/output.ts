import { z } from 'zod';

import type { DownloadProgress, VideoMetadata } from '../../ports/videos.ts';
import { cleanDetail } from './failures.ts';
import { marks } from './arguments.ts';

const maxUrlCharacters = 2048;
const reportIntervalMs = 250;

const sizeSchema = z.number().nonnegative().nullish();
const metadataSchema = z.object({
  title: z.string().nullish(),
  duration: z.number().nonnegative().nullish(),
  thumbnail: z.string().nullish(),
  is_live: z.boolean().nullish(),
});
const partsSchema = z.array(z.object({ filesize: sizeSchema, filesize_approx: sizeSchema, tbr: sizeSchema })).max(16);
const codecsSchema = z.object({ acodec: z.string().nullish(), protocol: z.string().nullish() });
const progressSchema = z.object({
  status: z.string(),
  downloaded_bytes: sizeSchema,
  total_bytes: sizeSchema,
  total_bytes_estimate: sizeSchema,
  fragment_index: sizeSchema,
  fragment_count: sizeSchema,
  speed: sizeSchema,
  eta: sizeSchema,
});

type PartProgress = z.infer<typeof progressSchema>;

export interface AnnouncedMetadata extends VideoMetadata {
  isLive: boolean;
  /** As the platform gave it; 0 where it gave none. */
  exactSeconds: number;
}

/** An address that a client's page may show, else the empty string: the platform's word is not taken for it. */
export function imageUrl(text: string | null | undefined): string {
  if (text === null || text === undefined || text.length > maxUrlCharacters || !URL.canParse(text)) return '';
  const url = new URL(text);
  const allowed = (url.protocol === 'https:' || url.protocol === 'http:') && url.username === '' && url.password === '';
  return allowed && url.href.length <= maxUrlCharacters ? url.href : '';
}

function parse<Schema extends z.ZodType>(schema: Schema, json: string): z.infer<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

/** Reads the engine's metadata line; undefined when it is not one or holds no title. */
export function parseMetadata(line: string): AnnouncedMetadata | undefined {
  if (!line.startsWith(marks.metadata)) return undefined;
  const metadata = parse(metadataSchema, line.slice(marks.metadata.length));
  const title = cleanDetail(metadata?.title ?? '');
  if (metadata === undefined || title === '') return undefined;
  return {
    title,
    durationSeconds: Math.round(metadata.duration ?? 0),
    thumbnail: imageUrl(metadata.thumbnail),
    isLive: metadata.is_live ?? false,
    exactSeconds: metadata.duration ?? 0,
  };
}

/** How far one part is, 0 to 1, by the surest of what the engine knows; null when it knows nothing. */
function partFraction(part: PartProgress): number | null {
  if (part.status === 'finished') return 1;
  const bytes = part.downloaded_bytes ?? 0;
  if (part.total_bytes) return Math.min(bytes / part.total_bytes, 1);
  if (part.fragment_count) return Math.min((part.fragment_index ?? 0) / part.fragment_count, 1);
  return part.total_bytes_estimate ? Math.min(bytes / part.total_bytes_estimate, 1) : null;
}

function shares(parts: z.infer<typeof partsSchema>): number[] {
  const weights = parts.map((part) => part.filesize ?? part.filesize_approx ?? part.tbr ?? 0);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.every((weight) => weight > 0)
    ? weights.map((weight) => weight / total)
    : parts.map(() => 1 / parts.length);
}

export interface DownloadOutput {
  /** Takes one line of the engine's standard output. */
  take: (line: string) => void;
  metadata: AnnouncedMetadata | undefined;
  /** The engine chose what to download: the item passed the filters. */
  chosen: boolean;
  /** Of what it chose; undefined where the platform does not say. */
  hasSound: boolean | undefined;
  /** It comes in pieces: HLS or DASH. */
  inPieces: boolean;
  done: boolean;
}

/**
 * Follows a download by the lines that the engine prints. Progress runs over all parts, never backwards, at most four times
 * a second; `onBytes` hears how much has been downloaded in all.
 */
export function followDownload(options: {
  onProgress: (progress: DownloadProgress) => void;
  onBytes: (downloadedBytes: number) => void;
  nowMs: () => number;
}): DownloadOutput {
  let partShares = [1];
  let partIndex = 0;
  let finishedBytes = 0;
  let percent: number | null = null;
  let reportedMs = -Infinity;

  function report(part: PartProgress): void {
    const fraction = partFraction(part);
    const before = partShares.slice(0, partIndex).reduce((sum, share) => sum + share, 0);
    if (fraction !== null) {
      const now = Math.floor((before + fraction * (partShares[partIndex] ?? 0)) * 1000) / 10;
      percent = Math.max(percent ?? 0, Math.min(now, 100));
    }
    const nowMs = options.nowMs();
    if (nowMs - reportedMs < reportIntervalMs) return;
    reportedMs = nowMs;
    const bytesPerSecond = typeof part.speed === 'number' ? Math.round(part.speed) : null;
    const etaSeconds = typeof part.eta === 'number' ? Math.round(part.eta) : null;
    options.onProgress({ percent, bytesPerSecond, etaSeconds });
  }

  function takeProgress(part: PartProgress): void {
    options.onBytes(finishedBytes + (part.downloaded_bytes ?? 0));
    report(part);
    if (part.status !== 'finished') return;
    finishedBytes += part.downloaded_bytes ?? part.total_bytes ?? 0;
    partIndex += 1;
  }

  const output: DownloadOutput = {
    metadata: undefined,
    chosen: false,
    hasSound: undefined,
    inPieces: false,
    done: false,
    take(line) {
      if (line.startsWith(marks.progress)) {
        const part = parse(progressSchema, line.slice(marks.progress.length));
        if (part !== undefined) takeProgress(part);
      } else if (line.startsWith(marks.parts)) {
        output.chosen = true;
        const parts = parse(partsSchema, line.slice(marks.parts.length));
        if (parts === undefined || parts.length < 2) return;
        partShares = shares(parts);
        // Whatever joins them writes the length of the longer one.
        output.inPieces = true;
      } else if (line.startsWith(marks.codecs)) {
        const { acodec, protocol } = parse(codecsSchema, line.slice(marks.codecs.length)) ?? {};
        output.hasSound = typeof acodec === 'string' ? acodec !== 'none' : undefined;
        output.inPieces ||= /m3u8|dash/.test(protocol ?? '');
      } else if (line.startsWith(marks.done)) {
        output.done = true;
      } else {
        output.metadata ??= parseMetadata(line);
      }
    },
  };
  return output;
}
