import type { ReasonKnownBeforehand } from '../domain/failure-reasons.ts';
import type { DownloaderLimits } from './yt-dlp/arguments.ts';
import type { AnnouncedMetadata } from './yt-dlp/output.ts';
import { type Refusal, refusalFailure } from './yt-dlp/refusal.ts';

/** An item that is refused for one of these may tell its title and its duration all the same. */
const reasonsWithMetadata = ['drm_protected', 'live_stream'] as const satisfies ReasonKnownBeforehand[];

/** @returns the reason of a refusal that concerns the formats of an item alone; null for any other refusal, and for none */
export function refusalOfFormats(refusal: Refusal | undefined): ReasonKnownBeforehand | null {
  const reason = refusal && refusalFailure(refusal).reason;
  return reasonsWithMetadata.find((each) => each === reason) ?? null;
}

/**
 * Tells why a download of an item would fail, as far as its metadata and our limits say so: the same rules by which an attempt
 * refuses it (`arguments.ts`). A size counts only where the platform states that of every format, and each is too large.
 *
 * @param formatBytes sizes of the formats with picture or sound; undefined for those that the platform does not state
 */
export function knownRefusal(
  { isLive, exactSeconds }: AnnouncedMetadata,
  formatBytes: readonly (number | undefined)[],
  { maxDurationSeconds, maxFileSizeBytes }: DownloaderLimits,
): ReasonKnownBeforehand | null {
  if (isLive) return 'live_stream';
  if (exactSeconds > maxDurationSeconds) return 'too_long';
  const areAllTooLarge = formatBytes.length > 0 && formatBytes.every((bytes) => (bytes ?? 0) > maxFileSizeBytes);
  return areAllTooLarge ? 'too_large' : null;
}
