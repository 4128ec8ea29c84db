import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Does a round again and again, with a pause after each, until it is stopped.
 *
 * @param failed told of a round that did not finish; the next one comes all the same
 */
export function repeat(
  round: (stopping: AbortSignal) => Promise<void>,
  { everyMs, failed }: { everyMs: number; failed: (error: unknown) => void },
): { stop: () => Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = (async () => {
    while (!signal.aborted) {
      await round(signal).catch(failed);
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
