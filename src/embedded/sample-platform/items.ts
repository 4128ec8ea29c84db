/**
 * The items of the sample platform: one for every course that a download can take. Their names are the ids in its URLs.
 */

/** A picture format of the generated test film. Every film lasts ten seconds, so that a download is quick on any machine. */
export interface Rendition {
  name: string;
  width: number;
  height: number;
  kilobitsPerSecond: number;
}

const wideRenditions: readonly Rendition[] = [
  { name: '360p', width: 640, height: 360, kilobitsPerSecond: 300 },
  { name: '480p', width: 854, height: 480, kilobitsPerSecond: 450 },
  { name: '720p', width: 1280, height: 720, kilobitsPerSecond: 800 },
  { name: '1080p', width: 1920, height: 1080, kilobitsPerSecond: 1400 },
];

const tallRenditions: readonly Rendition[] = [
  { name: '360p', width: 360, height: 640, kilobitsPerSecond: 300 },
  { name: '720p', width: 720, height: 1280, kilobitsPerSecond: 800 },
  { name: '1080p', width: 1080, height: 1920, kilobitsPerSecond: 1400 },
];

const largeRenditions: readonly Rendition[] = [
  { name: '1440p', width: 2560, height: 1440, kilobitsPerSecond: 2000 },
  { name: '2160p', width: 3840, height: 2160, kilobitsPerSecond: 3000 },
];

const stillRenditions: readonly Rendition[] = [
  { name: 'still1.jpg', width: 1080, height: 1350, kilobitsPerSecond: 0 },
  { name: 'still2.jpg', width: 800, height: 600, kilobitsPerSecond: 0 },
  { name: 'still3.webp', width: 640, height: 640, kilobitsPerSecond: 0 },
];

/**
 * How a set is cut into files: `files` hold picture and sound together, `silent` only pictures, `tracks` each apart; `hls` and
 * `dash` are playlists of two-second pieces; `sound` has no picture, `stills` are single pictures.
 */
type Packaging = 'files' | 'silent' | 'tracks' | 'hls' | 'dash' | 'sound' | 'stills';

export interface MediaSet {
  packaging: Packaging;
  renditions: readonly Rendition[];
  framesPerSecond: number;
}

/** One set of generated files: items share them, since only the platform's manner of serving differs. */
export const mediaSets = {
  wide: { packaging: 'files', renditions: wideRenditions, framesPerSecond: 4 },
  // Few frames, because drawing such large ones takes its time.
  large: { packaging: 'files', renditions: [...wideRenditions.slice(0, 1), ...largeRenditions], framesPerSecond: 2 },
  tall: { packaging: 'files', renditions: tallRenditions, framesPerSecond: 4 },
  silent: { packaging: 'silent', renditions: wideRenditions.slice(0, 1), framesPerSecond: 4 },
  tracks: { packaging: 'tracks', renditions: wideRenditions.slice(0, 3), framesPerSecond: 4 },
  segments: { packaging: 'hls', renditions: wideRenditions.slice(0, 3), framesPerSecond: 4 },
  pieces: { packaging: 'dash', renditions: wideRenditions.slice(0, 3), framesPerSecond: 4 },
  sound: { packaging: 'sound', renditions: [], framesPerSecond: 0 },
  stills: { packaging: 'stills', renditions: stillRenditions, framesPerSecond: 1 },
} as const satisfies Record<string, MediaSet>;

export type MediaSetName = keyof typeof mediaSets;

export const mediaDurationSeconds = 10;

/** How the media's bytes are sent: `throttled` over about 24 s, `endless` announces 64 GiB, `flaky` first fails three times. */
export type Delivery = 'plain' | 'throttled' | 'endless' | 'flaky';
export const endlessSizeBytes = 64 * 2 ** 30;

export interface SampleItem {
  title: string;
  /** The purpose of the item, for the index page. */
  kind: string;
  media: MediaSetName;
  delivery: Delivery;
  /** Seconds that the platform announces; null for a live stream, which has no length. */
  durationSeconds: number | null;
  /** Most renditions that the item offers, smallest first. Default all. */
  maxRenditions?: number;
  isLive?: boolean;
  /** The platform refuses the item: `geo`, `login` and `drm` with yt-dlp's own messages, other texts as they are. */
  refusal?: string;
  /** The platform answers every request about the item with this status. */
  status?: number;
  /** The reason that a download of the item fails for, as the service names it. Missing where it succeeds. */
  failsAs?: string;
}

