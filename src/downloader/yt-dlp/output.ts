import { z } from 'zod';
import { visibleLine } from '../../domain/plain-text.ts';
import type { DownloadProgress, VideoMetadata } from '../../ports/videos.ts';
import { marks } from './arguments.ts';
import { cleanDetail } from './failure-phrases.ts';
import { parseRefusal, type Refusal } from './refusal.ts';

const maxUrlCharacters = 2048;
const maxTitleCharacters = 500;
const reportIntervalMs = 250;
/** The rest of the progress is the finishing of the file. */
const fetchedShare = 0.9;

const sizeSchema = z.number().nonnegative().nullish();
/** Longer than any film: ten years. */
const longestDurationSeconds = 315_360_000;
/** A value that cannot be used is none: an item is not refused for what its title or its length is. */
const metadataSchema = z.object({
  title: z.string().nullish().catch(null),
  duration: z.number().min(0).max(longestDurationSeconds).nullish().catch(null),
  thumbnail: z.string().nullish().catch(null),
  is_live: z.boolean().nullish().catch(null),
});
const partsSchema = z.array(z.object({ filesize: sizeSchema, filesize_approx: sizeSchema, tbr: sizeSchema })).max(16);
const formatsSchema = z.array(
  z.object({ filesize: sizeSchema.catch(null), vcodec: z.string().nullish(), acodec: z.string().nullish() }),
);
const wordSchema = z.string().nullish();
const formatSchema = z.object({
  format_id: wordSchema,
  protocol: wordSchema,
  language: wordSchema,
  width: sizeSchema,
  height: sizeSchema,
  vcodec: wordSchema,
  acodec: wordSchema,
  reeltally_id: wordSchema,
  reeltally_kind: wordSchema,
  reeltally_tried: sizeSchema,
  reeltally_left_out: wordSchema,
});
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

type Format = z.infer<typeof formatSchema>;
type PartProgress = z.infer<typeof progressSchema>;

/** What yt-dlp says of an item. The title is empty if the item has none that can be seen. */
export interface AnnouncedMetadata extends Omit<VideoMetadata, 'downloadRefusal'> {
  isLive: boolean;
  /** The duration that the platform gave; 0 if it gave none. */
  exactSeconds: number;
}

/** @returns an address that a client's page may safely show; otherwise the empty string */
export function imageUrl(text: string | null | undefined): string {
  if (text === null || text === undefined || text.length > maxUrlCharacters || !URL.canParse(text)) return '';
  const url = new URL(text);
  const allowed = (url.protocol === 'https:' || url.protocol === 'http:') && url.username === '' && url.password === '';
  return allowed && url.href.length <= maxUrlCharacters ? url.href : '';
}

/** Python writes numbers that JSON has no word for. Texts are matched first, so that words in them stay. */
const notInJson = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g;
const replacement = (matched: string): string => (matched.startsWith('"') ? matched : 'null');

function parse<Schema extends z.ZodType>(schema: Schema, json: string): z.infer<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(json.replace(notInJson, replacement))).data;
  } catch {
    return undefined;
  }
}

/** Reads yt-dlp's metadata line; undefined if it is another one, or malformed. */
export function parseMetadata(line: string): AnnouncedMetadata | undefined {
  if (!line.startsWith(marks.metadata)) return undefined;
  const metadata = parse(metadataSchema, line.slice(marks.metadata.length));
  if (metadata === undefined) return undefined;
  return {
    title: visibleLine(metadata.title ?? '', maxTitleCharacters),
    durationSeconds: Math.round(metadata.duration ?? 0),
    thumbnail: imageUrl(metadata.thumbnail),
    isLive: metadata.is_live ?? false,
    exactSeconds: metadata.duration ?? 0,
  };
}

/** Reads yt-dlp's line of formats: the sizes of those with picture or sound. @returns undefined if it is another line */
export function parseFormatBytes(line: string): (number | undefined)[] | undefined {
  if (!line.startsWith(marks.sizes)) return undefined;
  const formats = parse(formatsSchema, line.slice(marks.sizes.length)) ?? [];
  const played = formats.filter(({ vcodec, acodec }) => vcodec !== 'none' || acodec !== 'none');
  return played.map(({ filesize }) => filesize ?? undefined);
}

/** The progress of one part, from 0 to 1, by the most reliable of yt-dlp's figures; null if there is none. */
function partFraction(part: PartProgress): number | null {
  if (part.status === 'finished') return 1;
  const bytes = part.downloaded_bytes ?? 0;
  if (part.total_bytes) return Math.min(bytes / part.total_bytes, 1);
  if (part.fragment_count) return Math.min((part.fragment_index ?? 0) / part.fragment_count, 1);
  return part.total_bytes_estimate ? Math.min(bytes / part.total_bytes_estimate, 1) : null;
}

const isThere = (codec: string | null | undefined) => typeof codec === 'string' && codec !== 'none';

/** One format in words, such as `137 (1920×1080, avc1.640028, https)`. */
function formatInWords(format: Format): string {
  const { format_id: id, language, protocol, width, height, vcodec, acodec, reeltally_kind: kind } = format;
  const tried = (format.reeltally_tried ?? 0) > 0 ? 'tried before' : '';
  const size = width && height ? `${String(width)}×${String(height)}` : '';
  const facts = [size, isThere(vcodec) && vcodec, isThere(acodec) && acodec, language, kind, protocol, tried];
  return `${id ?? '?'} (${facts.filter(Boolean).join(', ')})`;
}

