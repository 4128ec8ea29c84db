import type { JobEvent } from '../domain/download-job-events.ts';
import type { AppendOutcome } from './event-store.ts';
import type { TableWithMacs } from './row-macs.ts';
import type { RemovedFiles } from './files.ts';

/**
 * Who is told what happens, as it happens. The inside counts nothing by itself: `main/` hands these in where somebody wants
 * to know, and each call costs no more than a counter.
 */

/** One statement that decided whether requests are let in (`projections/admission/admission.ts`). */
export interface AdmissionObserver {
  batchDecided(batch: { admitted: number; rateLimited: number; unknownKeys: number }): void;
}

export interface RequestObserver {
  requestEnded(request: {
    method: string;
    /** The path as it was registered, never as it was asked for; undefined for one that is not known. */
    route: string | undefined;
    /** Undefined where the connection ended before the answer did. */
    status: number | undefined;
    /** Code of the error that was answered, from the closed list of `http/errors.ts`. */
    errorCode: string | undefined;
    durationSeconds: number;
  }): void;
  /** What could not be parsed as HTTP, and was answered all the same. */
  brokenRequestAnswered(answer: { status: number; errorCode: string }): void;
}

export interface AppendObserver {
  /** @param outcome `failed`: the log would never take it, or this process ended before the outcome was known */
  appendEnded(outcome: AppendOutcome | 'failed', durationSeconds: number): void;
  appendResent(): void;
}

export interface ProjectionObserver {
  batchApplied(projection: string, events: number): void;
}

export interface RowObserver {
  /** A row was to be gone on from, and its MAC does not verify. */
  rowNotBelieved(table: TableWithMacs): void;
}

export interface JobObserver {
  /** A step of a job's life is in the log, put there by this process. */
  stepRecorded(event: JobEvent): void;
  /** The sweeper has ended a claim whose worker is gone. */
  claimExpired(): void;
}

/** What became of a charge whose client was told that nothing is charged, while nobody knew. */
export const resolutions = ['not_stored', 'voided', 'confirmed'] as const;

export interface VoidObserver {
  unknownOutcomeResolved(became: (typeof resolutions)[number]): void;
}

/** Of what a worker takes only so many downloads at a time. */
export const quotaNames = ['account', 'platform'] as const;
export type QuotaName = (typeof quotaNames)[number];

export interface DownloadObserver {
  downloadStarted(): void;
  downloadEnded(): void;
  /** There is no place for it now, by the quota of its account or of its platform. */
  jobPostponed(quota: QuotaName): void;
}

/** Whose files are removed: of downloads whose links are over, or what attempts have left of downloads that failed. */
export const removals = ['expired', 'failed'] as const;

export interface FileObserver {
  filesRemoved(of: (typeof removals)[number], removed: RemovedFiles): void;
}

/** Why a child process is no more; `exited` is the only one in which it ended by itself. */
export const childEndings = [
  'exited',
  'not_started',
  'aborted',
  'timed_out',
  'directory_full',
  'too_many_files',
  'too_many_processes',
  'memory_full',
  'output_flood',
] as const;
export type ChildEnding = (typeof childEndings)[number];

export interface ChildObserver {
  childStarted(): void;
  childEnded(ending: ChildEnding): void;
}

/** Why nothing was connected to: not a name or address, another port than the web's, or an address that is not public. */
export const destinationRefusals = ['malformed', 'port', 'not_public'] as const;
export type DestinationRefusal = (typeof destinationRefusals)[number];

/** Why the proxy itself says no, whatever the destination. */
export const proxyRefusals = ['credentials', 'request', 'bytes', 'connections'] as const;
export type ProxyRefusal = (typeof proxyRefusals)[number];

/** The traffic of child processes, all of which goes through one proxy. */
export interface EgressObserver {
  /** A destination, or a request, was refused. */
  egressRefused(reason: DestinationRefusal | ProxyRefusal): void;
  egressOpened(): void;
  /** @param bytes that the connection has carried in both directions */
  egressClosed(bytes: number): void;
}

export interface MailObserver {
  /** A mail server has taken a warning. */
  mailSent(): void;
  mailFailed(reason: 'refused' | 'away' | 'other'): void;
}
