import type { Background } from '../async/background.ts';
import type { Erasures } from '../ports/erasures.ts';
import { type InRound, type LoopDependencies, startLoop } from './repeat.ts';

interface ErasingDependencies extends LoopDependencies {
  erasures: Erasures;
  /** Business time, UTC ISO-8601. @throws {ClockIsWrong} */
  now: () => string;
}

const defaultEveryMs = 30_000;

/**
 * Deletes the keys of accounts that the log says are erased: of those whose command was interrupted, of documents whose time is
 * over, and of whatever an older backup of Postgres has brought back.
 */
export const startErasing = (dependencies: ErasingDependencies): Background =>
  startLoop('the erasure of personal data', dependencies, eraseDue, defaultEveryMs);

async function eraseDue({ erasures, now, logger }: InRound<ErasingDependencies>): Promise<void> {
  const keys = await erasures.deleteErased(now());
  if (keys > 0) logger.info({ keys }, 'keys of erased personal data were deleted');
}
