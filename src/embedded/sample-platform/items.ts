/**
 * What the sample platform offers: one item for every way in which a download can go. The names are the ids in its URLs.
 */

/** A picture format of the generated test film. Everything lasts ten seconds, so that a download is quick on any machine. */
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

/** One set of generated files: items share them, since only the platform's manner of serving differs. */
export const mediaSets = {
  wide: { packaging: 'files', renditions: wideRenditions },
  tall: { packaging: 'files', renditions: tallRenditions },
  tracks: { packaging: 'tracks', renditions: wideRenditions.slice(0, 3) },
  segments: { packaging: 'hls', renditions: wideRenditions.slice(0, 3) },
} as const satisfies Record<string, { packaging: 'files' | 'tracks' | 'hls'; renditions: readonly Rendition[] }>;

export type MediaSetName = keyof typeof mediaSets;

export const mediaDurationSeconds = 10;

/** How the media's bytes are sent: `throttled` over about 24 s, `endless` announces 64 GiB, `flaky` first fails three times. */
export type Delivery = 'plain' | 'throttled' | 'endless' | 'flaky';

export interface SampleItem {
  title: string;
  /** What the index page says that the item is for. */
  kind: string;
  media: MediaSetName;
  delivery: Delivery;
  /** Seconds that the platform announces; null for a live stream, which has no length. */
  durationSeconds: number | null;
  /** Most renditions that the item offers, smallest first. Default all. */
  maxRenditions?: number;
  isLive?: boolean;
  /** The platform knows the item and does not show it. */
  refusal?: 'private' | 'geo' | 'login' | 'age' | 'drm';
  /** The platform answers every question about the item with this status. */
  status?: number;
}

const ordinary = { media: 'wide', delivery: 'plain', durationSeconds: mediaDurationSeconds } as const;

export const sampleItems: Readonly<Record<string, SampleItem>> = {
  bars: { ...ordinary, title: 'Colour bars', kind: 'a film in four sizes, 360p to 1080p' },
  vertical: { ...ordinary, media: 'tall', title: 'Tall colour bars', kind: 'an upright film, as phones take them' },
  hls: { ...ordinary, media: 'segments', title: 'Colour bars in segments', kind: 'an HLS stream in three sizes' },
  tracks: { ...ordinary, media: 'tracks', title: 'Colour bars in tracks', kind: 'picture and sound in separate files' },
  slow: {
    ...ordinary,
    delivery: 'throttled',
    maxRenditions: 1,
    title: 'Colour bars, slowly',
    kind: 'takes about 24 seconds to arrive, so that progress can be watched',
  },
  flaky: { ...ordinary, delivery: 'flaky', title: 'Second time lucky', kind: 'fails at first, works when tried again' },
  private: { ...ordinary, refusal: 'private', title: 'Private film', kind: 'refused: private' },
  gone: { ...ordinary, status: 410, title: 'Removed film', kind: 'refused: removed' },
  geo: { ...ordinary, refusal: 'geo', title: 'Far-away film', kind: 'refused: not shown in this country' },
  login: { ...ordinary, refusal: 'login', title: 'Members’ film', kind: 'refused: for signed-in users' },
  age: { ...ordinary, refusal: 'age', title: 'Grown-ups’ film', kind: 'refused: restricted by age' },
  drm: { ...ordinary, refusal: 'drm', title: 'Locked film', kind: 'refused: copy-protected' },
  live: { ...ordinary, isLive: true, durationSeconds: null, title: 'Live colour bars', kind: 'refused: a live stream' },
  large: { ...ordinary, delivery: 'endless', title: 'Enormous film', kind: 'refused: announces 64 GiB' },
  long: { ...ordinary, durationSeconds: 172_800, title: 'Endless film', kind: 'refused: announces 48 hours' },
  busy: { ...ordinary, status: 429, title: 'Popular film', kind: 'the platform says that it is asked too often' },
};
