/**
 * From the address that a client sends to the one video that it names.
 *
 * Nothing of the client's string is kept but the video's id: what the service stores and fetches is rebuilt from platform
 * and id. A platform is a row of the table below; adding one means adding a row.
 */

import type { ItemKind } from './download-options.ts';

export const maxUrlCharacters = 2048;

export interface ParsedVideo {
  platform: string;
  videoId: string;
  /** Rebuilt from platform and id. */
  canonicalUrl: string;
  kind: ItemKind;
}

type VideoUrlRefusal = 'invalid_request' | 'unsupported_platform';

export type VideoUrlResult =
  { ok: true; video: ParsedVideo } | { ok: false; refusal: VideoUrlRefusal; explanation: string };

/**
 * One way in which an address of a platform names a video.
 *
 * - `path` alone: the path matches, and its named group `id` is the video's id.
 * - with `query`: the path matches, and one of these query parameters is the id.
 * - with `fragment`: the path matches, and so does the fragment (without its `#`), whose group `id` is the id.
 * - with `address`: the path matches, and this query parameter holds the address of the video, on the same platform.
 *
 * The patterns have no nested repetition, so that matching takes linear time.
 */
interface Shape {
  path: RegExp;
  query?: readonly string[];
  fragment?: RegExp;
  address?: string;
}

interface Platform {
  name: string;
  /** As people write it. */
  title: string;
  sites: readonly {
    /** Exact host names; `*.` in front stands for exactly one further label. */
    hosts: readonly string[];
    shapes: readonly Shape[];
  }[];
  /** What a whole id looks like. */
  videoId: RegExp;
  canonicalUrl: (videoId: string) => string;
  /** Pages that people mistake for videos, by path, so that the refusal can say what was sent. */
  otherPages: readonly { path: RegExp; what: string }[];
}

