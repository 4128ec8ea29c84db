import type { TermsChanges } from '../domain/change-plan.ts';
import { defaultOptions, type DownloadOptions } from '../domain/download-options.ts';
import type { FailureReason } from '../domain/failure-reasons.ts';
import { type ParsedVideo, parseVideoUrl } from '../domain/parse-video-url.ts';
import type { Effective } from '../domain/usage-events.ts';

/**
 * The story of a first demo start: three customers, each with a closed month and one that is running. `script.ts` gives it dates,
 * `tell-story.ts` tells it through the commands. Its counts are the same on every day of the year: traffic is told in whole
 * weeks, of which any seven days in a row have the same downloads.
 */
export interface Customer {
  /** Stands for the account (`openAccount`), so that an interrupted story finds it again. */
  reference: string;
  email: string;
  plan: string;
  /** Before the story's last day. A month has 28 to 31 days: 46 and 52 days leave at least two and three weeks to the running one. */
  openedDaysAgo: 46 | 52;
  /** Ordinary downloads ask for these in turn. */
  wishes: readonly Wish[];
  /** The first month is closed, the second one is running. */
  months: readonly [Month, Month];
}

export interface Wish {
  /** As its platform calls it. Downloads have it once they are done. */
  title: string;
  /** As a client would type it. */
  url: string;
  seconds: number;
  options: Partial<DownloadOptions>;
}

interface Month {
  weeks: 2 | 3 | 4;
  /** Ordinary downloads of a day, Monday to Sunday. All of them succeed. */
  week: readonly [number, number, number, number, number, number, number];
  /** Metadata requests of a day. */
  lookups: number;
  /** Label of the key that ordinary requests use. */
  key: string;
  /** Beside the ordinary requests: in the early morning, or after six in the evening. */
  happenings: readonly DatedHappening[];
}

export interface ScriptedDownload {
  wish: Wish;
  /** Label of its key. */
  key: string;
  /** How each attempt ends. Only the reasons of `failure-reasons.ts` that are `retryable` have another attempt after them. */
  attempts: readonly (FailureReason | 'done')[];
}

type Happening =
  | { what: 'key issued' | 'key revoked'; label: string }
  | { what: 'person invited' | 'person removed'; email: string }
  | ({ what: 'download' } & ScriptedDownload)
  | { what: 'plan changed'; plan: string; effective: Effective }
  | { what: 'terms agreed'; changes: TermsChanges; effective: Effective }
  | { what: 'overage cap set'; cents: number; effective: Effective }
  /** Of the newest download before it. */
  | { what: 'charge waived'; reference: string; reason: string }
  /** On the overage line of the closed month. */
  | { what: 'credit note issued'; cents: number; reference: string; reason: string };

export type DatedHappening = Happening & {
  /** From 0, the first day of the month's weeks; those of the running month end on the story's last day. */
  day: number;
  /** Time of day, UTC. */
  time: string;
};

const at = (day: number, time: string, happening: Happening): DatedHappening => ({ ...happening, day, time });

const download = (key: string, wish: Wish, attempts: ScriptedDownload['attempts']): Happening => ({
  what: 'download',
  key,
  wish,
  attempts,
});

const wish = (title: string, url: string, seconds: number, options: Partial<DownloadOptions> = {}): Wish => ({
  title,
  url,
  seconds,
  options,
});
const youtube = (id: string) => `https://www.youtube.com/watch?v=${id}`;
const soundcloud = (track: string) => `https://soundcloud.com/example-radio/${track}`;
const mp3 = { format: 'audio', audioFormat: 'mp3' } as const;
const m4a = { format: 'audio', audioFormat: 'm4a' } as const;
const failsByOurFault = ['internal_error', 'internal_error', 'internal_error'] as const;
const limitedByPlatform = ['rate_limited_by_platform', 'rate_limited_by_platform', 'rate_limited_by_platform'] as const;

