import type { VideoReference } from './videos.ts';

type Item = Pick<VideoReference, 'platform' | 'videoId'>;

/** The operator's rules about platforms and items, as they are now: they change while the service runs. */
export interface PlatformRules {
  /** The reason why a platform is switched off, for clients; undefined if it is not. */
  whyOff(platform: string): string | undefined;
  /** The reason why an item is blocked, for clients; undefined if it is not. */
  whyBlocked(video: Item): string | undefined;
  /** True for the name, without its extension, that a link gives to the file of a blocked item. */
  blocksFile(name: string): boolean;
}

/** Nothing is switched off or blocked. */
export const noPlatformRules: PlatformRules = {
  whyOff: () => undefined,
  whyBlocked: () => undefined,
  blocksFile: () => false,
};
