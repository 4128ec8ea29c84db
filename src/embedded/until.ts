import { setTimeout as delay } from 'node:timers/promises';

/** Asks again and again until the answer is yes. @returns false when the time is over. */
export async function until(condition: () => boolean | Promise<boolean>, limitMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) return false;
    await delay(10);
  }
  return true;
}