/** A film archive, whose first plan was too small. It is the account of the start screen. */
const archive: Customer = {
  reference: 'demo story: archive',
  email: 'demo@example.com',
  plan: 'dev_100',
  openedDaysAgo: 46,
  wishes: [
    wish('Big Buck Bunny', 'https://youtu.be/aqz-KE-bpKQ?t=12', 635, { quality: '2160' }),
    wish('Big Buck Bunny, by its makers', 'https://vimeo.com/1084537', 596, { quality: '1080' }),
    wish('Sintel', 'https://m.youtube.com/watch?v=eRsGyueVLvQ&feature=share', 888),
    wish('Trailer of the week', 'https://www.dailymotion.com/video/x2n0qs4', 212, { quality: '720' }),
    wish('Tears of Steel', youtube('R6MlUcmOul8'), 734, { quality: '1440' }),
    wish('Opening credits', 'https://soundcloud.com/example-archive/opening-credits', 184, mp3),
    wish('A clip of the harbour', 'https://x.com/examplearchive/status/1600000000000000001', 58, { quality: '720' }),
    wish('A storm', 'https://www.reddit.com/r/videos/comments/10abcde/a_storm/', 71, { quality: '480' }),
    wish('Press conference in full', 'https://rumble.com/v2abcde-press-conference.html', 2_710, { quality: '360' }),
    wish('Backstage', 'https://streamable.com/m0vie5', 47),
  ],
  months: [
    {
      weeks: 4,
      week: [5, 4, 5, 4, 4, 2, 1],
      lookups: 2,
      key: 'ingest',
      happenings: [
        at(0, '07:10', { what: 'key issued', label: 'ingest' }),
        at(0, '07:20', { what: 'key issued', label: 'laptop' }),
        at(1, '18:30', { what: 'person invited', email: 'curator@example.com' }),
        at(6, '19:20', download('laptop', wish('Rehearsal', 'https://vimeo.com/76979871', 62), ['private_video'])),
        at(13, '20:05', download('ingest', wish('Spring', youtube('WhWc3b3KhnY'), 480), ['platform_error', 'done'])),
        at(27, '19:40', download('ingest', wish('Big Buck Bunny', youtube('aqz-KE-bpKQ'), 635), failsByOurFault)),
        at(27, '20:40', download('laptop', wish('Cosmos Laundromat', youtube('Y-rmzh0PI3c'), 770), ['geo_blocked'])),
        at(27, '22:15', { what: 'charge waived', reference: 'ticket-1041', reason: 'announced for every country' }),
      ],
    },
    {
      weeks: 2,
      week: [3, 2, 2, 2, 3, 1, 1],
      lookups: 3,
      key: 'ingest',
      happenings: [
        at(1, '07:30', { what: 'plan changed', plan: 'enterprise', effective: 'now' }),
        at(2, '07:15', { what: 'key revoked', label: 'laptop' }),
        at(2, '07:25', { what: 'key issued', label: 'desk' }),
        at(2, '07:40', { what: 'person invited', email: 'intern@example.com' }),
        at(5, '18:30', { what: 'credit note issued', cents: 25, reference: 'ticket-1057', reason: 'asked for twice' }),
        at(7, '19:45', download('desk', wish('Caminandes', youtube('Z4C82eyhwgU'), 120), ['video_unavailable'])),
        at(8, '20:30', download('ingest', wish('Elephants Dream', youtube('TLkA0RELQ1g'), 654), failsByOurFault)),
        at(9, '07:05', { what: 'person removed', email: 'intern@example.com' }),
        at(
          11,
          '19:15',
          download('desk', wish('A night of chess', 'https://www.twitch.tv/videos/1723000451', 31_000), ['too_long']),
        ),
        at(
          12,
          '20:10',
          download('desk', wish('The film of the month', 'https://www.dailymotion.com/video/x5kesuj', 1_420), [
            'drm_protected',
          ]),
        ),
      ],
    },
  ],
};

