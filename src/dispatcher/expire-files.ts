import pMap from 'p-map';
import type { Pool } from 'pg';
import { listFilesToExpire } from '../../projections/work-lists/kept-files.ts';
import type { Background } from '../async/background.ts';
import { ownCause } from '../commands/handler/event-metadata.ts';
import { type JobDependencies, recordJobProgress } from '../commands/record-job-progress.ts';
import { plusSeconds } from '../domain/instant.ts';
import { type InRound, type LoopDependencies, startLoop } from './repeat.ts';

interface ExpireFilesDependencies extends JobDependencies, LoopDependencies {
  pool: Pool;
  /** How long after its end a download's file is given out. */
  retentionSeconds: number;
}

const defaultEveryMs = 5_000;
const maxFiles = 500;
const filesAtOnce = 16;
const stepTimeoutMs = 5_000;
const actor = { type: 'system', id: 'file-expiry' } as const;

/**
 * Ends the time of finished files, by an event on the job's own stream at its exact revision: a round that is behind, or two
 * at once, expire no file twice or too early. Nothing is removed here: see `remove-files.ts`.
 */
export const startExpiringFiles = (dependencies: ExpireFilesDependencies): Background =>
  startLoop('the expiry of files', dependencies, expireFiles, defaultEveryMs);

async function expireFiles(dependencies: InRound<ExpireFilesDependencies>, stopping: AbortSignal): Promise<void> {
  const { pool, store, now, newUuid, retentionSeconds, part } = dependencies;
  const completedUntil = plusSeconds(now(), -retentionSeconds);
  const tokens = await listFilesToExpire(pool, { completedUntil, limit: maxFiles });
  // With the log away every file would wait for it in turn.
  if (tokens.length > 0) await store.headPosition();
  const expire = async (token: string) => {
    if (stopping.aborted) return;
    const cause = { ...ownCause(newUuid(), actor), timeoutMs: stepTimeoutMs };
    const expiring = recordJobProgress(dependencies, { kind: 'expire_file', token, completedUntil }, cause);
    // One file that cannot be expired does not keep the others from it.
    await expiring.catch((error: unknown) => {
      part.failed('a file', error, { token });
    });
  };
  await pMap(tokens, expire, { concurrency: filesAtOnce });
}
