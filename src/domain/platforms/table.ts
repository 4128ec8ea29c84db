import type { Platform } from './platform.ts';
import { pinterest, reddit, tumblr } from './boards-and-blogs.ts';
import { bilibili, odnoklassniki, rutube, vk } from './regional-sites.ts';
import { bluesky, facebook, instagram, snapchat, tiktok, twitter } from './social-networks.ts';
import { bandcamp, soundcloud } from './sound.ts';
import { dailymotion, loom, rumble, streamable, twitch, vimeo, youtube } from './video-sites.ts';

/** Every platform that is served, the sample platform of demos and tests aside. */
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
