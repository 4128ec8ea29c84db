import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { DownloadOptions } from '../../domain/download-options.ts';
import type { VideoReference } from '../../ports/videos.ts';

/** 1 to 255 visible ASCII characters. */
const keyPattern = /^[\x21-\x7e]{1,255}$/;

export const hasIdempotencyKeyForm = (key: string): boolean => keyPattern.test(key);

/** SHA-256, hexadecimal: the key itself is stored nowhere. */
export const hashIdempotencyKey = (key: string): string => hash('sha256', key);

/** SHA-256 over the content of a download request, defaults included. Requests with the same key must have the same one. */
export function fingerprintOf(video: VideoReference, { format, quality, audioFormat, item }: DownloadOptions): string {
  const { platform, videoId: video_id, canonicalUrl: url } = video;
  // On some platforms an id is unique only together with the rest of the address.
  const asked = canonicalize({ platform, video_id, url, format, quality, audio_format: audioFormat, item });
  return hash('sha256', asked ?? '');
}
