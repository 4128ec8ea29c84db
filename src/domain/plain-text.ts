import { z } from 'zod';

/** Text as events hold it. Control characters are refused, because databases and terminals mishandle them. */
export const storedText = (longest: number) =>
  z
    .string('must be a string')
    .max(longest, `is longer than ${String(longest)} characters`)
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'has control characters');

/**
 * Text that people type. Signs that turn the direction of writing are refused as well, because they reach beyond their own text
 * in tables and pages. Older events have some, and stay readable.
 */
export const plainText = (longest: number) =>
  storedText(longest).refine(
    (text) => !/\p{Bidi_Control}/u.test(text),
    'has invisible characters that change the direction of writing',
  );

/** A character that is seen: no control or format character, and no space. */
const seen = /[^\p{Cc}\p{Cf}\p{Z}]/u;

/**
 * A text of somebody else, such as a title, as one line that `plainText(longest)` takes: without characters that control a
 * terminal or the direction of writing, and cut between two characters.
 *
 * @returns the empty string if nothing of it would be seen
 */
export function visibleLine(text: string, longest: number): string {
  const line = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/\p{Bidi_Control}/gu, '')
    .trim()
    .slice(0, longest)
    .replace(/[\ud800-\udbff]$/, '');
  return seen.test(line) ? line : '';
}

const longestEmail = 254;
const notEmail = 'is not an e-mail address';

/**
 * An address that people give, as browsers take it in a field of type email: ASCII alone, so that no server and no library reads
 * another mailbox in it. A domain of another script is written as `xn--…`.
 */
export const email = plainText(longestEmail).regex(z.regexes.html5Email, notEmail);
/** Older events have others, and stay readable. */
export const storedEmail = storedText(longestEmail).regex(/^[^\s@]+@[^\s@]+$/, notEmail);
