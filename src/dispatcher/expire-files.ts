import pMap from 'p-map';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { listFilesToExpire } from '../../projections/work-lists/kept-files.ts';
import { type JobDependencies, recordJobProgress } from '../commands/record-job-progress.ts';
import { plusSeconds } from '../domain/instant.ts';
import { type ServicePart, servicePart, type ServiceParts } from '../ports/service-parts.ts';
import { repeat } from './repeat.ts';

export interface ExpireFilesDependencies extends JobDependencies {
  pool: Pool;
  logger: Logger;
  serviceParts?: ServiceParts;
  /** How long after its end a download's file is given out. */
  retentionSeconds: number;
  /** Default: 5 s. */
  everyMs?: number;
}

const defaultEveryMs = 5_000;
const maxFiles = 500;
const filesAtOnce = 16;
const stepTimeoutMs = 5_000;

/**
 * Ends the time of finished files, by an event on the job's own stream at its exact revision: a round that is behind, or two
 * at once, expire no file twice or too early. Nothing is removed here: see `remove-files.ts`.
 */
export function startExpiringFiles(dependencies: ExpireFilesDependencies): { stop: () => Promise<void> } {
  const { everyMs = defaultEveryMs } = dependencies;
  const part = servicePart(dependencies, 'the expiry of files');
  return repeat((stopping) => expireFiles({ ...dependencies, part }, stopping), { everyMs, part });
}

async function expireFiles(
  dependencies: ExpireFilesDependencies & { part: ServicePart },
  stopping: AbortSignal,
): Promise<void> {
  const { pool, store, now, retentionSeconds } = dependencies;
  const completedUntil = plusSeconds(now(), -retentionSeconds);
  const tokens = await listFilesToExpire(pool, { completedUntil, limit: maxFiles });
  // With the log away every file would wait for it in turn.
  if (tokens.length > 0) await store.headPosition();
  const expireUnlessStopping = async (token: string) => {
    if (!stopping.aborted) await expire(dependencies, token, completedUntil);
  };
  await pMap(tokens, expireUnlessStopping, { concurrency: filesAtOnce });
}

/** One file that cannot be expired does not keep the others from it. */
async function expire(
  dependencies: ExpireFilesDependencies & { part: ServicePart },
  token: string,
  completedUntil: string,
): Promise<void> {
  const commandId = dependencies.newUuid();
  const actor = { type: 'system', id: 'file-expiry' } as const;
  const cause = { correlationId: commandId, causationId: commandId, actor, timeoutMs: stepTimeoutMs };
  await recordJobProgress(dependencies, { kind: 'expire_file', token, completedUntil }, cause).catch(
    (error: unknown) => {
      dependencies.part.failed('a file', error, { token });
    },
  );
}
