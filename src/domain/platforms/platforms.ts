import { pinterest, reddit, tumblr } from './boards-and-blogs.ts';
import type { Platform } from './platform-row.ts';
import { bilibili, odnoklassniki, rutube, vk } from './regional-sites.ts';
import { samplePlatform } from './sample.ts';
import { bluesky, facebook, instagram, snapchat, tiktok, twitter } from './social-networks.ts';
import { bandcamp, soundcloud } from './sound.ts';
import { dailymotion, loom, rumble, streamable, twitch, vimeo, youtube } from './video-sites.ts';

export interface PlatformConfiguration {
  /** Scheme, host and port of the sample platform, if one runs (demo mode). */
  samplePlatformOrigin?: string | undefined;
}

/** Platforms that are served if the configuration names their origin. */
export const configuredPlatforms = ({ samplePlatformOrigin }: PlatformConfiguration): readonly Platform[] =>
  samplePlatformOrigin === undefined ? [] : [samplePlatform(samplePlatformOrigin)];

/** Every platform that is always served. */
export const platforms: readonly Platform[] = [
  youtube,
  tiktok,
  instagram,
  facebook,
  twitter,
  vimeo,
  dailymotion,
  twitch,
  reddit,
  soundcloud,
  bilibili,
  pinterest,
  tumblr,
  bluesky,
  rutube,
  vk,
  odnoklassniki,
  streamable,
  loom,
  snapchat,
  bandcamp,
  rumble,
];

/** Of every platform that is served with this configuration. */
export const platformNames = (configuration: PlatformConfiguration): string[] =>
  [...platforms, ...configuredPlatforms(configuration)].map(({ name }) => name);

/** The platform's own hosts, as its row writes them; none of an unknown platform. */
export function hostsOfPlatform(name: string, configuration: PlatformConfiguration): readonly string[] {
  const platform = [...platforms, ...configuredPlatforms(configuration)].find((each) => each.name === name);
  return platform?.origin === undefined ? (platform?.hosts ?? []) : [new URL(platform.origin).hostname];
}
