import pMap from 'p-map';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { type EndedJob, readEndedJobs } from '../../projections/work-lists/kept-files.ts';
import { isOver } from '../domain/link-and-file-lifetimes.ts';
import type { FileStore } from '../ports/files.ts';
import type { FileObserver } from '../ports/observers.ts';
import { type ServicePart, servicePart, type ServiceParts } from '../ports/service-parts.ts';
import { repeat } from './repeat.ts';

export interface RemoveFilesDependencies {
  pool: Pool;
  files: Pick<FileStore, 'tokens' | 'purge'>;
  /** Business time, UTC ISO-8601. */
  now: () => string;
  logger: Logger;
  serviceParts?: ServiceParts;
  retentionSeconds: number;
  observer?: FileObserver;
  /** Default: 15 min. */
  everyMs?: number;
}

const defaultEveryMs = 900_000;
const purgesAtOnce = 8;

/**
 * Removes the bytes of files whose links are all over, and whatever attempts have left of jobs that failed. What is to be done
 * is found in the file store's own listing, each time anew, so that an end at any instant leaves nothing behind. Nothing of a
 * job that has not ended is touched, and nothing that the read model does not know: it may be new, or somebody else's.
 */
export function startRemovingFiles(dependencies: RemoveFilesDependencies): { stop: () => Promise<void> } {
  const { everyMs = defaultEveryMs } = dependencies;
  const part = servicePart(dependencies, 'the removal of files');
  return repeat((stopping) => removeFiles({ ...dependencies, part }, stopping), { everyMs, part });
}

async function removeFiles(
  dependencies: RemoveFilesDependencies & { part: ServicePart },
  stopping: AbortSignal,
): Promise<void> {
  for await (const tokens of dependencies.files.tokens()) {
    const ended = await readEndedJobs(dependencies.pool, tokens);
    const removable = ended.filter((job) => isRemovable(job, dependencies));
    const removeUnlessStopping = async (job: EndedJob) => {
      if (!stopping.aborted) await remove(dependencies, job);
    };
    await pMap(removable, removeUnlessStopping, { concurrency: purgesAtOnce });
    if (stopping.aborted) return;
  }
}

/** A job that has failed, or whose links are over, never gets another file. */
function isRemovable(job: EndedJob, { retentionSeconds, now }: RemoveFilesDependencies): boolean {
  const { status, finished_at: finishedAt, file_expired_at: expiredAt } = job;
  return status === 'failed' || isOver({ finishedAt, expiredAt }, retentionSeconds, now());
}

/** One job whose files cannot be removed does not keep the others from it. */
async function remove(
  { files, observer, part }: RemoveFilesDependencies & { part: ServicePart },
  { token, status }: EndedJob,
): Promise<void> {
  try {
    const removed = await files.purge(token);
    observer?.filesRemoved(status === 'failed' ? 'failed' : 'expired', removed);
  } catch (error) {
    part.failed('the files of a job', error, { token });
  }
}
