import type { TermsChanges } from '../../domain/change-plan.ts';
import type { Fault } from '../../domain/download-job-events.ts';
import type { DownloadOptions } from '../../domain/download-options.ts';
import type { FailureReason } from '../../domain/failure-reasons.ts';
import type { Effective } from '../../domain/usage-events.ts';

/**
 * The story of a first demo start: three customers, each with two closed months and one that is running. `script.ts` gives it
 * dates, `tell-story.ts` tells it through the commands. Its counts are the same on every day of the year: traffic is told in
 * whole weeks, of which any seven days in a row have the same downloads.
 */
export interface Customer {
  /** Stands for the account (`openAccount`), so that an interrupted story finds it again. */
  reference: string;
  email: string;
  plan: string;
  /** Two months have 59 to 62 days: 75, 82 and 68 days leave at least two, three weeks and one to the running month. */
  openedDaysAgo: 75 | 82 | 68;
  /** Ordinary downloads ask for these in turn. */
  wishes: readonly Wish[];
  /** The first two months are closed, the third one is running. */
  months: readonly [Month, Month, Month];
}

export interface Wish {
  /** As a client would type it. */
  url: string;
  seconds: number;
  options?: Partial<DownloadOptions>;
}

interface Month {
  weeks: 1 | 2 | 3 | 4;
  /** Ordinary downloads of a day, Monday to Sunday. All of them succeed. */
  week: readonly [number, number, number, number, number, number, number];
  /** Metadata requests of a day. */
  lookups: number;
  /** Label of the key that ordinary requests use. */
  key: string;
  /** Beside the ordinary days, in the order of time. */
  happenings: readonly Happening[];
}

export type Happening = {
  /** From 0, the first day of the month's weeks; those of the running month end today. */
  day: number;
  /** Time of day, UTC. */
  at: string;
} & (
  | { what: 'key issued' | 'key revoked'; label: string }
  | { what: 'person invited' | 'person removed'; email: string }
  | ExtraDownload
  | { what: 'plan changed'; plan: string; effective: Effective }
  | { what: 'terms agreed'; changes: TermsChanges; effective: Effective }
  | { what: 'overage cap set'; cents: number; effective: Effective }
  | { what: 'charge waived'; download: string; reference: string; reason: string }
  /** On the overage line of a closed month. */
  | { what: 'credit note issued'; month: 0 | 1; cents: number; reference: string; reason: string }
);

interface ExtraDownload {
  what: 'download';
  /** By which a waiver names it. */
  name?: string;
  wish: Wish;
  key: string;
  /** How each attempt ends. Only the reasons of `failure-reasons.ts` that are `retryable` have another attempt after them. */
  attempts: readonly (FailureReason | 'done')[];
  /** The charge of a download that the service has failed is given back. */
  fault: Fault;
}

const succeeds = { attempts: ['done'], fault: 'video' } as const;
const succeedsAfter = (...failures: FailureReason[]) => ({ attempts: [...failures, 'done'], fault: 'video' }) as const;
const fails = (...attempts: FailureReason[]) => ({ attempts, fault: 'video' }) as const;
const failsByOurFault = {
  attempts: ['internal_error', 'internal_error', 'internal_error'],
  fault: 'service',
} as const;

const youtube = (id: string) => `https://www.youtube.com/watch?v=${id}`;
const mp3 = { format: 'audio', audioFormat: 'mp3' } as const;
const m4a = { format: 'audio', audioFormat: 'm4a' } as const;

