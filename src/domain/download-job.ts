import { type JobEvent, titleField } from './download-job-events.ts';
import { type AttemptFailure, lostLease, retriedOrFailed } from './job-retries.ts';
import { refuse, type Refused } from './refusals.ts';

export const jobStatuses = ['queued', 'claimed', 'running', 'done', 'failed'] as const;

/**
 * A download job, from its own stream:
 *
 *     queued ──claim──▶ claimed ──start──▶ running ──▶ done | failed
 *        ▲                 │                  │
 *        └──── release (worker shutdown, lease expired, retryable failure with attempts left) ─┘
 *
 * A job that is queued, claimed or running fails (`voided`) when its charge is voided. A job that is done stays done; its file
 * expires.
 *
 * A job without a stream is queued. A worker's command names the claim that it acts for, and each append names the revision that
 * it was decided on: a worker whose claim has ended can append nothing more.
 */
export interface Job {
  status: (typeof jobStatuses)[number];
  /** Number of claims so far, without those that a shutdown released. */
  attempts: number;
  /** Its holder while it is claimed or running. */
  claim: { workerId: string; revision: number; claimedAt: string } | null;
  /** The earliest instant of the next claim, while it is queued again. */
  notBefore: string | null;
  /** The file of a job that is done. Its key has the revision of the claim that made it. */
  file: { claimRevision: number; completedAt: string; expired: boolean } | null;
  /** The formats of earlier attempts that failed their verification, each as often as it did. */
  tried: readonly string[];
}

export const initialJob: Job = { status: 'queued', attempts: 0, claim: null, notBefore: null, file: null, tried: [] };

/**
 * @param at the event's revision and its own time
 */
export function evolveJob(state: Job, event: JobEvent, at: { revision: number; time: string }): Job {
  switch (event.type) {
    case 'JobClaimed':
      return {
        ...state,
        status: 'claimed',
        attempts: event.data.attempt,
        claim: { workerId: event.data.worker_id, revision: at.revision, claimedAt: at.time },
        notBefore: null,
      };
    case 'JobStarted':
      return { ...state, status: 'running' };
    case 'JobReleased': {
      const uncounted = event.data.reason === 'shutdown' ? 1 : 0;
      return {
        ...state,
        status: 'queued',
        attempts: state.attempts - uncounted,
        claim: null,
        notBefore: event.data.not_before,
        tried: [...state.tried, ...(event.data.tried ?? [])],
      };
    }
    case 'JobCompleted': {
      const file = { claimRevision: event.data.claim_revision, completedAt: at.time, expired: false };
      return { ...state, status: 'done', claim: null, file };
    }
    case 'JobFailed':
      return { ...state, status: 'failed', claim: null };
    case 'FileExpired':
      return { ...state, file: state.file && { ...state.file, expired: true } };
    default:
      return event satisfies never;
  }
}

export type JobCommand =
  | { kind: 'claim'; token: string; workerId: string; accountId: string; usageStream: string; usageRevision: number }
  | { kind: 'start'; token: string; claim: ClaimProof }
  | { kind: 'complete'; token: string; claim: ClaimProof; file: FinishedFile }
  | ({ kind: 'give_up'; token: string; claim: ClaimProof } & AttemptFailure)
  | { kind: 'shut_down'; token: string; claim: ClaimProof }
  | { kind: 'expire_lease'; token: string; claim: ClaimProof }
  /** Its charge was voided: a worker that holds it can append nothing more. */
  | { kind: 'void'; token: string }
  /** Expires the file if it was finished at `completedUntil` or before. */
  | { kind: 'expire_file'; token: string; completedUntil: string };

/** Identifies the claim that a command acts for. The command is refused once that claim has ended. */
export interface ClaimProof {
  workerId: string;
  revision: number;
}

interface FinishedFile {
  name: string;
  mime: string;
  sizeBytes: number;
  sha256: string;
  durationSeconds: number;
  /** As the platform gave it. */
  title?: string | undefined;
  /** The chosen formats and why, for people. */
  detail?: string | undefined;
}

/** @param now instant of the decision, UTC ISO-8601 */
export function decideJob(state: Job, command: JobCommand, now: string): JobEvent[] | Refused {
  if (command.kind === 'claim') return claimJob(state, command, now);
  if (command.kind === 'void') return voidJob(state, command.token);
  if (command.kind === 'expire_file') return expireFile(state, command);
  const { token, claim } = command;
  if (state.claim?.workerId !== claim.workerId || state.claim.revision !== claim.revision) return refuse('claim_lost');
  switch (command.kind) {
    case 'start':
      if (state.status === 'running') return [];
      return [{ type: 'JobStarted', data: { token, worker_id: claim.workerId } }];
    case 'complete':
      return [completed(command)];
    case 'give_up':
      return [retriedOrFailed(state.attempts, command, now)];
    case 'expire_lease':
      return [retriedOrFailed(state.attempts, { token, ...lostLease }, now)];
    case 'shut_down':
      return [{ type: 'JobReleased', data: { token, reason: 'shutdown', not_before: now } }];
  }
}

function claimJob(state: Job, command: Extract<JobCommand, { kind: 'claim' }>, now: string): JobEvent[] | Refused {
  if (state.status !== 'queued') return refuse('job_not_claimable');
  if (state.notBefore !== null && now < state.notBefore) return refuse('job_not_claimable');
  return [
    {
      type: 'JobClaimed',
      data: {
        token: command.token,
        account_id: command.accountId,
        worker_id: command.workerId,
        attempt: state.attempts + 1,
        usage_stream: command.usageStream,
        usage_revision: command.usageRevision,
      },
    },
  ];
}

function voidJob({ status }: Job, token: string): JobEvent[] {
  if (status === 'done' || status === 'failed') return [];
  // Not the service's fault: the void has given the charge back already.
  return [{ type: 'JobFailed', data: { token, reason: 'voided', fault: 'video' } }];
}

function expireFile(
  { file }: Job,
  { token, completedUntil }: Extract<JobCommand, { kind: 'expire_file' }>,
): JobEvent[] {
  if (!file || file.expired || file.completedAt > completedUntil) return [];
  return [{ type: 'FileExpired', data: { token, claim_revision: file.claimRevision } }];
}

function completed({ token, claim, file }: Extract<JobCommand, { kind: 'complete' }>): JobEvent {
  return {
    type: 'JobCompleted',
    data: {
      token,
      claim_revision: claim.revision,
      file_name: file.name,
      file_mime: file.mime,
      file_size_bytes: file.sizeBytes,
      file_sha256: file.sha256,
      duration_seconds: file.durationSeconds,
      ...titleField(file.title),
      ...(file.detail && { detail: file.detail }),
    },
  };
}
