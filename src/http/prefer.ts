/** The longest that a poll may wait for its answer; a client that asks for more waits this long. */
export const longestWaitSeconds = 60;

/** Preferences stand between commas that are not within quotes. */
const preference = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;
const waitForm = /^\s*wait\s*(?:=\s*(\d+)\s*)?(?:;.*)?$/i;

/**
 * Reads `wait` of a Prefer header, RFC 7240 sections 2 and 4.3: its first instance counts, and one that is malformed is ignored.
 *
 * @returns whole seconds, at most `longestWaitSeconds`; undefined without such a preference
 */
export function preferredWaitSeconds(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  const all = String(header).match(preference) ?? [];
  const wait = all.find((one) => /^\s*wait\s*(?:[=;]|$)/i.test(one));
  const [, seconds] = waitForm.exec(wait ?? '') ?? [];
  return seconds === undefined ? undefined : Math.min(Number(seconds), longestWaitSeconds);
}
