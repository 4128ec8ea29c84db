import type { Logger } from 'pino';
import { type Background, runInBackground } from '../async/background.ts';
import { sleep } from '../async/sleep.ts';
import { ClockIsWrong } from '../ports/clock.ts';
import { type ServicePart, servicePart, type ServiceParts } from '../ports/service-parts.ts';

export interface LoopDependencies {
  logger: Logger;
  serviceParts?: ServiceParts | undefined;
  /** Pause after each round; every loop has a default of its own. */
  everyMs?: number | undefined;
}

/** What a round gets: the dependencies of its loop, and the part that it tells of what fails. */
export type InRound<Dependencies extends LoopDependencies> = Dependencies & { part: ServicePart };

/** Repeats the rounds of the part of that name. */
export function startLoop<Dependencies extends LoopDependencies>(
  name: string,
  dependencies: Dependencies,
  round: (dependencies: InRound<Dependencies>, stopping: AbortSignal) => Promise<unknown>,
  defaultEveryMs: number,
): Background {
  const { everyMs = defaultEveryMs } = dependencies;
  const part = servicePart(dependencies, name);
  return repeat((stopping) => round({ ...dependencies, part }, stopping), { everyMs, part });
}

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
