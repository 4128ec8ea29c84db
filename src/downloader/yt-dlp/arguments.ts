import type { WantedFile } from '../../ports/videos.ts';

export interface DownloaderLimits {
  maxFileSizeBytes: number;
  maxDurationSeconds: number;
  attemptTimeoutMs: number;
  metadataTimeoutMs: number;
  /** The limit, in pixels, for the smaller side of a downloaded video, `best` included. */
  maxVideoSide: number;
}

export interface ExtractorRun {
  /** The one extractor that may read the URL. */
  extractor: string;
  pluginsDirectory: string;
  /** The URL that we rebuilt from platform and id. */
  url: string;
}

/** The order and the filters of `tracks.py`: the film as it was made before its dubs, what was not tried before what was. */
const byTrack = 'reeltally_track,+reeltally_tried';
const isMainTrack = '[reeltally_track>=0]';
/** An earlier attempt replaced what it could; what failed twice in spite of that is left out altogether. */
const isHardlyTried = '[reeltally_tried<2]';

/**
 * The same selection three times, each less strict. A filter and not the order alone, since yt-dlp orders files with picture and
 * sound, pictures and sounds each for itself: a dub in a file of its own would be merged with the picture of the original.
 *
 * @param select makes the selection from the filter that each of its formats has to pass
 */
const selection = (select: (filter: string) => string): string =>
  [`${isMainTrack}${isHardlyTried}`, isMainTrack, ''].map(select).join('/');

/** The prefixes of the lines that yt-dlp prints for us. */
export const marks = {
  metadata: 'META ',
  sizes: 'SIZES ',
  parts: 'PARTS ',
  progress: 'PROG ',
  whole: 'WHOLE ',
  done: 'DONE ',
  /** Printed by our plugins: `tracks.py` and `refusals.py`. */
  chosen: 'CHOSEN ',
  refused: 'REFUSED ',
} as const;

const metadataTemplate = `${marks.metadata}%(.{title,duration,thumbnail,is_live})j`;
const sizesTemplate = `${marks.sizes}%(formats.:.{filesize,vcodec,acodec})j`;
const partsTemplate = `${marks.parts}%(requested_formats.:.{format_id,filesize,filesize_approx,tbr})j`;
const progressFields =
  'status,downloaded_bytes,total_bytes,total_bytes_estimate,fragment_index,fragment_count,speed,eta';

/**
 * The arguments of every run: no configuration, plugins or extractors but ours, no option through which a platform's response
 * could reach other programs or files, and few retries, since the service itself tries again. The proxy's URL contains
 * credentials and is therefore in the environment: process lists show arguments.
 */
function commonArguments(run: ExtractorRun, item = 1): string[] {
  return [
    ...['--ignore-config', '--no-update', '--no-cache-dir', '--no-colors', '--no-exec', '--abort-on-error'],
    ...['--no-plugin-dirs', '--plugin-dirs', run.pluginsDirectory, '--ies', run.extractor],
    ...['--no-playlist', '--playlist-items', String(item), '--xff', 'never'],
    ...['--socket-timeout', '15', '--retries', '2', '--fragment-retries', '2', '--extractor-retries', '1'],
    // The worker finishes files, not the engine, which finds no ffmpeg there. As a downloader, ffmpeg would show a platform's cookies
    // in its arguments.
    ...['--ffmpeg-location', run.pluginsDirectory, '--fixup', 'never'],
  ];
}

/** Prints an item's metadata and the sizes of its formats, and downloads nothing. */
export function metadataArguments(run: ExtractorRun): string[] {
  const prints = [metadataTemplate, sizesTemplate].flatMap((template) => ['--print', `video:${template}`]);
  return [...commonArguments(run), '--simulate', ...prints, '--', run.url];
}

/** @param prefersM4a takes M4A where the original language comes in it too */
function soundArguments(prefersM4a: boolean): string[] {
  const select = (filter: string) => `${prefersM4a ? `ba[ext=m4a]${filter}/` : ''}ba${filter}/b${filter}`;
  return ['-f', selection(select), '-S', byTrack];
}

/**
 * `res` sorts by the smaller side, so that a portrait video of 720 is 720 wide, and falls back to the smallest format. A filter
 * on the height would do neither. H.264 and AAC come first because they play everywhere. All this is a preference within the
 * original language.
 */
function formatArguments({ output, quality }: WantedFile, { maxVideoSide }: DownloaderLimits): string[] {
  switch (output) {
    case 'mp4': {
      const smallerSide = quality === 'best' ? maxVideoSide : Math.min(Number(quality), maxVideoSide);
      return [
        ...['-f', selection((filter) => `bv*${filter}+ba${filter}/b${filter}`)],
        ...['-S', `${byTrack},res:${smallerSide},vcodec:h264,acodec:aac`],
      ];
    }
    case 'mp3':
      return soundArguments(false);
    case 'm4a':
      return soundArguments(true);
    case 'jpg':
      // A still has no codecs to choose from.
      return ['-f', 'b*'];
  }
}

/** Escaped, since yt-dlp splits the values at commas. */
const triedArguments = (tried: readonly string[]): string[] =>
  tried.length === 0 ? [] : ['--extractor-args', `reeltally:tried=${tried.map(encodeURIComponent).join(',')}`];

/**
 * Downloads an item as the one file `media.*` into a directory. The only text of the platform that reaches the file system is
 * the file type of a still.
 */
export function downloadArguments(
  run: ExtractorRun,
  wanted: WantedFile,
  options: {
    directory: string;
    limits: DownloaderLimits;
    /** The formats that earlier attempts have fetched in vain, as `reeltally_id` names them. */
    tried?: readonly string[];
  },
): string[] {
  const { maxDurationSeconds, maxFileSizeBytes } = options.limits;
  return [
    ...commonArguments(run, wanted.item),
    ...['--newline', '--progress', '--progress-delta', '0.25', '--no-mtime', '--abort-on-unavailable-fragments'],
    ...['--downloader', 'native'],
    ...['--match-filters', `!is_live & duration<=?${maxDurationSeconds}`, '--max-filesize', String(maxFileSizeBytes)],
    ...['-P', options.directory, '-o', 'media.%(ext)s'],
    // Before the filters, so that the metadata of refused items is known.
    ...['--print', `pre_process:${metadataTemplate}`],
    ...['--print', `video:${partsTemplate}`],
    ...['--print', `after_move:${marks.done}%(filepath)j`],
    ...['--progress-template', `download:${marks.progress}%(progress.{${progressFields}})j`],
    ...formatArguments(wanted, options.limits),
    ...triedArguments(options.tried ?? []),
    ...['--', run.url],
  ];
}