const ordinary = { media: 'wide', delivery: 'plain', durationSeconds: mediaDurationSeconds } as const;

export const sampleItems: Readonly<Record<string, SampleItem>> = {
  bars: { ...ordinary, title: 'Colour bars', kind: 'a film in four sizes, 360p to 1080p' },
  vertical: { ...ordinary, media: 'tall', title: 'Tall colour bars', kind: 'an upright film, as phones take them' },
  cinema: {
    ...ordinary,
    media: 'large',
    title: 'Large colour bars',
    kind: 'a film in three sizes, 360p, 1440p and 2160p',
  },
  hls: { ...ordinary, media: 'segments', title: 'Colour bars in segments', kind: 'an HLS stream in three sizes' },
  tracks: { ...ordinary, media: 'tracks', title: 'Colour bars in tracks', kind: 'picture and sound in separate files' },
  dash: { ...ordinary, media: 'pieces', title: 'Colour bars in pieces', kind: 'a DASH stream in three sizes' },
  silent: { ...ordinary, media: 'silent', title: 'Silent colour bars', kind: 'a film without sound' },
  song: { ...ordinary, media: 'sound', title: 'A steady tone', kind: 'sound without a picture, for the format audio' },
  stills: {
    ...ordinary,
    media: 'stills',
    durationSeconds: null,
    title: 'Three stills',
    kind: 'an image post: two JPEGs and a WebP',
  },
  slow: {
    ...ordinary,
    delivery: 'throttled',
    maxRenditions: 1,
    title: 'Colour bars, slowly',
    kind: 'takes about 24 seconds to arrive, so that progress can be watched',
  },
  flaky: { ...ordinary, delivery: 'flaky', title: 'Second time lucky', kind: 'fails at first, works when tried again' },
  private: {
    ...ordinary,
    refusal: 'This video is private',
    title: 'Private film',
    kind: 'refused: private',
    failsAs: 'private_video',
  },
  gone: { ...ordinary, status: 410, title: 'Removed film', kind: 'refused: removed', failsAs: 'video_unavailable' },
  geo: {
    ...ordinary,
    refusal: 'geo',
    title: 'Far-away film',
    kind: 'refused: not shown in this country',
    failsAs: 'geo_blocked',
  },
  login: {
    ...ordinary,
    refusal: 'login',
    title: 'Members’ film',
    kind: 'refused: for signed-in users',
    failsAs: 'login_required',
  },
  age: {
    ...ordinary,
    refusal: 'Sign in to confirm your age',
    title: 'Grown-ups’ film',
    kind: 'refused: restricted by age',
    failsAs: 'age_restricted',
  },
  premiere: {
    ...ordinary,
    refusal: 'Premieres in 3 hours',
    title: 'Tomorrow’s film',
    kind: 'refused: not shown yet',
    failsAs: 'live_stream',
  },
  drm: { ...ordinary, refusal: 'drm', title: 'Locked film', kind: 'refused: copy-protected', failsAs: 'drm_protected' },
  live: {
    ...ordinary,
    isLive: true,
    durationSeconds: null,
    title: 'Live colour bars',
    kind: 'refused: a live stream',
    failsAs: 'live_stream',
  },
  large: {
    ...ordinary,
    delivery: 'endless',
    title: 'Enormous film',
    kind: 'refused: announces 64 GiB',
    failsAs: 'too_large',
  },
  long: {
    ...ordinary,
    durationSeconds: 172_800,
    title: 'Endless film',
    kind: 'refused: announces 48 hours',
    failsAs: 'too_long',
  },
  busy: {
    ...ordinary,
    status: 429,
    title: 'Popular film',
    kind: 'the platform says that it is asked too often',
    failsAs: 'rate_limited_by_platform',
  },
  broken: {
    ...ordinary,
    status: 503,
    title: 'Film in repair',
    kind: 'the platform is out of order',
    failsAs: 'platform_error',
  },
  odd: {
    ...ordinary,
    refusal: 'The moon is in the wrong quarter',
    title: 'Odd film',
    kind: 'refused in words that nobody knows',
    failsAs: 'video_unavailable',
  },
};

/** Where an item's page lies. */
export function pagePath(id: string, { media }: SampleItem): string {
  return `/${mediaSets[media].packaging === 'stills' ? 'photo' : 'watch'}/${id}`;
}
