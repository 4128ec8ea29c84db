import { setTimeout as delay } from 'node:timers/promises';
import { scaled } from './proof-scale.ts';

/** Between two looks, the longer the more time has gone by: a look may ask other processes, which then have less time to work. */
const pauseMs = (waitedMs: number) => Math.min(5 + waitedMs / 20, 50);

/** Only there for a run to end: no test depends on how fast a busy machine is. */
export const patienceMs = scaled(180_000, 3_600_000);

/**
 * Waits until a condition holds; the only way in which tests wait.
 *
 * @returns what the condition returned, once it is neither false nor undefined
 * @throws after `timeoutMs`, naming what was waited for
 */
export async function waitFor<Result>(
  condition: () => Result | undefined | false | Promise<Result | undefined | false>,
  { timeoutMs = patienceMs, pollMs, what }: { timeoutMs?: number; pollMs?: number; what: string },
): Promise<Result> {
  const startedMs = performance.now();
  for (;;) {
    const result = await condition();
    if (result !== undefined && result !== false) return result;
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > timeoutMs) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`);
    await delay(pollMs ?? pauseMs(waitedMs));
  }
}

/** Clients that ask all the while pause between two requests, so that a usual run leaves time to other tests. */
export const pauseOfClient = (): Promise<void> => delay(scaled(20, 0));
