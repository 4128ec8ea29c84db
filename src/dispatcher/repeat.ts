import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ClockIsWrong } from '../commands/ports.ts';

/**
 * Works again and again, with a pause in between, until it is stopped; a round that fails is logged, and the next one comes.
 * Rounds that a wrong clock ends say nothing: that is said once, by the process.
 */
export function repeat(
  work: (stopping: AbortSignal) => Promise<unknown>,
  { everyMs, logger, failed }: { everyMs: number; logger: Logger; failed: string },
): { stop: () => Promise<void> } {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await work(stopping.signal).catch((error: unknown) => {
        if (!(error instanceof ClockIsWrong)) logger.warn({ err: error }, failed);
      });
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
