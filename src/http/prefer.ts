/** The longest that a poll may wait for its answer; a client that asks for more waits this long. */
export const longestWaitSeconds = 60;

/** Preferences stand between commas that are not within quotes. */
const preference = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;
const preferenceName = /^\s*([^\s=;,"]+)\s*(?:[=;]|$)/;
const waitForm = /^\s*wait\s*(?:=\s*(\d+)\s*)?(?:;.*)?$/i;
const untilForm = /^\s*until\s*=\s*(?:ended|"ended")\s*(?:;.*)?$/i;

export interface PreferredWait {
  /** Whole seconds, at most `longestWaitSeconds`. */
  seconds: number;
  /** True if only the end of the download is waited for, and no other status. */
  untilEnded: boolean;
}

/**
 * Reads `wait` and our own `until` of a Prefer header, RFC 7240 sections 2 and 4.3: the first instance of each counts, and one
 * that is malformed or not known is ignored.
 *
 * @returns undefined without a `wait`
 */
export function preferredWait(header: string | string[] | undefined): PreferredWait | undefined {
  if (header === undefined) return undefined;
  const all = String(header).match(preference) ?? [];
  const firstOf = (name: string) => all.find((one) => preferenceName.exec(one)?.[1]?.toLowerCase() === name) ?? '';
  const [, seconds] = waitForm.exec(firstOf('wait')) ?? [];
  if (seconds === undefined) return undefined;
  return { seconds: Math.min(Number(seconds), longestWaitSeconds), untilEnded: untilForm.test(firstOf('until')) };
}

/** The value of Preference-Applied. */
export const appliedWait = ({ seconds, untilEnded }: PreferredWait): string =>
  `wait=${String(seconds)}${untilEnded ? ', until=ended' : ''}`;
