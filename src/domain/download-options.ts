/** The options of a download (contract §4.2). */
export const formats = ['video', 'audio'] as const;
type Format = (typeof formats)[number];

/** `best`, or the wanted length of the smaller side in pixels. */
export const qualities = ['best', '2160', '1440', '1080', '720', '480', '360'] as const;
export type Quality = (typeof qualities)[number];

export const audioFormats = ['mp3', 'm4a'] as const;
type AudioFormat = (typeof audioFormats)[number];

/** More than the stills of one post on any platform. */
export const maxItem = 100;

export interface DownloadOptions {
  format: Format;
  quality: Quality;
  /** Format of the file if `format` is `audio`. */
  audioFormat: AudioFormat;
  /** Number of the still in an image post, from 1. */
  item: number;
}

export const defaultOptions: DownloadOptions = { format: 'video', quality: 'best', audioFormat: 'mp3', item: 1 };

/** The kind of item that an address names: a video, sound without a picture, or a post of stills. */
export type ItemKind = 'video' | 'sound' | 'images';

/** The format of the finished file, which is its extension. */
export type Output = 'mp4' | AudioFormat | 'jpg';

export function outputOf(
  kind: ItemKind,
  { format, audioFormat }: Pick<DownloadOptions, 'format' | 'audioFormat'>,
): Output {
  if (kind === 'images') return 'jpg';
  return format === 'audio' || kind === 'sound' ? audioFormat : 'mp4';
}

/**
 * Checks the options against the kind of item that the address names.
 *
 * @returns the option at fault and an explanation for the client; undefined if all options fit
 */
export function misfit(
  kind: ItemKind,
  { format, item }: Pick<DownloadOptions, 'format' | 'item'>,
): { option: string; why: string } | undefined {
  if (kind !== 'images' && item !== 1) {
    return {
      option: 'item',
      why: `chooses a still of an image post, and this address is that of ${kind === 'sound' ? 'sound' : 'a video'}`,
    };
  }
  if (kind === 'images' && format === 'audio') {
    return { option: 'format', why: 'an image post has no sound; leave it out, or ask for video' };
  }
  return undefined;
}
