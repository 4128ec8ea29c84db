import { setTimeout } from 'node:timers/promises';

/**
 * Waits for a time. An abort ends it early and resolves it too: loops ask the signal themselves, and others say
 * `signal.throwIfAborted()` behind it.
 */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal }).catch((error: unknown) => {
    if (signal?.aborted !== true) throw error;
  });
}
