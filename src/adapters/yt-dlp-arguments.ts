import type { Format, Quality } from '../domain/download-options.ts';

export interface EngineLimits {
  maxFileSizeBytes: number;
  maxDurationSeconds: number;
  attemptTimeoutMs: number;
  probeTimeoutMs: number;
}

export interface EngineRun {
  /** The one extractor that may look at the URL. */
  extractor: string;
  pluginsDirectory: string;
  ffmpegPath: string;
  /** Rebuilt by us from platform and id. */
  url: string;
}

/** The marks in front of the lines that the engine prints for us. */
export const marks = { metadata: 'META ', parts: 'PARTS ', progress: 'PROG ', done: 'DONE ' } as const;

/** The largest smaller side in pixels that `best` means: above it files grow beyond what anybody asked for. */
const bestSmallerSide = 2160;

const metadataTemplate = `${marks.metadata}%(.{title,duration,thumbnail,is_live})j`;
const partsTemplate = `${marks.parts}%(requested_formats.:.{filesize,filesize_approx,tbr})j`;
const progressFields =
  'status,downloaded_bytes,total_bytes,total_bytes_estimate,fragment_index,fragment_count,speed,eta';

/**
 * What every run of the engine is told: no configuration, plugins or extractors but ours, nothing of the options through
 * which a platform's answer could reach other programs or files, and few retries, since the service itself tries again.
 * The proxy is in the environment, because it has credentials and a list of processes shows arguments.
 */
function commonArguments(run: EngineRun): string[] {
  return [
    ...['--ignore-config', '--no-update', '--no-cache-dir', '--no-colors', '--no-exec', '--abort-on-error'],
    ...['--no-plugin-dirs', '--plugin-dirs', run.pluginsDirectory, '--ies', run.extractor],
    ...['--no-playlist', '--playlist-items', '1', '--xff', 'never'],
    ...['--socket-timeout', '15', '--retries', '2', '--fragment-retries', '2', '--extractor-retries', '1'],
    ...['--ffmpeg-location', run.ffmpegPath],
  ];
}

/** Asks for an item's metadata and nothing else. */
export function probeArguments(run: EngineRun): string[] {
  return [...commonArguments(run), '--simulate', '--print', `video:${metadataTemplate}`, '--', run.url];
}

/**
 * `res` counts the smaller side, so that an upright film of 720 is 720 wide, and falls back to the smallest that there is; a
 * filter on the height would do neither. H.264 and AAC come first because they play everywhere.
 */
function formatArguments(format: Format, quality: Quality): string[] {
  if (format === 'audio') return ['-f', 'ba/b', '-x', '--audio-format', 'mp3', '--audio-quality', '192K'];
  const smallerSide = quality === 'best' ? bestSmallerSide : quality;
  return [
    ...['-f', 'bv*+ba/b', '-S', `res:${smallerSide},vcodec:h264,acodec:aac`],
    ...['--merge-output-format', 'mp4', '--remux-video', 'mp4'],
  ];
}

/** Downloads an item as `media.mp4` or `media.mp3` into a directory; no word of the platform's reaches the file system. */
export function downloadArguments(
  run: EngineRun,
  wanted: { format: Format; quality: Quality },
  options: { directory: string; limits: EngineLimits },
): string[] {
  const { maxDurationSeconds, maxFileSizeBytes } = options.limits;
  return [
    ...commonArguments(run),
    ...['--newline', '--progress', '--progress-delta', '0.25', '--no-mtime', '--abort-on-unavailable-fragments'],
    ...['--downloader', 'native'],
    ...['--match-filters', `!is_live & duration<=?${maxDurationSeconds}`, '--max-filesize', String(maxFileSizeBytes)],
    ...['-P', options.directory, '-o', 'media.%(ext)s'],
    // Before the filters, so that an item that they refuse is still known for what it is.
    ...['--print', `pre_process:${metadataTemplate}`],
    ...['--print', `video:${partsTemplate}`],
    ...['--print', `after_move:${marks.done}%(filepath)j`],
    ...['--progress-template', `download:${marks.progress}%(progress.{${progressFields}})j`],
    ...formatArguments(wanted.format, wanted.quality),
    ...['--', run.url],
  ];
}
