import { defaultOptions, type DownloadOptions } from '../../domain/download-options.ts';
import { type ParsedVideo, parseVideoUrl } from '../../domain/parse-video-url.ts';
import type { Wish } from './story.ts';

/** A wish of the story, read as the API reads one. */
export function videoOf({ url, options }: Wish): ParsedVideo & { options: DownloadOptions } {
  const parsed = parseVideoUrl(url);
  if (!parsed.ok || !parsed.video) throw new Error(`the story's address ${url} names no single item`);
  return { ...parsed.video, options: { ...defaultOptions, ...options } };
}
