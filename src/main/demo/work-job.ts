import { hash } from 'node:crypto';
import type { Loaded } from '../../commands/handle-command.ts';
import { type JobDependencies, recordJobProgress } from '../../commands/record-job-progress.ts';
import type { Job, JobCommand } from '../../domain/download-job.ts';
import { type Output, outputOf, type Quality } from '../../domain/download-options.ts';
import type { FailureReason } from '../../domain/failure-reasons.ts';
import type { Actor } from '../../domain/parse-event.ts';
import { isRefused } from '../../domain/refusals.ts';
import { finishedFiles } from '../../downloader/verify/tools.ts';
import type { ScriptedDownload } from './script.ts';
import { StoryClock } from './story-clock.ts';
import type { ToldDownload } from './told-so-far.ts';
import { videoOf } from './video-of.ts';

/** The worker of the story. It is always the same, so a start that completes an interrupted story goes on with its claims. */
const workerId = 'wrk_demostorydemostory';
const timeoutMs = 10_000;
const daySeconds = 86_400;
/** More than a platform's limit of requests makes a job wait after its second attempt. */
const secondsBetweenAttempts = 45;

/** Each step is one event of the job's stream. */
type JobStep = { afterSeconds: number } & (
  { kind: 'claim' | 'start' | 'complete' | 'expire_file' } | { kind: 'give_up'; reason: FailureReason }
);

/** The steps from the claim to the expiry of the file, which does not exist. Times count from the queuing. */
function stepsOf({ wish, attempts }: ScriptedDownload): JobStep[] {
  const takesSeconds = 3 + wish.seconds / 50;
  return attempts.flatMap((ending, index): JobStep[] => {
    const beganSeconds = 0.6 + index * (takesSeconds + secondsBetweenAttempts);
    const endSeconds = beganSeconds + takesSeconds;
    const begun: JobStep[] = [
      { kind: 'claim', afterSeconds: beganSeconds },
      { kind: 'start', afterSeconds: beganSeconds + 0.1 },
    ];
    if (ending !== 'done') return [...begun, { kind: 'give_up', reason: ending, afterSeconds: endSeconds }];
    const expired = { kind: 'expire_file', afterSeconds: endSeconds + daySeconds + 3 } as const;
    return [...begun, { kind: 'complete', afterSeconds: endSeconds }, expired];
  });
}

/**
 * @param recorded events that the job's stream has: an interrupted job goes on with the step after them
 * @returns the time of its last step, in milliseconds
 */
export async function workJob(
  dependencies: Omit<JobDependencies, 'now'>,
  { accountId, presentMs, recorded }: { accountId: string; presentMs: number; recorded: number },
  { scripted, told }: { scripted: ScriptedDownload; told: ToldDownload },
): Promise<number> {
  const clock = new StoryClock(presentMs);
  const { token, usageStream, usageRevision } = told;
  const commandOf = (step: JobStep, claimRevision: number): JobCommand => {
    const ofClaim = { token, claim: { workerId, revision: claimRevision } };
    switch (step.kind) {
      case 'claim':
        return { kind: 'claim', token, workerId, accountId, usageStream, usageRevision };
      case 'start':
        return { kind: 'start', ...ofClaim };
      case 'complete':
        return { kind: 'complete', ...ofClaim, file: fileOf(scripted) };
      case 'give_up':
        return { kind: 'give_up', ...ofClaim, reason: step.reason, fault: scripted.fault };
      case 'expire_file':
        return { kind: 'expire_file', token, completedUntil: clock.now() };
    }
  };
  let claimRevision = -1;
  let known: Loaded<Job> | 'new' | undefined = recorded === 0 ? 'new' : undefined;
  for (const [revision, step] of stepsOf(scripted).entries()) {
    if (step.kind === 'claim') claimRevision = revision;
    clock.set(told.queuedMs + Math.round(step.afterSeconds * 1_000));
    if (revision < recorded) continue;
    const command = commandOf(step, claimRevision);
    const cause = step.kind === 'expire_file' ? expiryCause(dependencies.newUuid()) : { ...told.cause, actor: worker };
    const withClock = { ...dependencies, now: clock.now };
    const done = await recordJobProgress(withClock, command, { ...cause, timeoutMs }, known);
    if (isRefused(done)) throw new Error(`the story's ${step.kind} of ${token} was refused: ${done.refusal}`);
    known = done.loaded;
  }
  return Date.parse(clock.now());
}

const worker: Actor = { type: 'system', id: workerId };

const expiryCause = (commandId: string) => ({
  correlationId: commandId,
  causationId: commandId,
  actor: { type: 'system', id: 'file-expiry' } satisfies Actor,
});

const soundBytesPerSecond = 24_000;
const pictureBytesPerSecond: Record<Quality, number> = {
  best: 1_150_000,
  '2160': 2_250_000,
  '1440': 1_150_000,
  '1080': 560_000,
  '720': 310_000,
  '480': 140_000,
  '360': 85_000,
};

/** What a download of this wish would have left behind. */
function fileOf({ wish }: ScriptedDownload) {
  const { kind, options } = videoOf(wish);
  const output: Output = outputOf(kind, options);
  const { name, mime } = finishedFiles[output];
  const bytesPerSecond = output === 'mp4' ? pictureBytesPerSecond[options.quality] : soundBytesPerSecond;
  const sha256 = hash('sha256', `demo story: ${output} ${options.quality} ${wish.url}`);
  return { name, mime, sizeBytes: Math.round(wish.seconds * bytesPerSecond), sha256, durationSeconds: wish.seconds };
}