/** A film archive, whose first plan was too small. It is the account of the start screen. */
const archive: Customer = {
  reference: 'demo story: archive',
  email: 'demo@example.com',
  plan: 'dev_100',
  openedDaysAgo: 75,
  wishes: [
    { url: 'https://youtu.be/aqz-KE-bpKQ?t=12', seconds: 635, options: { quality: '2160' } },
    { url: 'https://vimeo.com/1084537', seconds: 596, options: { quality: '1080' } },
    { url: 'https://m.youtube.com/watch?v=eRsGyueVLvQ&feature=share', seconds: 888 },
    { url: 'https://www.dailymotion.com/video/x2n0qs4', seconds: 212, options: { quality: '720' } },
    { url: youtube('R6MlUcmOul8'), seconds: 734, options: { quality: '1440' } },
    { url: 'https://soundcloud.com/example-archive/opening-credits', seconds: 184, options: mp3 },
    { url: youtube('TLkA0RELQ1g'), seconds: 654, options: { quality: '480' } },
    { url: 'https://streamable.com/m0vie5', seconds: 47 },
  ],
  months: [
    {
      weeks: 4,
      week: [5, 4, 5, 4, 4, 2, 1],
      lookups: 2,
      key: 'ingest',
      happenings: [
        { day: 0, at: '07:10', what: 'key issued', label: 'ingest' },
        { day: 0, at: '07:12', what: 'key issued', label: 'laptop' },
        { day: 1, at: '15:30', what: 'person invited', email: 'curator@example.com' },
        {
          day: 6,
          at: '19:20',
          what: 'download',
          key: 'laptop',
          wish: { url: 'https://vimeo.com/76979871', seconds: 62 },
          ...fails('private_video'),
        },
        {
          day: 13,
          at: '20:05',
          what: 'download',
          key: 'ingest',
          wish: { url: youtube('WhWc3b3KhnY'), seconds: 480, options: { quality: '1080' } },
          ...succeedsAfter('platform_error'),
        },
        {
          day: 27,
          at: '20:10',
          what: 'download',
          key: 'laptop',
          name: 'the premiere',
          wish: { url: youtube('Y-rmzh0PI3c'), seconds: 770 },
          ...fails('geo_blocked'),
        },
        {
          day: 27,
          at: '20:40',
          what: 'download',
          key: 'ingest',
          wish: { url: 'https://www.tiktok.com/@example.archive/video/7106594312292453675', seconds: 31 },
          ...failsByOurFault,
        },
        {
          day: 27,
          at: '22:15',
          what: 'charge waived',
          download: 'the premiere',
          reference: 'ticket-1041',
          reason: 'the film was announced for every country',
        },
      ],
    },
    {
      weeks: 4,
      week: [2, 2, 1, 2, 2, 1, 0],
      lookups: 2,
      key: 'ingest',
      happenings: [
        { day: 3, at: '07:30', what: 'plan changed', plan: 'enterprise', effective: 'now' },
        { day: 4, at: '07:15', what: 'key revoked', label: 'laptop' },
        { day: 4, at: '07:20', what: 'key issued', label: 'reading room' },
        {
          day: 9,
          at: '11:30',
          what: 'credit note issued',
          month: 0,
          cents: 25,
          reference: 'ticket-1057',
          reason: 'a film was asked for twice',
        },
        {
          day: 12,
          at: '19:45',
          what: 'download',
          key: 'reading room',
          wish: { url: 'https://www.dailymotion.com/video/x5kesuj', seconds: 1_420 },
          ...fails('drm_protected'),
        },
        {
          day: 20,
          at: '20:30',
          what: 'download',
          key: 'ingest',
          wish: { url: youtube('aqz-KE-bpKQ'), seconds: 635, options: { quality: '2160' } },
          ...failsByOurFault,
        },
      ],
    },
    {
      weeks: 2,
      week: [3, 2, 2, 2, 3, 1, 1],
      lookups: 3,
      key: 'reading room',
      happenings: [
        { day: 2, at: '07:40', what: 'person invited', email: 'intern@example.com' },
        {
          day: 8,
          at: '18:50',
          what: 'download',
          key: 'ingest',
          wish: { url: youtube('Z4C82eyhwgU'), seconds: 120 },
          ...fails('video_unavailable'),
        },
        { day: 9, at: '07:05', what: 'person removed', email: 'intern@example.com' },
        {
          day: 11,
          at: '19:15',
          what: 'download',
          key: 'reading room',
          wish: { url: 'https://www.twitch.tv/videos/1723000451', seconds: 31_000 },
          ...fails('too_long'),
        },
      ],
    },
  ],
};

/** A radio show, which keeps its costs under a cap and has reached it. */
const radio: Customer = {
  reference: 'demo story: radio',
  email: 'studio@radio.example.com',
  plan: 'dev_100',
  openedDaysAgo: 82,
  wishes: [
    { url: 'https://soundcloud.com/example-radio/morning-tune', seconds: 221, options: mp3 },
    { url: 'https://m.soundcloud.com/example-radio/evening-tune?utm_source=clipboard', seconds: 254, options: m4a },
    { url: 'https://example-band.bandcamp.com/track/harbour-lights', seconds: 305, options: mp3 },
    { url: 'https://music.youtube.com/watch?v=TLkA0RELQ1g', seconds: 654, options: m4a },
    { url: 'https://vimeo.com/22439234', seconds: 180, options: mp3 },
    { url: 'https://www.tiktok.com/@example.radio/video/7231338487075638570?lang=en', seconds: 28 },
  ],
  months: [
    {
      weeks: 4,
      week: [2, 1, 1, 1, 1, 0, 0],
      lookups: 1,
      key: 'playlist',
      happenings: [
        { day: 0, at: '07:25', what: 'key issued', label: 'playlist' },
        { day: 0, at: '07:40', what: 'terms agreed', changes: { downloads_limit: 40 }, effective: 'now' },
        { day: 0, at: '07:45', what: 'overage cap set', cents: 100, effective: 'now' },
        {
          day: 10,
          at: '19:10',
          what: 'download',
          key: 'playlist',
          wish: { url: 'https://www.instagram.com/reel/Cexample1aB/', seconds: 34, options: mp3 },
          ...fails('login_required'),
        },
        { day: 15, at: '15:05', what: 'person invited', email: 'host@radio.example.com' },
      ],
    },
    {
      weeks: 4,
      week: [2, 2, 2, 2, 1, 1, 0],
      lookups: 2,
      key: 'playlist',
      happenings: [
        {
          day: 5,
          at: '20:20',
          what: 'download',
          key: 'playlist',
          wish: { url: 'https://soundcloud.com/example-radio/late-show', seconds: 3_540, options: mp3 },
          ...fails('rate_limited_by_platform', 'rate_limited_by_platform', 'rate_limited_by_platform'),
        },
        { day: 14, at: '07:20', what: 'key issued', label: 'jingles' },
        {
          day: 21,
          at: '18:30',
          what: 'download',
          key: 'jingles',
          wish: { url: 'https://soundcloud.com/example-radio/jingle-7', seconds: 12, options: m4a },
          ...succeedsAfter('rate_limited_by_platform'),
        },
        {
          day: 27,
          at: '20:00',
          what: 'download',
          key: 'jingles',
          wish: { url: 'https://soundcloud.com/example-radio/jingle-8', seconds: 11, options: m4a },
          ...succeeds,
        },
        {
          day: 27,
          at: '21:00',
          what: 'download',
          key: 'playlist',
          wish: { url: 'https://soundcloud.com/example-radio/farewell', seconds: 233, options: mp3 },
          ...succeeds,
        },
      ],
    },
    {
      weeks: 3,
      week: [2, 1, 1, 2, 1, 0, 0],
      lookups: 2,
      key: 'playlist',
      happenings: [
        { day: 1, at: '07:30', what: 'overage cap set', cents: 1_000, effective: 'now' },
        { day: 16, at: '07:50', what: 'plan changed', plan: 'studio_500', effective: 'next_period' },
        {
          day: 17,
          at: '19:35',
          what: 'download',
          key: 'jingles',
          wish: { url: 'https://example-band.bandcamp.com/track/silence', seconds: 1, options: m4a },
          ...fails('unsupported_media'),
        },
      ],
    },
  ],
};

