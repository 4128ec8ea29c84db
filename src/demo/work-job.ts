import { hash } from 'node:crypto';
import { ownCause } from '../commands/handler/event-metadata.ts';
import type { Loaded } from '../commands/handler/handle-command.ts';
import { type JobDependencies, recordJobProgress } from '../commands/record-job-progress.ts';
import type { Job, JobCommand } from '../domain/download-job.ts';
import { jobStream } from '../domain/download-job-events.ts';
import { outputOf } from '../domain/download-options.ts';
import type { Actor } from '../domain/parse-event.ts';
import { isRefused } from '../domain/refusals.ts';
import { finishedFiles } from '../downloader/verify/tools.ts';
import type { LoggedDownload } from './log-of-story.ts';
import { isOurFault, type ScriptedDownload, videoOf } from './story.ts';

/** The worker of the story. It is always the same, so a start that completes an interrupted story goes on with its claims. */
const workerId = 'wrk_demostorydemostory';
const timeoutMs = 10_000;
const daySeconds = 86_400;
/** More than a platform's limit of requests makes a job wait after its second attempt. */
const secondsBetweenAttempts = 45;

interface ScriptedJob {
  accountId: string;
  scripted: ScriptedDownload;
  logged: LoggedDownload;
  /** Whether an earlier start may have taken some of its steps. */
  isBegun: boolean;
  /** No step comes after it, in milliseconds. */
  presentMs: number;
}

/** One event of the job's stream. */
interface JobStep {
  atMs: number;
  command: JobCommand;
}

/** The steps from the claim to the expiry of the file, which does not exist. */
function stepsOf({ accountId, scripted, logged, presentMs }: ScriptedJob): JobStep[] {
  const { token, queuedMs, usageStream, usageRevision } = logged;
  const { wish, attempts } = scripted;
  const takesSeconds = 3 + wish.seconds / 50;
  const at = (seconds: number) => Math.min(queuedMs + Math.round(seconds * 1_000), presentMs);
  const fault = isOurFault(scripted) ? 'service' : 'video';
  return attempts.flatMap((ending, attempt): JobStep[] => {
    const beganSeconds = 0.6 + attempt * (takesSeconds + secondsBetweenAttempts);
    const endSeconds = beganSeconds + takesSeconds;
    // An attempt that fails has three events.
    const claim = { workerId, revision: 3 * attempt };
    const begun: JobStep[] = [
      { atMs: at(beganSeconds), command: { kind: 'claim', token, workerId, accountId, usageStream, usageRevision } },
      { atMs: at(beganSeconds + 0.1), command: { kind: 'start', token, claim } },
    ];
    if (ending !== 'done')
      return [...begun, { atMs: at(endSeconds), command: { kind: 'give_up', token, claim, reason: ending, fault } }];
    const expiryMs = at(endSeconds + daySeconds + 3);
    const completedUntil = new Date(expiryMs).toISOString();
    return [
      ...begun,
      { atMs: at(endSeconds), command: { kind: 'complete', token, claim, file: fileOf(scripted) } },
      { atMs: expiryMs, command: { kind: 'expire_file', token, completedUntil } },
    ];
  });
}

/**
 * Takes the steps of a job, each once: an interrupted one goes on after the events that it has.
 *
 * @returns the time of its last step, in milliseconds
 */
export async function workJob(dependencies: Omit<JobDependencies, 'now'>, scripted: ScriptedJob): Promise<number> {
  const { token, queuedMs, cause } = scripted.logged;
  const recorded = scripted.isBegun ? (await dependencies.store.read(jobStream(token), 0)).length : 0;
  const steps = stepsOf(scripted);
  let job: Loaded<Job> | 'new' | undefined = recorded === 0 ? 'new' : undefined;
  for (const { atMs, command } of steps.slice(recorded)) {
    const now = () => new Date(atMs).toISOString();
    const stepCause =
      command.kind === 'expire_file' ? ownCause(dependencies.newUuid(), expiry) : { ...cause, actor: worker };
    const taken = await recordJobProgress({ ...dependencies, now }, command, { ...stepCause, timeoutMs }, job);
    if (isRefused(taken)) throw new Error(`the story's ${command.kind} of ${token} was refused: ${taken.refusal}`);
    job = taken.loaded;
  }
  return steps.at(-1)?.atMs ?? queuedMs;
}

const worker: Actor = { type: 'system', id: workerId };
const expiry: Actor = { type: 'system', id: 'file-expiry' };

/** What a download of this wish would have left behind. */
function fileOf({ wish }: ScriptedDownload) {
  const { kind, options } = videoOf(wish);
  const output = outputOf(kind, options);
  const { name, mime } = finishedFiles[output];
  const bytesPerSecond = output === 'mp4' ? 560_000 : 24_000;
  const sha256 = hash('sha256', `demo story: ${output} ${wish.url}`);
  const { title, seconds } = wish;
  return { name, mime, sizeBytes: seconds * bytesPerSecond, sha256, durationSeconds: seconds, title };
}
