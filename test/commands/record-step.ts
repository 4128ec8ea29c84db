import type { Cause } from '../../src/commands/handler/event-metadata.ts';
import { type JobDependencies, recordJobProgress } from '../../src/commands/record-job-progress.ts';
import type { JobCommand } from '../../src/domain/download-job.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { patienceMs } from '../support/wait-for.ts';
import { freshCause } from './usage-account.ts';

/** Records a step of a job. @returns the revision of its event @throws where the job's rules refuse it */
export async function recordStep(
  { store, now }: Pick<JobDependencies, 'store' | 'now'>,
  command: JobCommand,
  actor: Cause['actor'] = { type: 'system', id: 'test' },
): Promise<number> {
  const cause = { ...freshCause(), actor, timeoutMs: patienceMs };
  const recorded = await recordJobProgress({ store, now, newUuid }, command, cause);
  if (isRefused(recorded)) throw new Error(`${command.kind} was refused: ${recorded.refusal}`);
  return recorded.revision;
}