/** A news desk, which took a plan too large, then a smaller one, and has agreed on a price of its own. */
const newsDesk: Customer = {
  reference: 'demo story: news desk',
  email: 'desk@news.example.com',
  plan: 'studio_500',
  openedDaysAgo: 68,
  wishes: [
    { url: 'https://www.tiktok.com/@example.news/video/7200000000000000001', seconds: 44, options: { quality: '720' } },
    { url: 'https://x.com/examplenews/status/1600000000000000001', seconds: 58, options: { quality: '720' } },
    { url: 'https://www.facebook.com/watch/?v=1000000000000001', seconds: 95, options: { quality: '480' } },
    { url: 'https://youtube.com/shorts/3yBzX4iFPS8', seconds: 39, options: { quality: '1080' } },
    { url: 'https://www.reddit.com/r/videos/comments/10abcde/a_storm/', seconds: 71, options: { quality: '480' } },
    { url: 'https://bsky.app/profile/news.example.com/post/3kexample2abc', seconds: 33, options: { quality: '360' } },
    { url: 'https://rumble.com/v2abcde-press-conference.html', seconds: 2_710, options: { quality: '360' } },
  ],
  months: [
    {
      weeks: 4,
      week: [1, 1, 1, 1, 1, 0, 0],
      lookups: 1,
      key: 'desk',
      happenings: [
        { day: 0, at: '07:30', what: 'key issued', label: 'desk' },
        { day: 0, at: '07:35', what: 'person invited', email: 'night@news.example.com' },
        { day: 19, at: '12:00', what: 'plan changed', plan: 'dev_100', effective: 'next_period' },
      ],
    },
    {
      weeks: 4,
      week: [1, 2, 1, 2, 1, 1, 1],
      lookups: 3,
      key: 'desk',
      happenings: [
        { day: 2, at: '07:15', what: 'key issued', label: 'night shift' },
        {
          day: 11,
          at: '21:40',
          what: 'download',
          key: 'night shift',
          wish: { url: youtube('jNQXAC9IVRw'), seconds: 3_600 },
          ...fails('live_stream'),
        },
        {
          day: 18,
          at: '22:10',
          what: 'download',
          key: 'night shift',
          wish: {
            url: 'https://rumble.com/v3abcde-the-whole-debate.html',
            seconds: 9_800,
            options: { quality: '480' },
          },
          ...succeedsAfter('timed_out', 'timed_out'),
        },
        {
          day: 27,
          at: '21:10',
          what: 'download',
          key: 'night shift',
          wish: { url: youtube('dQw4w9WgXcQ'), seconds: 212 },
          ...fails('age_restricted'),
        },
      ],
    },
    {
      weeks: 1,
      week: [2, 2, 2, 2, 2, 1, 1],
      lookups: 4,
      key: 'desk',
      happenings: [
        {
          day: 1,
          at: '07:10',
          what: 'terms agreed',
          changes: { downloads_limit: 30, overage_cents: 20 },
          effective: 'now',
        },
        {
          day: 2,
          at: '21:25',
          what: 'download',
          key: 'night shift',
          wish: { url: 'https://x.com/examplenews/status/1600000000000000777', seconds: 61 },
          ...failsByOurFault,
        },
      ],
    },
  ],
};

/** The first one is the account of the start screen. */
export const story = [archive, radio, newsDesk] as const satisfies readonly Customer[];
