import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { listWaitingCorrections } from '../../projections/corrections.ts';
import { carryOutCorrection, type CarryOutDependencies } from '../commands/carry-out-correction.ts';
import { isRefused } from '../domain/refusals.ts';
import { servicePart, type ServiceParts } from '../ports/service-parts.ts';
import { workThroughList } from './work-through-list.ts';

export interface CarryOutLoop extends CarryOutDependencies {
  pool: Pool;
  logger: Logger;
  serviceParts?: ServiceParts | undefined;
  everyMs?: number;
  setAsideMs?: number;
}

const stepTimeoutMs = 5_000;

/**
 * Carries out the permitted corrections that a crash has left: usually the console does it, directly after the permission. The
 * read model only hints at them; whether money is still to be given back is decided in the log, so that two may try at once.
 */
export function startCarryingOutCorrections(dependencies: CarryOutLoop): { stop: () => Promise<void> } {
  const { pool, logger } = dependencies;
  const part = servicePart(dependencies, 'the corrections of staff');
  return workThroughList(
    {
      read: async (look) => {
        const permitted = await listWaitingCorrections(pool, { status: 'permitted', ...look });
        return permitted.map(({ correction_id: correctionId, account_id: accountId }) => ({ correctionId, accountId }));
      },
      idOf: ({ correctionId }) => correctionId,
      work: async ({ correctionId, accountId }) => {
        const ended = await carryOutCorrection(dependencies, { accountId, correctionId, timeoutMs: stepTimeoutMs });
        const facts = { correctionId, ended: isRefused(ended) ? ended.refusal : ended.status };
        logger.info(facts, 'correction carried out');
      },
      what: 'a correction',
    },
    { ...dependencies, part },
  );
}