/** Read off yt-dlp's extractor and the forms that YouTube itself has handed out over the years. */
const youtube: Platform = {
  name: 'youtube',
  title: 'YouTube',
  sites: [
    {
      hosts: [
        ...['youtube.com', '*.youtube.com', 'youtube-nocookie.com', '*.youtube-nocookie.com'],
        ...['youtubekids.com', '*.youtubekids.com', 'www.youtubeeducation.com', 'youtube.googleapis.com'],
      ],
      shapes: [
        { path: /^\/(?:(?:watch|movie)(?:_popup)?(?:\.php)?|ytscreeningroom|details)?\/?$/i, query: ['v', 'vi'] },
        { path: /^\/(?:v|e|embed|shorts|live|watch)\/(?!videoseries|live_stream)(?<id>[\w-]+)/i },
        // Only as the last part: /vi/ID/0.jpg is a preview image.
        { path: /^\/vi\/(?<id>[\w-]+)\/?$/i },
        { path: /^\/attribution_link\/?$/i, address: 'u' },
        { path: /^\/verify_age\/?$/i, address: 'next_url' },
        { path: /^\/oembed\/?$/i, address: 'url' },
        { path: /^\/signin\/?$/i, address: 'next' },
        { path: /^\/(?:m|ml)\/?$/i, address: 'continue' },
        // Pages of the years when a path stood behind the `#`: /#/watch?v=ID, /watch#!v=ID, /user/NAME#p/u/1/ID.
        { path: /^\//, fragment: /^!?\/?(?:(?:watch|tv)[^#?]*\?)?(?:[^#]*[?&;])?v=(?<id>[\w-]+)/i },
        { path: /^\//, fragment: /^\/(?:v|embed|shorts|live|watch)\/(?<id>[\w-]+)/i },
        { path: /^\/[^/]/, fragment: /^p\/(?:[\w-]+\/){1,4}(?<id>[\w-]{11})$/ },
      ],
    },
    {
      hosts: ['youtu.be', 'www.youtu.be', 'm.youtu.be'],
      shapes: [
        { path: /^\/(?:v|e|embed|shorts|live|watch)\/(?<id>[\w-]+)/i },
        { path: /^\/(?:watch)?\/?$/i, query: ['v'] },
        { path: /^\/(?<id>[\w-]+)/ },
      ],
    },
  ],
  videoId: /^[\w-]{11}$/,
  canonicalUrl: (videoId) => `https://www.youtube.com/watch?v=${videoId}`,
  otherPages: [
    { path: /^\/(?:playlist|watch_videos|embed\/videoseries|p\/|view_play_list|browse\/)/i, what: 'a playlist' },
    { path: /^\/(?:@|channel\/|c\/|user\/|embed\/live_stream)/i, what: 'a channel' },
    { path: /^\/clip\//i, what: 'a clip, which does not name its video' },
    { path: /^\/(?:results|feed|hashtag)\b/i, what: 'a list of videos' },
  ],
};

const platforms: readonly Platform[] = [youtube];

/**
 * Finds the single video that an address names. Pure, in linear time; never throws.
 *
 * @param input what the client sent.
 * @param options.samplePlatformOrigin scheme, host and port of the sample platform, where one runs (demo mode).
 * @returns the video; or `invalid_request` for what is no http(s) address, `unsupported_platform` for an http(s) address
 *   that names no video of a supported platform. The explanation quotes nothing of the input.
 */
export function parseVideoUrl(input: string, options: { samplePlatformOrigin?: string } = {}): VideoUrlResult {
  if (input === '') return invalid('The address of a video is missing.');
  if (input.length > maxUrlCharacters) {
    return invalid(`The address is longer than ${maxUrlCharacters} characters.`);
  }
  if (!input.isWellFormed() || /[\s\p{Cc}\p{Cf}\\]/u.test(input)) {
    return invalid('The address contains white space, a backslash, or a control character.');
  }
  // The authority as it was written: the URL parser below would turn look-alike letters and escapes into plain letters.
  const authority = /^https?:\/\/(?<authority>[^/?#]+)/i.exec(input)?.groups?.['authority'];
  if (authority === undefined) return invalid('The address must begin with http:// or https:// and a host name.');
  const url = URL.parse(input);
  if (url === null) return invalid('The address cannot be parsed.');

  if (options.samplePlatformOrigin === `${url.protocol}//${authority}`) {
    return parseSampleUrl(url, options.samplePlatformOrigin);
  }
  if (authority.includes('@')) return unsupported('Addresses with a user name or password are not supported.');
  if (!/^[a-z0-9.:-]+$/i.test(authority)) {
    return unsupported('Only host names in plain ASCII letters, digits and hyphens are supported.');
  }
  if (url.port !== '') return unsupported('Addresses with a port of their own are not supported.');

  const host = url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname;
  for (const platform of platforms) {
    for (const site of platform.sites) {
      if (site.hosts.some((pattern) => hostMatches(host, pattern))) return videoOf(platform, site.shapes, url);
    }
  }
  return unsupported('No supported platform has this host name.');
}

/** The sample platform stands on a loopback port, so it is known by its exact origin and not by a row of the table. */
function parseSampleUrl(url: URL, origin: string): VideoUrlResult {
  const { page, videoId } = /^\/(?<page>watch|photo)\/(?<videoId>[a-z0-9-]{1,64})$/.exec(url.pathname)?.groups ?? {};
  if (page === undefined || videoId === undefined) {
    return unsupported('This address of the sample platform does not name a single video.');
  }
  const kind = page === 'photo' ? 'images' : 'video';
  return { ok: true, video: { platform: 'sample', videoId, canonicalUrl: `${origin}/${page}/${videoId}`, kind } };
}

function hostMatches(host: string, pattern: string): boolean {
  if (!pattern.startsWith('*.')) return host === pattern;
  const suffix = pattern.slice(1);
  return host.endsWith(suffix) && /^[a-z0-9-]+$/.test(host.slice(0, -suffix.length));
}

function videoOf(platform: Platform, shapes: readonly Shape[], url: URL): VideoUrlResult {
  const path = url.pathname.replaceAll(/\/{2,}/g, '/');
  for (const shape of shapes) {
    const pathMatch = shape.path.exec(path);
    if (pathMatch === null) continue;
    if (shape.address !== undefined) {
      const inner = innerVideo(platform, queryOf(url).get(shape.address), url);
      if (inner !== undefined) return inner;
      continue;
    }
    const videoId = candidateIds(shape, pathMatch, url).find((candidate) => platform.videoId.test(candidate));
    if (videoId !== undefined) {
      const canonicalUrl = platform.canonicalUrl(videoId);
      return { ok: true, video: { platform: platform.name, videoId, canonicalUrl, kind: 'video' } };
    }
  }
  const page = platform.otherPages.find((other) => other.path.test(path));
  const what = page?.what ?? (queryOf(url).has('list') ? 'a playlist' : undefined);
  if (what !== undefined) return unsupported(`This address of ${platform.title} is that of ${what}.`);
  return unsupported(`This address of ${platform.title} does not name a single video.`);
}

function candidateIds(shape: Shape, pathMatch: RegExpExecArray, url: URL): string[] {
  if (shape.query !== undefined) {
    const query = queryOf(url);
    // People append a second `?` or a slash to an address; what follows is not part of the id.
    return shape.query.flatMap((name) => query.getAll(name)).map((value) => value.split(/[?#&/]/, 1)[0] ?? '');
  }
  const match = shape.fragment === undefined ? pathMatch : shape.fragment.exec(url.hash.slice(1));
  const id = match?.groups?.['id'];
  return id === undefined ? [] : [id];
}

/** The query, where a `;` separates as well as an `&` does: `&amp;` is often left over from a page's source. */
function queryOf(url: URL): URLSearchParams {
  return new URLSearchParams(url.search.replaceAll(';', '&'));
}

/** An address inside an address: of the same platform, and only one level deep. */
function innerVideo(platform: Platform, address: string | null, outer: URL): VideoUrlResult | undefined {
  const url = address === null ? null : URL.parse(address, outer.href);
  if (url === null || !/^https?:$/.test(url.protocol) || url.port !== '' || url.username + url.password !== '') {
    return undefined;
  }
  const site = platform.sites.find(({ hosts }) => hosts.some((pattern) => hostMatches(url.hostname, pattern)));
  if (site === undefined) return undefined;
  const shapes = site.shapes.filter((shape) => shape.address === undefined);
  const found = videoOf(platform, shapes, url);
  return found.ok ? found : undefined;
}

function invalid(explanation: string): VideoUrlResult {
  return { ok: false, refusal: 'invalid_request', explanation };
}

function unsupported(explanation: string): VideoUrlResult {
  return { ok: false, refusal: 'unsupported_platform', explanation };
}
