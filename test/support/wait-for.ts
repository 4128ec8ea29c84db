import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until a condition holds; the only way in which tests wait.
 *
 * @returns what the condition returned, once it is neither false nor undefined
 * @throws after `timeoutMs`, naming what was waited for
 */
export async function waitFor<Result>(
  condition: () => Result | undefined | false | Promise<Result | undefined | false>,
  { timeoutMs = 10_000, pollMs = 5, what }: { timeoutMs?: number; pollMs?: number; what: string },
): Promise<Result> {
  const giveUpAtMs = performance.now() + timeoutMs;
  for (;;) {
    const result = await condition();
    if (result !== undefined && result !== false) return result;
    if (performance.now() > giveUpAtMs) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`);
    await delay(pollMs);
  }
}
