import type { WantedFile } from '../../ports/videos.ts';

export interface DownloaderLimits {
  maxFileSizeBytes: number;
  maxDurationSeconds: number;
  attemptTimeoutMs: number;
  metadataTimeoutMs: number;
  /** The largest smaller side in pixels that is downloaded, `best` included. */
  maxVideoSide: number;
}

export interface ExtractorRun {
  /** The one extractor that may look at the URL. */
  extractor: string;
  pluginsDirectory: string;
  ffmpegPath: string;
  /** Rebuilt by us from platform and id. */
  url: string;
}

/** The marks in front of the lines that the engine prints for us. */
export const marks = {
  metadata: 'META ',
  parts: 'PARTS ',
  codecs: 'CODECS ',
  progress: 'PROG ',
  done: 'DONE ',
} as const;

const metadataTemplate = `${marks.metadata}%(.{title,duration,thumbnail,is_live})j`;
const partsTemplate = `${marks.parts}%(requested_formats.:.{filesize,filesize_approx,tbr})j`;
const codecsTemplate = `${marks.codecs}%(.{acodec,protocol})j`;
const progressFields =
  'status,downloaded_bytes,total_bytes,total_bytes_estimate,fragment_index,fragment_count,speed,eta';

/**
 * What every run of the engine is told: no configuration, plugins or extractors but ours, nothing of the options through
 * which a platform's answer could reach other programs or files, and few retries, since the service itself tries again.
 * The proxy is in the environment, because it has credentials and a list of processes shows arguments.
 */
function commonArguments(run: ExtractorRun, item = 1): string[] {
  return [
    ...['--ignore-config', '--no-update', '--no-cache-dir', '--no-colors', '--no-exec', '--abort-on-error'],
    ...['--no-plugin-dirs', '--plugin-dirs', run.pluginsDirectory, '--ies', run.extractor],
    ...['--no-playlist', '--playlist-items', String(item), '--xff', 'never'],
    ...['--socket-timeout', '15', '--retries', '2', '--fragment-retries', '2', '--extractor-retries', '1'],
    ...['--ffmpeg-location', run.ffmpegPath],
    // Sound that cannot be decoded is not made into silence.
    ...['--postprocessor-args', 'ExtractAudio+ffmpeg:-xerror'],
  ];
}

/** Asks for an item's metadata and nothing else. */
export function metadataArguments(run: ExtractorRun): string[] {
  return [...commonArguments(run), '--simulate', '--print', `video:${metadataTemplate}`, '--', run.url];
}

/**
 * `res` counts the smaller side, so that an upright film of 720 is 720 wide, and falls back to the smallest that there is; a
 * filter on the height would do neither. H.264 and AAC come first because they play everywhere.
 */
function formatArguments({ output, quality }: WantedFile, { maxVideoSide }: DownloaderLimits): string[] {
  switch (output) {
    case 'mp4': {
      const smallerSide = quality === 'best' ? maxVideoSide : Math.min(Number(quality), maxVideoSide);
      return [
        ...['-f', 'bv*+ba/b', '-S', `res:${smallerSide},vcodec:h264,acodec:aac`],
        ...['--merge-output-format', 'mp4', '--remux-video', 'mp4'],
      ];
    }
    case 'mp3':
      return ['-f', 'ba/b', '-x', '--audio-format', 'mp3', '--audio-quality', '192K'];
    case 'm4a':
      return ['-f', 'ba[ext=m4a]/ba/b', '-x', '--audio-format', 'm4a', '--audio-quality', '192K'];
    case 'jpg':
      // A still has no codecs, and nothing else to choose from.
      return ['-f', 'b*'];
  }
}

/** Downloads an item as the one file `media.*` into a directory; no word of the platform's but a still's file type reaches the file system. */
export function downloadArguments(
  run: ExtractorRun,
  wanted: WantedFile,
  options: { directory: string; limits: DownloaderLimits },
): string[] {
  const { maxDurationSeconds, maxFileSizeBytes } = options.limits;
  return [
    ...commonArguments(run, wanted.item),
    ...['--newline', '--progress', '--progress-delta', '0.25', '--no-mtime', '--abort-on-unavailable-fragments'],
    ...['--downloader', 'native'],
    ...['--match-filters', `!is_live & duration<=?${maxDurationSeconds}`, '--max-filesize', String(maxFileSizeBytes)],
    ...['-P', options.directory, '-o', 'media.%(ext)s'],
    // Before the filters, so that an item that they refuse is still known for what it is.
    ...['--print', `pre_process:${metadataTemplate}`],
    ...['--print', `video:${partsTemplate}`],
    ...['--print', `video:${codecsTemplate}`],
    ...['--print', `after_move:${marks.done}%(filepath)j`],
    ...['--progress-template', `download:${marks.progress}%(progress.{${progressFields}})j`],
    ...formatArguments(wanted, options.limits),
    ...['--', run.url],
  ];
}
