import { Histogram, type Registry } from 'prom-client';
import { releaseReasons } from '../../domain/download-job-events.ts';
import { failureReasonNames } from '../../domain/failure-reasons.ts';
import { eventTypes } from '../../domain/parse-event.ts';
import { centsOf } from '../../domain/usage-events.ts';
import {
  type AdmissionObserver,
  type AppendedEvent,
  type AppendObserver,
  type FileObserver,
  type JobObserver,
  type MailObserver,
  mailSubjects,
  type ProjectionObserver,
  removals,
  type RequestObserver,
  resolutions,
  type RowObserver,
  type VoidObserver,
} from '../../ports/observers.ts';
import { tablesWithMacs } from '../../ports/row-macs.ts';
import { counter } from './counter.ts';

/**
 * Counts events as they happen. Labels come from closed sets: no account, no key, no URL.
 */

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
const appendSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3, 10, 30];

/** @param errorCodes the closed list of error codes */
export function observeRequests(registers: Registry[], errorCodes: readonly string[]): RequestObserver {
  const requests = counter(registers, 'reeltally_requests_total', {
    help: 'Requests that have ended; status "cut": the connection ended before the answer',
    labels: ['method', 'route', 'status'],
  });
  const durations = new Histogram({
    name: 'reeltally_request_duration_seconds',
    help: 'From the head of a request to the end of its answer',
    labelNames: ['route'],
    buckets: requestSeconds,
    registers,
  });
  const refusals = counter(registers, 'reeltally_refusals_total', {
    help: 'Requests answered with an error, by its code',
    known: { code: errorCodes },
  });
  const unknown = { method: 'other', route: 'unknown' };
  return {
    requestEnded: ({ method, route, status, errorCode, durationSeconds }) => {
      const named = route === undefined ? unknown : { method, route };
      requests.inc({ ...named, status: status ?? 'cut' });
      durations.observe({ route: named.route }, durationSeconds);
      if (errorCode !== undefined) refusals.inc({ code: errorCode });
    },
    brokenRequestAnswered: ({ status, errorCode }) => {
      requests.inc({ ...unknown, status });
      if (errorCode !== undefined) refusals.inc({ code: errorCode });
    },
  };
}

export function observeAdmissions(registers: Registry[]): AdmissionObserver {
  const admissions = counter(registers, 'reeltally_admissions_total', {
    help: 'Requests with a key in the right form, by outcome',
    known: { outcome: ['admitted', 'rate_limited', 'unknown_key'] },
  });
  const batches = new Histogram({
    name: 'reeltally_admission_batch_requests',
    help: 'Requests in one admission statement',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    registers,
  });
  return {
    batchDecided: ({ admitted, rateLimited, unknownKeys }) => {
      batches.observe(admitted + rateLimited + unknownKeys);
      if (admitted > 0) admissions.inc({ outcome: 'admitted' }, admitted);
      if (rateLimited > 0) admissions.inc({ outcome: 'rate_limited' }, rateLimited);
      if (unknownKeys > 0) admissions.inc({ outcome: 'unknown_key' }, unknownKeys);
    },
  };
}

/** @returns a function to call for each connection that was closed without being served */
export function observeConnections(registers: Registry[]): () => void {
  const dropped = counter(registers, 'reeltally_connections_dropped_total', {
    help: 'Connections closed unserved because there were as many as the limit of open files allows',
  });
  return () => dropped.inc();
}

/** @returns a function to call for each event that a subscription skips */
export function observeForeignEvents(registers: Registry[]): () => void {
  const skipped = counter(registers, 'reeltally_foreign_events_skipped_total', {
    help: 'Events skipped by a subscription because their stream is not one of ours, though its name begins like one',
  });
  return () => skipped.inc();
}

export function observeRows(registers: Registry[]): RowObserver {
  const rows = counter(registers, 'reeltally_rows_not_believed_total', {
    help: 'Rows of Postgres for a decision whose MAC does not verify, or that the log contradicts',
    known: { table: tablesWithMacs },
  });
  return { rowNotBelieved: (table) => rows.inc({ table }) };
}

export function observeAppends(registers: Registry[]): AppendObserver {
  const appends = counter(registers, 'reeltally_appends_total', {
    help: 'Appends to the log whose outcome is known, by outcome',
    known: { outcome: ['stored', 'conflict', 'not_sent', 'failed'] },
  });
  const durations = new Histogram({
    name: 'reeltally_append_duration_seconds',
    help: 'From the call of an append until its outcome is known',
    buckets: appendSeconds,
    registers,
  });
  const resends = counter(registers, 'reeltally_append_resends_total', {
    help: 'Identical appends sent again because the outcome was not known',
  });
  const countStored = countStoredEvents(registers);
  return {
    appendEnded: (outcome, durationSeconds, events) => {
      appends.inc({ outcome });
      durations.observe(durationSeconds);
      if (outcome === 'stored') countStored(events);
    },
    appendResent: () => resends.inc(),
  };
}

