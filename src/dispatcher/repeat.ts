import { ClockIsWrong } from '../ports/clock.ts';
import type { Outage } from '../ports/outage.ts';
import { sleep } from '../async/sleep.ts';

/**
 * Works again and again, with a pause in between, until it is stopped. A round that fails is told of, and the next one comes;
 * one in which nothing has failed, neither itself nor what it has told the outage of, ends the outage. Rounds that a wrong
 * clock ends say nothing: that is said once, by the process.
 */
export function repeat(
  work: (stopping: AbortSignal) => Promise<unknown>,
  { everyMs, outage }: { everyMs: number; outage: Outage },
): { stop: () => Promise<void> } {
  const stopping = new AbortController();
  const round = async (): Promise<void> => {
    const before = outage.failures;
    try {
      await work(stopping.signal);
      if (outage.failures === before) outage.works();
    } catch (error) {
      if (!(error instanceof ClockIsWrong)) outage.failed('a round', error);
    }
  };
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await round();
      await sleep(everyMs, stopping.signal);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
