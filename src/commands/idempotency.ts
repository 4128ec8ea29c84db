import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Format, Quality } from '../domain/download-options.ts';
import type { VideoReference } from './ports.ts';

/** 1 to 255 visible ASCII characters. */
const keyPattern = /^[\x21-\x7e]{1,255}$/;

export const hasIdempotencyKeyForm = (key: string): boolean => keyPattern.test(key);

/** SHA-256, hexadecimal: the key itself is the client's and is kept nowhere. */
export const hashIdempotencyKey = (key: string): string => hash('sha256', key);

/** SHA-256 over everything that a download is asked for with, defaults included: what must be the same under the same key. */
export function fingerprintOf(
  video: VideoReference,
  { format, quality }: { format: Format; quality: Quality },
): string {
  const asked = canonicalize({ platform: video.platform, video_id: video.videoId, format, quality });
  return hash('sha256', asked ?? '');
}
