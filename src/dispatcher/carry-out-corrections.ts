import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { listWaitingCorrections } from '../../projections/corrections.ts';
import { carryOutCorrection } from '../commands/carry-out-correction.ts';
import type { CarryOutDependencies } from '../commands/carry-out-correction.ts';
import { isRefused } from '../domain/refusals.ts';
import { outageOf } from '../ports/outage.ts';
import type { Outage, Outages } from '../ports/outage.ts';
import { repeat } from './repeat.ts';

export interface CarryOutLoop extends CarryOutDependencies {
  pool: Pool;
  logger: Logger;
  outages?: Outages | undefined;
  /** Default: 2 s. */
  everyMs?: number;
  /** Pause before a correction that could not be carried out is tried again. Default: 1 min. */
  setAsideMs?: number;
}

const defaultEveryMs = 2_000;
const defaultSetAsideMs = 60_000;
const maxCorrections = 500;
const stepTimeoutMs = 5_000;

/**
 * Carries out the permitted corrections that a crash has left: usually the console does it, directly after the permission. The
 * read model only hints at them; whether money is still to be given back is decided in the log, so that two may try at once.
 */
export function startCarryingOutCorrections(dependencies: CarryOutLoop): { stop: () => Promise<void> } {
  const { everyMs = defaultEveryMs } = dependencies;
  const outage = outageOf(dependencies, 'the corrections of staff');
  const setAside = new Map<string, number>();
  return repeat((stopping) => carryOutRound({ ...dependencies, outage }, setAside, stopping), { everyMs, outage });
}

/** @param setAside corrections that are left alone until then, in milliseconds of `performance.now()` */
async function carryOutRound(
  dependencies: CarryOutLoop & { outage: Outage },
  setAside: Map<string, number>,
  stopping: AbortSignal,
): Promise<void> {
  const { pool, logger, outage, setAsideMs = defaultSetAsideMs } = dependencies;
  for (const [id, untilMs] of setAside) if (performance.now() >= untilMs) setAside.delete(id);
  const permitted = await listWaitingCorrections(pool, { status: 'permitted', limit: maxCorrections });
  for (const { correction_id: correctionId, account_id: accountId } of permitted) {
    if (stopping.aborted) return;
    if (setAside.has(correctionId)) continue;
    try {
      const ended = await carryOutCorrection(dependencies, { accountId, correctionId, timeoutMs: stepTimeoutMs });
      logger.info(
        { correctionId, ended: isRefused(ended) ? ended.refusal : ended.status },
        'a correction was looked at',
      );
    } catch (error) {
      outage.failed('a correction', error, { correctionId });
    }
    // Its row follows the log, and is looked at again only if it does not.
    setAside.set(correctionId, performance.now() + setAsideMs);
  }
}