/** The chosen formats in words, and the languages and kinds of tracks that were left out for them. */
function choiceInWords(formats: readonly Format[]): string {
  const leftOut = formats.find((format) => format.reeltally_left_out)?.reeltally_left_out;
  const chosen = formats.map(formatInWords).join(' + ');
  return cleanDetail(leftOut ? `${chosen}; left out: ${leftOut}` : chosen);
}

function shares(parts: z.infer<typeof partsSchema>): number[] {
  const weights = parts.map((part) => part.filesize ?? part.filesize_approx ?? part.tbr ?? 0);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.every((weight) => weight > 0)
    ? weights.map((weight) => weight / total)
    : parts.map(() => 1 / parts.length);
}

export type DownloadOutput = ReturnType<typeof followDownload>;

/**
 * Follows a download by the lines that yt-dlp prints. Progress covers all parts, never goes back, and is reported at most four
 * times a second; `onBytes` is told how much has been downloaded in total.
 */
export function followDownload(options: {
  onProgress: (progress: DownloadProgress) => void;
  onBytes: (downloadedBytes: number) => void;
  nowMs: () => number;
}) {
  let partShares = [1];
  let partIndex = 0;
  let finishedBytes = 0;
  let percent: number | null = null;
  let reportedMs = -Infinity;
  let firstFinished: { share: number; nowMs: number } | undefined;

  function report(part: PartProgress): void {
    const fraction = partFraction(part);
    const before = partShares.slice(0, partIndex).reduce((sum, share) => sum + share, 0);
    if (fraction !== null) {
      const fetched = before + fraction * (partShares[partIndex] ?? 0);
      const now = Math.floor(fetched * fetchedShare * 1000) / 10;
      percent = Math.max(percent ?? 0, Math.min(now, 100));
    }
    const bytesPerSecond = typeof part.speed === 'number' ? Math.round(part.speed) : null;
    const etaSeconds = typeof part.eta === 'number' ? Math.round(part.eta) : null;
    tell({ percent, bytesPerSecond, etaSeconds });
  }

  function tell(progress: DownloadProgress): void {
    const nowMs = options.nowMs();
    if (nowMs - reportedMs < reportIntervalMs) return;
    reportedMs = nowMs;
    options.onProgress(progress);
  }

  function takeProgress(part: PartProgress): void {
    options.onBytes(finishedBytes + (part.downloaded_bytes ?? 0));
    report(part);
    if (part.status !== 'finished') return;
    finishedBytes += part.downloaded_bytes ?? part.total_bytes ?? 0;
    partIndex += 1;
  }

  function takeChoice(formats: readonly Format[]): void {
    output.choice = choiceInWords(formats);
    output.chosenIds = formats.flatMap(({ reeltally_id: id }) => id ?? []);
    output.hasNoOthers = formats.length > 0 && formats.every((format) => (format.reeltally_tried ?? 0) > 0);
  }

  const output = {
    /** The chosen formats and why, for people; empty until they are known. */
    choice: '',
    /** The chosen formats as a later attempt knows them. */
    chosenIds: [] as readonly string[],
    /** Earlier attempts have fetched all of the chosen formats: there are no others. */
    hasNoOthers: false,
    /** The last error of an extractor. */
    refusal: undefined as Refusal | undefined,
    metadata: undefined as AnnouncedMetadata | undefined,
    /** yt-dlp has chosen the formats, so the item was not filtered out. */
    chosen: false,
    /** How many files the item comes in. */
    parts: 1,
    /** How many of them are known to have come whole. */
    wholeParts: 0,
    /** Takes how much of the fetched parts has been made into the finished file, from 0 to 1. */
    takeFinished: (share: number): void => {
      const nowMs = options.nowMs();
      firstFinished ??= { share, nowMs };
      const sharePerMs = (share - firstFinished.share) / (nowMs - firstFinished.nowMs);
      const etaSeconds = sharePerMs > 0 ? Math.round((1 - share) / sharePerMs / 1000) : null;
      percent = Math.max(percent ?? 0, Math.floor((fetchedShare + (1 - fetchedShare) * share) * 1000) / 10);
      tell({ percent, bytesPerSecond: null, etaSeconds });
    },
    done: false,
    /** Takes one line of yt-dlp's standard output. */
    take(line: string): void {
      if (line.startsWith(marks.progress)) {
        const part = parse(progressSchema, line.slice(marks.progress.length));
        if (part !== undefined) takeProgress(part);
      } else if (line.startsWith(marks.parts)) {
        output.chosen = true;
        const parts = parse(partsSchema, line.slice(marks.parts.length));
        if (parts === undefined || parts.length < 2) return;
        partShares = shares(parts);
        output.parts = parts.length;
      } else if (line.startsWith(marks.whole)) {
        if (line.slice(marks.whole.length) === 'true') output.wholeParts += 1;
      } else if (line.startsWith(marks.done)) {
        output.done = true;
      } else if (line.startsWith(marks.chosen)) {
        takeChoice(parse(z.array(formatSchema).max(16), line.slice(marks.chosen.length)) ?? []);
      } else if (line.startsWith(marks.refused)) {
        output.refusal = parseRefusal(line.slice(marks.refused.length));
      } else {
        output.metadata ??= parseMetadata(line);
      }
    },
  };
  return output;
}