/** A radio show, which keeps its costs under a cap and has reached it once. */
const radio: Customer = {
  reference: 'demo story: radio',
  email: 'studio@radio.example.com',
  plan: 'dev_100',
  openedDaysAgo: 52,
  wishes: [
    wish('Morning tune', soundcloud('morning-tune'), 221, mp3),
    wish('Evening tune', 'https://m.soundcloud.com/example-radio/evening-tune?utm_source=clipboard', 254, m4a),
    wish('Harbour lights', 'https://example-band.bandcamp.com/track/harbour-lights', 305, mp3),
    wish('Elephants Dream', 'https://music.youtube.com/watch?v=TLkA0RELQ1g', 654, m4a),
    wish('The mountain', 'https://vimeo.com/22439234', 180, mp3),
    wish('Studio tour', 'https://www.tiktok.com/@example.radio/video/7231338487075638570?lang=en', 28),
  ],
  months: [
    {
      weeks: 4,
      week: [2, 2, 2, 2, 1, 1, 0],
      lookups: 1,
      key: 'show',
      happenings: [
        at(0, '07:10', { what: 'key issued', label: 'show' }),
        at(0, '07:20', { what: 'terms agreed', changes: { downloads_limit: 40 }, effective: 'now' }),
        at(0, '07:30', { what: 'overage cap set', cents: 100, effective: 'now' }),
        at(5, '20:20', download('show', wish('The late show', soundcloud('late-show'), 3_540, mp3), limitedByPlatform)),
        at(
          10,
          '19:10',
          download('show', wish('Behind the microphone', 'https://www.instagram.com/reel/Cexample1aB/', 34), [
            'login_required',
          ]),
        ),
        at(14, '18:30', { what: 'person invited', email: 'host@radio.example.com' }),
        at(
          21,
          '18:30',
          download('show', wish('Jingle', soundcloud('jingle'), 12, m4a), ['rate_limited_by_platform', 'done']),
        ),
        at(27, '21:00', download('show', wish('Farewell', soundcloud('farewell'), 233, mp3), ['done'])),
      ],
    },
    {
      weeks: 3,
      week: [2, 1, 1, 2, 1, 0, 0],
      lookups: 2,
      key: 'show',
      happenings: [
        at(1, '07:30', { what: 'overage cap set', cents: 1_000, effective: 'now' }),
        at(
          11,
          '21:40',
          download('show', wish('Live from the studio', youtube('jNQXAC9IVRw'), 3_600, mp3), ['live_stream']),
        ),
        at(16, '07:50', { what: 'plan changed', plan: 'studio_500', effective: 'next_period' }),
        at(17, '19:35', download('show', wish('Silence', soundcloud('silence'), 1, m4a), ['unsupported_media'])),
        at(
          18,
          '22:10',
          download('show', wish('Sintel', youtube('eRsGyueVLvQ'), 888, mp3), ['timed_out', 'timed_out', 'done']),
        ),
      ],
    },
  ],
};

/** A press agency, which pays for most of its downloads one by one: its months have amounts worth looking at. */
const agency: Customer = {
  reference: 'demo story: agency',
  email: 'desk@agency.example.com',
  plan: 'studio_500',
  openedDaysAgo: 52,
  wishes: [
    wish('At the fair', 'https://www.tiktok.com/@example.press/video/7231338487075638571', 41, { quality: '1080' }),
    wish('The mayor answers', 'https://x.com/examplepress/status/1600000000000000002', 96, { quality: '720' }),
    wish('Floods from the air', 'https://rumble.com/v2abcdf-floods-from-the-air.html', 318, { quality: '1080' }),
    wish('The bridge', 'https://www.reddit.com/r/videos/comments/10abcdf/the_bridge/', 64, { quality: '720' }),
    wish('The hearing', 'https://vimeo.com/76979872', 1_240, { quality: '2160' }),
  ],
  months: [
    {
      weeks: 4,
      week: [3, 2, 2, 2, 2, 1, 0],
      lookups: 1,
      key: 'newsdesk',
      happenings: [
        at(0, '07:10', { what: 'key issued', label: 'newsdesk' }),
        at(0, '07:20', {
          what: 'terms agreed',
          changes: { downloads_limit: 20, overage_cents: 250 },
          effective: 'now',
        }),
        at(0, '07:30', { what: 'overage cap set', cents: 15_000, effective: 'now' }),
        at(20, '19:30', download('newsdesk', wish('The match', 'https://vimeo.com/76979873', 305), ['geo_blocked'])),
        at(20, '21:15', { what: 'charge waived', reference: 'ticket-1049', reason: 'announced for every country' }),
      ],
    },
    {
      weeks: 3,
      week: [3, 3, 2, 3, 2, 1, 1],
      lookups: 1,
      key: 'newsdesk',
      happenings: [
        at(4, '18:40', { what: 'credit note issued', cents: 500, reference: 'ticket-1061', reason: 'fetched twice' }),
        at(15, '20:30', download('newsdesk', wish('The strike', 'https://vimeo.com/76979874', 512), failsByOurFault)),
        at(19, '19:20', download('newsdesk', wish('The vote', youtube('Z4C82eyhwgV'), 95), ['video_unavailable'])),
      ],
    },
  ],
};

/** The charge of such a download is given back. */
export const isOurFault = ({ attempts }: ScriptedDownload): boolean => attempts.includes('internal_error');

/** A wish, read as the API reads one. */
export function videoOf({ url, options }: Wish): ParsedVideo & { options: DownloadOptions } {
  const parsed = parseVideoUrl(url);
  if (!parsed.ok || !parsed.video) throw new Error(`the story's address ${url} names no single item`);
  return { ...parsed.video, options: { ...defaultOptions, ...options } };
}

/** The first one is the account of the start screen. */
export const story = [archive, radio, agency] as const satisfies readonly Customer[];
