import type { Background } from '../async/background.ts';
import { eraseAccount, type EraseAccountDependencies } from '../commands/erase-account.ts';
import { isRefused } from '../domain/refusals.ts';
import type { FileStore } from '../ports/files.ts';
import { type InRound, type LoopDependencies, startLoop } from './repeat.ts';

interface ErasingDependencies extends EraseAccountDependencies, LoopDependencies {
  files: Pick<FileStore, 'readNote' | 'keepNote'>;
}

const defaultEveryMs = 30_000;
const stepTimeoutMs = 5_000;
const actor = { type: 'system', id: 'erasure' } as const;
/** Ids of the accounts that were erased, one a line, out of reach of log and Postgres. */
const noteName = 'erased-accounts';

/**
 * Deletes the keys of accounts that the log says are erased: of those whose command was interrupted, of documents whose time is
 * over, and of whatever an older backup of Postgres has brought back. The ids are also noted outside of the log: in a log that was
 * restored from an older backup, an account that was erased since is erased again.
 */
export function startErasing(dependencies: ErasingDependencies): Background {
  let noted: ReadonlySet<string> | undefined;
  const round = async (inRound: InRound<ErasingDependencies>): Promise<void> => {
    const { erasures, now, logger, files } = inRound;
    const keys = await erasures.deleteErased(now());
    if (keys > 0) logger.info({ keys }, 'keys of erased personal data were deleted');
    const erased = await erasures.listErased();
    const known = (noted ??= await readNote(files));
    await eraseAgain(
      inRound,
      [...known].filter((id) => !erased.includes(id)),
    );
    if (erased.every((id) => known.has(id))) return;
    const all = new Set([...known, ...erased]);
    await files.keepNote(noteName, [...all].map((id) => `${id}\n`).join(''));
    noted = all;
  };
  return startLoop('the erasure of personal data', dependencies, round, defaultEveryMs);
}

async function readNote(files: ErasingDependencies['files']): Promise<ReadonlySet<string>> {
  const text = (await files.readNote(noteName)) ?? '';
  return new Set(text.split('\n').filter((line) => line !== ''));
}

/** Of accounts that the read model does not show as erased. In most cases it is behind, and the log has the erasure. */
async function eraseAgain(dependencies: InRound<ErasingDependencies>, accountIds: readonly string[]): Promise<void> {
  const { part, newUuid, logger } = dependencies;
  for (const accountId of accountIds) {
    const asked = { accountId, actor, correlationId: newUuid(), timeoutMs: stepTimeoutMs };
    const answer = await eraseAccount(dependencies, asked);
    if (!isRefused(answer)) {
      if (answer.changed) logger.warn({ accountId }, 'an account that was erased before was erased again');
    } else if (answer.refusal !== 'account_not_found') part.failed('an account that was erased before', answer.refusal);
  }
}
