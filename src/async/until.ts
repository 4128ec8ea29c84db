import { sleep } from './sleep.ts';

/**
 * Polls a condition until it holds; at least once, and once more when the time is over.
 *
 * @returns whether it holds; false when the time is over
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  { limitMs, pollMs = 10 }: { limitMs: number; pollMs?: number },
): Promise<boolean> {
  const deadlineMs = performance.now() + limitMs;
  for (;;) {
    const isOver = performance.now() >= deadlineMs;
    if (await condition()) return true;
    if (isOver) return false;
    await sleep(pollMs);
  }
}
