import type { VideoReference } from './videos.ts';

/** The operator's rules about platforms and items, as they are now: they change while the service runs. */
export interface PlatformRules {
  /** The reason why a platform is switched off, for clients; undefined if it is not. */
  whyOff(platform: string): string | undefined;
  /** The reason why an item is blocked, for clients; undefined if it is not. */
  whyBlocked(video: Pick<VideoReference, 'platform' | 'videoId'>): string | undefined;
}
