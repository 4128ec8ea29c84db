/**
 * Reads the address that a client sends, and finds the one item that it names.
 *
 * The service keeps only the pieces of the client's string that the platform's row describes, and rebuilds from them the
 * address that it stores and fetches. A platform is a row of `platforms/platforms.ts`; adding a platform means adding a row.
 */

import type { ItemKind } from './download-options.ts';
import { matchShape, type Pieces } from './platforms/address-pattern.ts';
import { type Rule, type Site, siteOf, siteOfOrigin } from './platforms/find-platform.ts';
import type { Platform } from './platforms/platform-row.ts';
import type { PlatformConfiguration } from './platforms/platforms.ts';

export const maxUrlCharacters = 2048;

export interface ParsedVideo {
  platform: string;
  /** As in the address. */
  videoId: string;
  /** Rebuilt. Read again, it gives the same item. */
  canonicalUrl: string;
  /** Name of yt-dlp's extractor for it. If one hands over to another, both names, separated by a comma. */
  extractor: string;
  kind: ItemKind;
}

/** An address that does not name its item. Only the platform can say which item it stands for. */
export interface ShortLink {
  platform: string;
  /** The part of the address in place of an id. */
  videoId: string;
  /** The address to request, rebuilt. */
  url: string;
}

type VideoUrlRefusal = 'invalid_request' | 'unsupported_platform';

export type VideoUrlResult =
  | { ok: true; video: ParsedVideo; shortLink?: undefined }
  | { ok: true; shortLink: ShortLink; video?: undefined }
  | { ok: false; refusal: VideoUrlRefusal; explanation: string };

/**
 * Finds the single item that an address names. Pure, in linear time; never throws.
 *
 * @param input the client's string
 * @returns the item or a short link; `invalid_request` for anything but an http(s) address; `unsupported_platform` for an http(s)
 *   address that names no item of a supported platform. The explanation quotes nothing of the input
 */
export function parseVideoUrl(input: string, options: PlatformConfiguration = {}): VideoUrlResult {
  const found = findSite(input, options);
  if ('refusal' in found) return found;
  return sameWhenReread(itemAt(found.site, found.url), input, { site: found.site, options });
}

/**
 * The item that a stored address stands for, if it is still served. The table of platforms may have changed since the address
 * was stored: read again, the address must give the very same item.
 */
export function servedVideo(
  { platform, videoId, canonicalUrl }: Pick<ParsedVideo, 'platform' | 'videoId' | 'canonicalUrl'>,
  options: PlatformConfiguration = {},
): ParsedVideo | undefined {
  const parsed = parseVideoUrl(canonicalUrl, options);
  if (!parsed.ok || parsed.video === undefined) return undefined;
  const { video } = parsed;
  const isSame = video.platform === platform && video.videoId === videoId && video.canonicalUrl === canonicalUrl;
  return isSame ? video : undefined;
}

/** The platform of an address's host, for any path; undefined if `parseVideoUrl` refuses the form or the host. */
export function platformAt(input: string, options: PlatformConfiguration = {}): string | undefined {
  const found = findSite(input, options);
  return 'refusal' in found ? undefined : found.site.platform.name;
}

type Refused = Extract<VideoUrlResult, { ok: false }>;