/** By type, so that charges, corrections and invoices can be watched as they happen. The ledger has the sums that count. */
function countStoredEvents(registers: Registry[]): (events: readonly AppendedEvent[]) => void {
  const stored = counter(registers, 'reeltally_events_stored_total', {
    help: 'Events that this process has stored, by type',
    known: { type: eventTypes },
  });
  const overage = counter(registers, 'reeltally_overage_cents_total', {
    help: 'Cents of overage that this process has charged, or given back before the books were closed',
    known: { kind: ['charged', 'given_back'] },
  });
  return (events) => {
    for (const event of events) {
      stored.inc({ type: event.type });
      const cents = centsOf(event) ?? 0;
      if (cents !== 0) overage.inc({ kind: cents > 0 ? 'charged' : 'given_back' }, Math.abs(cents));
    }
  };
}

export function observeProjections(registers: Registry[], projections: readonly string[]): ProjectionObserver {
  const events = counter(registers, 'reeltally_projected_events_total', {
    help: 'Events applied to a read model by this process',
    known: { projection: projections },
  });
  return { batchApplied: (projection, count) => events.inc({ projection }, count) };
}

export function observeJobs(registers: Registry[]): JobObserver {
  const claimed = counter(registers, 'reeltally_jobs_claimed_total', {
    help: 'Attempts begun by this process',
  });
  const finished = counter(registers, 'reeltally_jobs_finished_total', {
    help: 'Jobs ended by this process, by outcome and by the reason of a failure',
    labels: ['outcome', 'reason'],
  });
  const released = counter(registers, 'reeltally_jobs_released_total', {
    help: 'Jobs queued again by this process, by reason',
    known: { reason: releaseReasons },
  });
  const expired = counter(registers, 'reeltally_claims_expired_total', {
    help: 'Claims that the sweeper ended because their worker was lost or over its time',
  });
  const filesExpired = counter(registers, 'reeltally_files_expired_total', {
    help: 'Finished files that this process expired',
  });
  finished.inc({ outcome: 'done', reason: 'none' }, 0);
  for (const reason of failureReasonNames) finished.inc({ outcome: 'failed', reason }, 0);
  return {
    stepRecorded: (event) => {
      if (event.type === 'JobClaimed') claimed.inc();
      else if (event.type === 'JobCompleted') finished.inc({ outcome: 'done', reason: 'none' });
      else if (event.type === 'JobFailed') finished.inc({ outcome: 'failed', reason: event.data.reason });
      else if (event.type === 'JobReleased') released.inc({ reason: event.data.reason });
      else if (event.type === 'FileExpired') filesExpired.inc();
    },
    claimExpired: () => expired.inc(),
  };
}

export function observeVoids(registers: Registry[]): VoidObserver {
  const resolved = counter(registers, 'reeltally_unknown_outcomes_resolved_total', {
    help: 'Charges of pending voids by outcome',
    known: { became: resolutions },
  });
  return { unknownOutcomeResolved: (became) => resolved.inc({ became }) };
}

export function observeFiles(registers: Registry[]): FileObserver {
  const known = { of: removals };
  const files = counter(registers, 'reeltally_files_removed_total', {
    help: 'Files removed by this process: of downloads whose links have expired, or left by attempts of failed downloads',
    known,
  });
  const bytes = counter(registers, 'reeltally_file_bytes_removed_total', {
    help: 'Bytes of the files removed by this process',
    known,
  });
  return {
    filesRemoved: (of, removed) => {
      files.inc({ of }, removed.files);
      bytes.inc({ of }, removed.bytes);
    },
  };
}

export function observeMails(registers: Registry[]): MailObserver {
  const sent = counter(registers, 'reeltally_mails_total', {
    help: 'Mails that a mail server has accepted from this process, by what they are about',
    known: { about: mailSubjects },
  });
  const failures = counter(registers, 'reeltally_mail_failures_total', {
    help: 'Failed attempts to send a mail, which are repeated, by what it is about and reason',
    labels: ['about', 'reason'],
  });
  for (const about of mailSubjects)
    for (const reason of ['refused', 'away', 'other']) failures.inc({ about, reason }, 0);
  return { mailSent: (about) => sent.inc({ about }), mailFailed: (about, reason) => failures.inc({ about, reason }) };
}
