/** So many doublings exceed any limit; more would exceed the numbers. */
const maxDoublings = 30;

/**
 * How long to wait before the next attempt: doubles with each failure up to a limit.
 *
 * @param failures in a row, from 1
 * @param options.random from 0 to 1, for jitter: the wait is then between half of that time and all of it, so that several
 *   processes spread their attempts
 */
export function backoffMs(
  failures: number,
  { firstMs, longestMs, random }: { firstMs: number; longestMs: number; random?: () => number },
): number {
  const fullMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, maxDoublings));
  return random === undefined ? fullMs : fullMs * (0.5 + random() / 2);
}
