import type { FailureReason } from '../../src/domain/failure-reasons.ts';

/** Items of the sample platform that it refuses to everybody, and the reason that a download of each fails for. */
export const refusedItems = [
  ['private', 'private_video'],
  ['gone', 'video_unavailable'],
  ['geo', 'geo_blocked'],
  ['login', 'login_required'],
  ['age', 'age_restricted'],
  ['drm', 'drm_protected'],
  ['premiere', 'live_stream'],
] as const satisfies [string, FailureReason][];

/** Items that it shows, but that this service does not download. */
export const undownloadableItems = [
  ['live', 'live_stream'],
  ['large', 'too_large'],
  ['long', 'too_long'],
] as const satisfies [string, FailureReason][];

/** Items for which the platform itself fails, or says something that nobody knows. */
export const itemsOfPlatformFaults = [
  ['busy', 'rate_limited_by_platform'],
  ['broken', 'platform_error'],
  ['odd', 'video_unavailable'],
] as const satisfies [string, FailureReason][];
