import { listWaitingCorrections } from '../../projections/corrections.ts';
import type { Background } from '../async/background.ts';
import { carryOutCorrection } from '../commands/carry-out-correction.ts';
import type { CommandDependencies } from '../commands/handler/dependencies.ts';
import { isRefused } from '../domain/refusals.ts';
import { type ListDependencies, workThroughList } from './work-through-list.ts';

export type CarryOutLoop = ListDependencies & CommandDependencies;

const stepTimeoutMs = 5_000;

/**
 * Carries out the permitted corrections that a crash has left: usually the console does it, directly after the permission. The
 * read model only hints at them; whether money is still to be given back is decided in the log, so that two may try at once.
 */
export function startCarryingOutCorrections(dependencies: CarryOutLoop): Background {
  const { pool, logger } = dependencies;
  return workThroughList(
    {
      part: 'the corrections of staff',
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
    dependencies,
  );
}
