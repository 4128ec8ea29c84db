import type { JobEvent } from '../domain/download-job-events.ts';
import type { AppendOutcome, EventToAppend } from './event-store.ts';
import type { RemovedFiles } from './files.ts';
import type { TableWithMacs } from './row-macs.ts';

/**
 * Observers of what happens, for metrics. The inside counts nothing by itself: `main/` hands observers in where metrics are
 * wanted, and each call costs no more than a counter.
 */

/** One statement that admitted or refused requests (`projections/admission/admission.ts`). */
export interface AdmissionObserver {
  batchDecided(batch: { admitted: number; rateLimited: number; unknownKeys: number }): void;
}

export interface RequestObserver {
  requestEnded(request: {
    method: string;
    /** The registered path, never the requested one; undefined for an unknown path. */
    route: string | undefined;
    /** Undefined if the connection ended before the response did. */
    status: number | undefined;
    /** Error code of the response, from the closed list of `http/errors.ts`. */
    errorCode: string | undefined;
    /** The API key that it was let in with, or whose hourly limit refused it (`rate_limited`). */
    key: { accountId: string; keyId: string } | undefined;
    durationSeconds: number;
  }): void;
  /** A request that could not be parsed as HTTP was answered all the same. */
  brokenRequestAnswered(answer: { status: number; errorCode: string | undefined }): void;
}

export type AppendedEvent = Pick<EventToAppend, 'type' | 'data'>;

export interface AppendObserver {
  /**
   * @param outcome `failed`: the log would never take it, or this process ended before the outcome was known
   * @param events of the append, stored or not
   */
  appendEnded(outcome: AppendOutcome | 'failed', durationSeconds: number, events: readonly AppendedEvent[]): void;
  appendResent(): void;
}

export interface ProjectionObserver {
  batchApplied(projection: string, events: number): void;
}

export interface RowObserver {
  /** A decision was to start from a row whose MAC does not verify, or that the log contradicts. */
  rowNotBelieved(table: TableWithMacs): void;
}

export interface JobObserver {
  /** This process has appended a step of a job. */
  stepRecorded(event: JobEvent): void;
  /** The sweeper has ended a claim whose worker is gone. */
  claimExpired(): void;
}

/** Results of resolving a pending void: the charge was not stored, was voided, or stays because a client confirmed it. */
export const resolutions = ['not_stored', 'voided', 'confirmed'] as const;

export interface VoidObserver {
  unknownOutcomeResolved(became: (typeof resolutions)[number]): void;
}

/** A worker limits its concurrent downloads per account and per platform. */
export const quotaNames = ['account', 'platform'] as const;
export type QuotaName = (typeof quotaNames)[number];

export interface DownloadObserver {
  downloadStarted(): void;
  /**
   * A job that no worker held before is claimed.
   *
   * @param waitedSeconds since it was queued
   * @param wasPostponed it was queued before its account or its platform was last seen at its limit
   */
  firstClaimed(waitedSeconds: number, wasPostponed: boolean): void;
  /** This worker has recorded a step of a job of that platform. */
  stepOfPlatform(platform: string, event: JobEvent): void;
  downloadEnded(): void;
  /** A free slot found jobs that wait because their account or their platform is at its limit. */
  jobPostponed(quota: QuotaName): void;
}

/** `expired`: files of downloads whose links have ended. `failed`: remains of failed downloads. */
export const removals = ['expired', 'failed'] as const;

export interface FileObserver {
  filesRemoved(of: (typeof removals)[number], removed: RemovedFiles): void;
}

/** How a child process ended. Only `exited` means that it ended by itself; `cut_off`: the process that forked it has ended. */
export const childEndings = [
  'exited',
  'not_started',
  'cut_off',
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

/** Why a destination was refused: neither a name nor an address, not a port of the web, or not a public address. */
export const destinationRefusals = ['malformed', 'port', 'not_public'] as const;
export type DestinationRefusal = (typeof destinationRefusals)[number];

/** Why the proxy refused a request, whatever its destination. */
export const proxyRefusals = ['credentials', 'request', 'bytes', 'connections'] as const;
export type ProxyRefusal = (typeof proxyRefusals)[number];

/** The traffic of child processes, which all goes through one proxy. */
export interface EgressObserver {
  /** A destination, or a request, was refused. */
  egressRefused(reason: DestinationRefusal | ProxyRefusal): void;
  egressOpened(): void;
  /** @param bytes carried in both directions */
  egressClosed(bytes: number): void;
}

/** What a mail is about: a pool that runs out or a cap that is reached, or an invoice or a credit note. */
export const mailSubjects = ['warning', 'document'] as const;
export type MailSubject = (typeof mailSubjects)[number];

export interface MailObserver {
  /** A mail server has taken a mail. */
  mailSent(about: MailSubject): void;
  mailFailed(about: MailSubject, reason: 'refused' | 'away' | 'other'): void;
}
