import pMap from 'p-map';
import type { Pool } from 'pg';
import { type EndedJob, readEndedJobs } from '../../projections/work-lists/kept-files.ts';
import type { Background } from '../async/background.ts';
import { isOver } from '../domain/link-and-file-lifetimes.ts';
import type { FileStore } from '../ports/files.ts';
import type { FileObserver } from '../ports/observers.ts';
import { type InRound, type LoopDependencies, startLoop } from './repeat.ts';

interface RemoveFilesDependencies extends LoopDependencies {
  pool: Pool;
  files: Pick<FileStore, 'tokens' | 'purge'>;
  /** Business time, UTC ISO-8601. */
  now: () => string;
  retentionSeconds: number;
  observer?: FileObserver;
}

const defaultEveryMs = 900_000;
const purgesAtOnce = 8;

/**
 * Removes the bytes of files whose links are all over, and whatever attempts have left of jobs that failed. What is to be done
 * is found in the file store's own listing, each time anew, so that an end at any instant leaves nothing behind. Nothing of a
 * job that has not ended is touched, and nothing that the read model does not know: it may be new, or somebody else's.
 */
export const startRemovingFiles = (dependencies: RemoveFilesDependencies): Background =>
  startLoop('the removal of files', dependencies, removeFiles, defaultEveryMs);

async function removeFiles(dependencies: InRound<RemoveFilesDependencies>, stopping: AbortSignal): Promise<void> {
  const { files, observer, part } = dependencies;
  const remove = async ({ token, status }: EndedJob) => {
    if (stopping.aborted) return;
    try {
      const removed = await files.purge(token);
      observer?.filesRemoved(status === 'failed' ? 'failed' : 'expired', removed);
    } catch (error) {
      // One job whose files cannot be removed does not keep the others from it.
      part.failed('the files of a job', error, { token });
    }
  };
  for await (const tokens of files.tokens()) {
    const ended = await readEndedJobs(dependencies.pool, tokens);
    const removable = ended.filter((job) => isRemovable(job, dependencies));
    await pMap(removable, remove, { concurrency: purgesAtOnce });
    if (stopping.aborted) return;
  }
}

/** A job that has failed, or whose links are over, never gets another file. */
function isRemovable(job: EndedJob, { retentionSeconds, now }: RemoveFilesDependencies): boolean {
  const { status, finished_at: finishedAt, file_expired_at: expiredAt } = job;
  return status === 'failed' || isOver({ finishedAt, expiredAt }, retentionSeconds, now());
}
