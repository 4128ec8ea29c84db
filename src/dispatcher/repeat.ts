import { type Background, runInBackground } from '../async/background.ts';
import { sleep } from '../async/sleep.ts';
import { ClockIsWrong } from '../ports/clock.ts';
import type { ServicePart } from '../ports/service-parts.ts';

/**
 * Works again and again, with a pause in between, until it is stopped. A round that fails is told of, and the next one comes;
 * one in which nothing has failed, neither itself nor what it has told the part of, says that the part works. Rounds that a wrong
 * clock ends say nothing: that is said once, by the process.
 */
export function repeat(
  work: (stopping: AbortSignal) => Promise<unknown>,
  { everyMs, part }: { everyMs: number; part: ServicePart },
): Background {
  const round = async (stopping: AbortSignal): Promise<void> => {
    const before = part.failures;
    try {
      await work(stopping);
      if (part.failures === before) part.works();
    } catch (error) {
      if (!(error instanceof ClockIsWrong)) part.failed('a round', error);
    }
  };
  return runInBackground(async (stopping) => {
    while (!stopping.aborted) {
      await round(stopping);
      await sleep(everyMs, stopping);
    }
  });
}