function findSite(input: string, options: PlatformConfiguration): Refused | { site: Site; url: URL } {
  if (input === '') return invalid('The address of a video is missing.');
  if (input.length > maxUrlCharacters) {
    return invalid(`The address is longer than ${maxUrlCharacters} characters.`);
  }
  if (!input.isWellFormed() || /[\s\p{Cc}\p{Cf}\\]/u.test(input)) {
    return invalid('The address contains white space, a backslash, or a control character.');
  }
  // The authority as written, because the URL parser below turns look-alike letters and escapes into plain letters.
  const authority = /^https?:\/\/(?<authority>[^/?#]+)/i.exec(input)?.groups?.['authority'];
  if (authority === undefined) return invalid('The address must begin with http:// or https:// and a host name.');
  const url = URL.parse(input);
  if (url === null) return invalid('The address cannot be parsed.');

  const configured = siteOfOrigin(`${url.protocol}//${authority}`, options);
  if (configured !== undefined) return { site: configured, url };
  if (authority.includes('@')) return unsupported('Addresses with a user name or password are not supported.');
  if (!/^[a-z0-9.:-]+$/i.test(authority)) {
    return unsupported('Only host names in plain ASCII letters, digits and hyphens are supported.');
  }
  if (authority.includes(':')) return unsupported('Addresses with a port are not supported.');
  const site = siteOf(hostOf(url));
  return site === undefined ? unsupported('No supported platform has this host name.') : { site, url };
}

function hostOf(url: URL): string {
  return url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname;
}

/**
 * The worker reads the stored address again (`servedVideo`), which must give the same item then. One row alone cannot show that
 * its addresses are read back as the same item, so every rebuilt address is read again here.
 */
function sameWhenReread(
  result: VideoUrlResult,
  input: string,
  { site: { platform }, options }: { site: Site; options: PlatformConfiguration },
): VideoUrlResult {
  if (!result.ok) return result;
  const address = result.video === undefined ? result.shortLink.url : result.video.canonicalUrl;
  if (address === input) return result;
  const found = findSite(address, options);
  const again = 'refusal' in found ? notOne(platform.title) : itemAt(found.site, found.url);
  return !again.ok || isSame(again, result) ? again : notOne(platform.title);
}

const videoFields = ['canonicalUrl', 'platform', 'videoId', 'extractor', 'kind'] as const;

type Found = Extract<VideoUrlResult, { ok: true }>;

function isSame(one: Found, other: Found): boolean {
  if (one.shortLink !== undefined) return one.shortLink.url === other.shortLink?.url;
  const { video } = other;
  return video !== undefined && videoFields.every((field) => one.video[field] === video[field]);
}

/** A sign-in page of Google leads to one of YouTube, and that to the film. No platform goes deeper. */
const deepestAddress = 2;

/** The properties that an inner address takes from the address around it. */
interface Outer {
  /** The pieces beside it. */
  pieces: Pieces;
  /** How many addresses it is in. */
  depth: number;
}

/** @param outer undefined for an address by itself */
function itemAt(site: Site, url: URL, outer?: Outer): VideoUrlResult {
  const found = itemInPath(site, url, outer);
  if (found.ok || outer !== undefined || !site.platform.pagesBehindHash) return found;
  return innerItem(site, pageBehindHash(url.hash.slice(1)), { url, pieces: {}, depth: 1 }) ?? found;
}

function itemInPath(site: Site, url: URL, outer: Outer | undefined): VideoUrlResult {
  const { platform } = site;
  const parameters = parametersOf(url.search);
  const { pathname } = url;
  const path = pathname.includes('//') ? pathname.replaceAll(/\/{2,}/g, '/') : pathname;
  const address = { path, parameters, fragment: url.hash.slice(1) };
  for (const rule of site.rules) {
    const matched = matchShape(rule.shape, address);
    if (matched === undefined) continue;
    if (!('wraps' in rule.address))
      return resultOf(platform, rule, joined({ ...matched, ...site.pieces }, outer?.pieces));
    const depth = (outer?.depth ?? 0) + 1;
    if (depth > deepestAddress) continue;
    const pieces = joined({ ...matched }, outer?.pieces);
    const inner = innerItem(site, decoded(matched['address'] ?? ''), { url, pieces, depth });
    if (inner !== undefined) return inner;
  }
  return notOne(platform.title);
}

function joined(pieces: Record<string, string | undefined>, outer: Pieces = {}): Pieces {
  for (const [name, piece] of Object.entries(outer)) pieces[name] ??= piece;
  return pieces;
}

function notOne(title: string): Refused {
  return unsupported(`This address of ${title} does not name a single video.`);
}

function resultOf({ name: platform, title }: Platform, rule: Rule, pieces: Pieces): VideoUrlResult {
  const { address } = rule;
  if ('is' in address) {
    return unsupported(`This address of ${title} is that of ${address.is}; send the address of a single video.`);
  }
  const url = rule.url(pieces);
  const videoId = rule.videoId(pieces);
  if (!('item' in address)) return { ok: true, shortLink: { platform, videoId, url } };
  const { item, extractor, kind = 'video' } = address;
  const canonicalUrl = item.startsWith('https://{') ? withPlainHost(url) : url;
  return { ok: true, video: { platform, videoId, canonicalUrl, extractor, kind } };
}

/** A piece of a path may become a piece of the host, which has no capitals. */
function withPlainHost(url: string): string {
  const path = url.indexOf('/', 'https://'.length);
  return `${url.slice(0, path).toLowerCase()}${url.slice(path)}`;
}

/** Values are not decoded, because an id has no escapes. A `;` separates too: `&amp;` often remains from a page's source. */
function parametersOf(search: string): ReadonlyMap<string, readonly string[]> {
  const parameters = new Map<string, string[]>();
  if (search === '') return parameters;
  for (const parameter of search.slice(1).split(/[&;]/)) {
    const equals = parameter.indexOf('=');
    if (equals < 1) continue;
    const name = parameter.slice(0, equals);
    const values = parameters.get(name);
    if (values === undefined) parameters.set(name, [parameter.slice(equals + 1)]);
    else values.push(parameter.slice(equals + 1));
  }
  return parameters;
}

/** Old addresses have the path behind the `#`: /#/watch?v=ID, /#!/USER/status/ID, /watch#!v=ID. */
function pageBehindHash(fragment: string): string | undefined {
  const page = fragment.startsWith('!') ? fragment.slice(1) : fragment;
  if (page.startsWith('/')) return page;
  return /^[^/]*v=/.test(page) ? `/watch?${page}` : undefined;
}

function decoded(address: string): string | undefined {
  try {
    return decodeURIComponent(address);
  } catch {
    return undefined;
  }
}

/** An address inside an address. It must be that of an item of the same platform, and is read two levels deep at most. */
function innerItem(
  { platform }: Site,
  address: string | undefined,
  { url: base, ...outer }: Outer & { url: URL },
): VideoUrlResult | undefined {
  const url = address === undefined ? null : URL.parse(address, base.href);
  if (url === null || !/^https?:$/.test(url.protocol) || url.port !== '' || url.username + url.password !== '') {
    return undefined;
  }
  const site = siteOf(hostOf(url));
  if (site?.platform !== platform) return undefined;
  const found = itemAt(site, url, outer);
  return found.ok && found.video !== undefined ? found : undefined;
}

function invalid(explanation: string): Refused {
  return { ok: false, refusal: 'invalid_request', explanation };
}

function unsupported(explanation: string): Refused {
  return { ok: false, refusal: 'unsupported_platform', explanation };
}
