import { addAbortListener } from 'node:events';

/** Node's timers hold no longer time; they would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Waits for a promise for a limited time. The work itself goes on, and nobody is told of its later failure.
 *
 * @param late gives the result when the time is over, or throws
 */
export async function withDeadline<Value, Late>(
  work: Promise<Value>,
  limitMs: number,
  late: () => Late,
): Promise<Value | Late> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), Math.min(limitMs, longestTimerMs));
  try {
    return await unlessAborted(work, over.signal, late);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for a promise as `withDeadline` does, until a signal is aborted. */
export async function unlessAborted<Value, Late>(
  work: Promise<Value>,
  signal: AbortSignal,
  late: () => Late,
): Promise<Value | Late> {
  work.catch(() => undefined);
  const aborted = Promise.withResolvers<'aborted'>();
  using _listening = addAbortListener(signal, () => aborted.resolve('aborted'));
  const first = await Promise.race([work.then((value) => ({ value })), aborted.promise]);
  return first === 'aborted' ? late() : first.value;
}
