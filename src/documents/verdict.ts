/** What the continuous verification says now, in words: one verdict for everybody who shows amounts. */

/** As the dispatcher has written it. */
export interface Verified {
  /** Events that were verified since the verification began. */
  events: number;
  /** Commit position in the log to which it has come since it began, in digits; null before the first event. */
  position: string | null;
  /** The newest time at which all of the log was verified, whoever led then, UTC ISO-8601; and the position up to which it was. */
  caught_up_at: string | null;
  caught_up_position: string | null;
  /** Divergences that nobody has acknowledged, and those that somebody has. */
  unknown: number;
  known: number;
  /** When it has last said something, by Postgres's clock, UTC ISO-8601; and how many seconds ago. */
  written_at: string;
  silent_seconds: number;
}

/**
 * - none: nothing was ever verified
 * - partial: the first look at the log is under way
 * - diverges: somebody has to examine what was found
 * - stopped: it says nothing any more
 * - behind: it goes on, and has not come to the end of the log for long
 * - verified: all of the log, a moment ago
 */
export const verdicts = ['none', 'partial', 'diverges', 'stopped', 'behind', 'verified'] as const;
type VerdictName = (typeof verdicts)[number];

export interface Verdict {
  verdict: VerdictName;
  /** In sentences. */
  text: string;
}

/** It says something every 10 s. */
const silentAfterSeconds = 60;
/** It looks at what is new every 10 s. */
const behindAfterSeconds = 600;

export interface About {
  /** UTC ISO-8601. */
  now: string;
  /** Position in the log of the newest event that amounts beside it follow from; undefined where it is not known. */
  shownUpTo?: bigint | undefined;
}

/** What programs are told: the verdict, and what it follows from. */
export type ShownVerification = ReturnType<typeof showVerification>;

/** @param state undefined before anything was verified */
export function showVerification(state: Verified | undefined, about: About) {
  return {
    ...verdictOf(state, about),
    events: state?.events ?? 0,
    position: state?.position ?? null,
    unknown: state?.unknown ?? 0,
    known: state?.known ?? 0,
    caught_up_at: state?.caught_up_at ?? null,
    caught_up_position: state?.caught_up_position ?? null,
    written_at: state?.written_at ?? null,
  };
}

/** @param state undefined before anything was verified */
export function verdictOf(state: Verified | undefined, about: About): Verdict {
  if (!state) return { verdict: 'none', text: 'Nothing was verified yet: no dispatcher has looked at the log.' };
  const { unknown, caught_up_at, silent_seconds } = state;
  const silence =
    silent_seconds > silentAfterSeconds
      ? `The verification has stopped: it last said something ${age(silent_seconds)} ago.`
      : '';
  const reach = reachText(state, about);
  const said = (verdict: VerdictName, ...sentences: string[]): Verdict => ({
    verdict,
    text: sentences.filter((sentence) => sentence !== '').join(' '),
  });
  if (unknown > 0) return said('diverges', divergencesText(unknown), silence, reach);
  if (caught_up_at === null) return said('partial', 'Not all of the log was verified yet.', silence, reach);
  if (silence !== '') return said('stopped', silence, reach);
  if (secondsSince(caught_up_at, about) > behindAfterSeconds)
    return said('behind', 'The verification is behind.', reach);
  return said('verified', reach, knownText(state));
}

const divergencesText = (unknown: number) =>
  unknown === 1
    ? '1 value does not follow from the log, and nobody has acknowledged it: do not rely on amounts before it is examined.'
    : `${String(unknown)} values do not follow from the log, and nobody has acknowledged them: do not rely on amounts before they are examined.`;

const knownText = ({ known }: Verified) =>
  known === 0 ? '' : `${String(known)} ${known === 1 ? 'divergence is' : 'divergences are'} acknowledged.`;

/** Up to where it has looked, how long ago, and what it has not seen. */
function reachText({ position, caught_up_at, caught_up_position, events }: Verified, about: About): string {
  if (caught_up_at === null)
    return `It has come to ${position === null ? 'no event' : `position ${position}, after ${String(events)} events`}.`;
  const upTo = BigInt(caught_up_position ?? -1);
  const at = BigInt(position ?? -1);
  const whole = `All of the log${caught_up_position === null ? '' : ` up to position ${caught_up_position}`} was verified at ${minuteText(caught_up_at)}, ${age(secondsSince(caught_up_at, about))} ago.`;
  const anew = at < upTo ? ` It has begun anew, and has come to position ${String(at < 0n ? 0n : at)}.` : '';
  const verified = at > upTo ? at : upTo;
  const newer = (about.shownUpTo ?? -1n) > verified ? ' Newer events are not verified yet.' : '';
  return whole + anew + newer;
}

const secondsSince = (instant: string, { now }: About) => Math.max(0, (Date.parse(now) - Date.parse(instant)) / 1_000);

const minuteText = (instant: string) => `${instant.slice(0, 16).replace('T', ' ')} UTC`;

/** Two minutes are more telling than 120 seconds, two days more than 48 hours. */
function age(seconds: number): string {
  if (seconds < 120) return `${String(Math.floor(seconds))} s`;
  if (seconds < 7_200) return `${String(Math.floor(seconds / 60))} min`;
  if (seconds < 172_800) return `${String(Math.floor(seconds / 3_600))} h`;
  return `${String(Math.floor(seconds / 86_400))} days`;
}
