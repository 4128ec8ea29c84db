import type { WaitingDocumentMail } from '../../projections/document-mails.ts';
import type { WaitingWarning } from '../../projections/usage-warnings.ts';
import { periodOfUsageStream, usageStream } from '../../src/domain/billing-period.ts';
import {
  type CorrectionRequests,
  evolveCorrectionRequests,
  newCorrectionRequests,
} from '../../src/domain/correction-requests.ts';
import type { KeyedDownload } from '../../src/domain/decide-usage.ts';
import { evolveDocumentMails, initialDocumentMails } from '../../src/domain/document-mails.ts';
import { evolveJob, initialJob, type Job } from '../../src/domain/download-job.ts';
import { jobStream } from '../../src/domain/download-job-events.ts';
import { evolveUsage } from '../../src/domain/evolve-usage.ts';
import { evolveMailRecord, type MailRecord, newMailRecord } from '../../src/domain/mail-record.ts';
import {
  parseAccountEvent,
  parseCorrectionEvent,
  parseInvoiceEvent,
  parseJobEvent,
  parseUsageEvent,
} from '../../src/domain/parse-event.ts';
import { owesInvoice, owesOpeningInvoice } from '../../src/domain/usage-periods.ts';
import { initialUsage, type UsageSnapshot } from '../../src/domain/usage-state.ts';
import type { RecordedEvent } from '../../src/ports/event-store.ts';

export interface CreditsRow {
  accountId: string;
  snapshot: UsageSnapshot;
  openingInvoiceDue: boolean;
  periodInvoiceDue: boolean;
}

export interface JobRow {
  accountId: string;
  queued: { token: string; stream: string; revision: number; platform: string; videoId: string; at: string };
  /** Cents of its charge; null for a credit. */
  overageCents: number | null;
  job: Job;
  revision: number;
  waitingSince: string;
  startedAt: string | null;
  finishedAt: string | null;
  file: { name: string; mime: string; sizeBytes: number; expiredAt: string | null } | null;
  failureReason: string | null;
}

/**
 * The read models `credits`, `idempotency_keys` and `jobs`, up to one point of the log. What their rows hold comes from the
 * functions that the projections use; the SQL that writes them does not run here.
 */
export class ReadModels {
  /** Commit position up to which every event is applied. */
  appliedUpTo = 0n;
  /** By usage stream, in the order of their periods. */
  readonly credits = new Map<string, CreditsRow>();
  /** By account and hash of the key. */
  readonly keyed = new Map<string, KeyedDownload>();
  /** By token. */
  readonly jobs = new Map<string, JobRow>();

  /** By the SHA-256 of the key. */
  readonly keys = new Map<string, { accountId: string; keyId: string; isRevoked: boolean }>();
  /** By account, of those whose own stream is there: true once it is closed. */
  readonly closed = new Map<string, boolean>();
  /** By stream. */
  readonly corrections = new Map<string, CorrectionRequests>();
  /** Positions in the log of those that were asked for, by their ids. */
  readonly askedAt = new Map<string, bigint>();
  /** By the tokens of their downloads. */
  readonly #overageCents = new Map<string, number>();
  /** By usage stream. */
  readonly #notices = new Map<string, MailRecord>();
  /** Those that name people to mail, by the id of their event; and whose mails are not recorded. */
  readonly #documents = new Map<string, Omit<WaitingDocumentMail, 'mail_id' | 'person_id'> & { time: string }>();
  #documentMails = initialDocumentMails;

  apply(event: RecordedEvent): void {
    if (event.stream.startsWith('usage-')) this.#applyUsage(event);
    else if (event.stream.startsWith('job-')) this.#applyJob(event);
    else if (event.stream.startsWith('invoices-')) this.#applyInvoice(event);
    else if (event.stream.startsWith('corrections-')) this.#applyCorrection(event);
    else if (event.stream.startsWith('account-')) this.#applyAccount(event);
    this.appliedUpTo = event.position;
  }

  newestOf(accountId: string): CreditsRow | undefined {
    return [...this.credits.values()].findLast((row) => row.accountId === accountId);
  }

  /** A closed period voids nothing, so its downloads count as confirmed. */
  keyedOf(accountId: string, keyHash: string): KeyedDownload | undefined {
    const row = this.keyed.get(`${accountId} ${keyHash}`);
    const usage = row && this.credits.get(row.stream)?.snapshot.usage;
    return row && { ...row, confirmed: row.confirmed || usage?.phase === 'closed' };
  }

  /** Notices without a mail, of thresholds that were reached at once the highest; and caps that were reached in an open period. */
  waitingWarnings(): WaitingWarning[] {
    const waiting = [...this.#notices].flatMap(([stream, { notices }]) =>
      [...notices.values()].filter(({ messageId }) => messageId === null).map((one) => ({ ...one, stream })),
    );
    type Waiting = (typeof waiting)[number];
    const thresholdOf = ({ notice }: Waiting) =>
      notice.type === 'UsageWarningReached'
        ? notice.data
        : { pool: undefined, threshold_percent: 0, limited_key_id: undefined };
    const isCovered = (one: Waiting) =>
      waiting.some(
        (other) =>
          other.stream === one.stream &&
          other.time === one.time &&
          thresholdOf(other).pool === thresholdOf(one).pool &&
          thresholdOf(other).limited_key_id === thresholdOf(one).limited_key_id &&
          thresholdOf(other).threshold_percent > thresholdOf(one).threshold_percent,
      );
    const isNews = ({ notice, stream }: Waiting) =>
      notice.type !== 'OverageCapReached' || this.credits.get(stream)?.snapshot.usage.phase === 'open';
    const placeOf = ({ time, stream, revision }: Waiting) => `${time} ${stream} ${String(revision).padStart(9)}`;
    return waiting
      .filter((one) => isNews(one) && !isCovered(one))
      .sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1))
      .map(({ eventId, stream }) => ({ mail_id: eventId, account_id: periodOfUsageStream(stream).accountId, stream }));
  }

  /** Documents come in the order of their times. */
  waitingDocumentMails(): WaitingDocumentMail[] {
    const documents = [...this.#documents.values()].sort((one, other) =>
      `${one.time} ${one.event_id}` < `${other.time} ${other.event_id}` ? -1 : 1,
    );
    return documents.flatMap(({ time: _time, ...document }) =>
      (this.#documentMails.get(document.event_id)?.waiting ?? []).toSorted().map((person_id) => ({
        ...document,
        person_id,
        mail_id: `${document.event_id}-${person_id}`,
      })),
    );
  }

  #applyUsage(recorded: RecordedEvent): void {
    const { event, id, metadata, stream, revision } = parseUsageEvent(recorded);
    const { accountId } = periodOfUsageStream(stream);
    const usage = evolveUsage(this.credits.get(stream)?.snapshot.usage ?? initialUsage, event);
    const snapshot = { stream, revision, lastHash: metadata.hash, lastTime: metadata.time, usage };
    const row = this.credits.get(stream) ?? { accountId, snapshot, openingInvoiceDue: false, periodInvoiceDue: false };
    if (event.type === 'UsagePeriodOpened') row.openingInvoiceDue = owesOpeningInvoice(event.data);
    if (event.type === 'UsagePeriodClosed') row.periodInvoiceDue = usage.phase !== 'absent' && owesInvoice(usage);
    this.credits.set(stream, { ...row, snapshot });
    const notices = this.#notices.get(stream) ?? newMailRecord();
    this.#notices.set(stream, evolveMailRecord(notices, event, { revision, id, time: metadata.time }));
    if (event.type === 'OverageCharged') this.#overageCents.set(event.data.token, event.data.cents);
    if (event.type === 'DownloadQueued') {
      const { token, idempotency, overage, platform, video_id: videoId } = event.data;
      const at = metadata.time;
      this.jobs.set(token, {
        accountId,
        queued: { token, stream, revision, platform, videoId, at },
        overageCents: this.#overageCents.get(token) ?? null,
        job: initialJob,
        revision: -1,
        waitingSince: at,
        startedAt: null,
        finishedAt: null,
        file: null,
        failureReason: null,
      });
      if (idempotency) {
        const { key_hash: keyHash, fingerprint } = idempotency;
        const newest = { token, overage, fingerprint, stream, revision, confirmed: false, voided: false };
        this.keyed.set(`${accountId} ${keyHash}`, newest);
      }
    } else if (event.type === 'DownloadConfirmed' || event.type === 'DownloadVoided') {
      const outcome = event.type === 'DownloadConfirmed' ? 'confirmed' : 'voided';
      for (const [name, row] of this.keyed)
        if (row.token === event.data.token) this.keyed.set(name, { ...row, [outcome]: true });
    }
  }

  #applyJob(recorded: RecordedEvent): void {
    const { event, metadata, revision } = parseJobEvent(recorded);
    const row = this.jobs.get(event.data.token);
    if (!row) throw new Error(`${jobStream(event.data.token)} has no row`);
    const { time } = metadata;
    const job = evolveJob(row.job, event, { revision, time });
    const hasEnded = job.status === 'done' || job.status === 'failed';
    const next = { ...row, job, revision, finishedAt: hasEnded ? (row.finishedAt ?? time) : null };
    if (event.type === 'JobReleased') next.waitingSince = event.data.not_before > time ? event.data.not_before : time;
    if (event.type === 'JobStarted') next.startedAt = time;
    if (event.type === 'JobFailed') next.failureReason = event.data.reason;
    if (event.type === 'JobCompleted') {
      const { file_name: name, file_mime: mime, file_size_bytes: sizeBytes } = event.data;
      next.file = { name, mime, sizeBytes, expiredAt: null };
    }
    if (event.type === 'FileExpired') next.file = next.file && { ...next.file, expiredAt: time };
    this.jobs.set(event.data.token, next);
  }

  #applyInvoice(recorded: RecordedEvent): void {
    const { event, id, revision, metadata } = parseInvoiceEvent(recorded);
    this.#documentMails = evolveDocumentMails(this.#documentMails, event, { id, revision });
    if (event.type !== 'DocumentMailed')
      this.#documents.set(id, { event_id: id, account_id: event.data.account_id, revision, time: metadata.time });
    if (event.type !== 'InvoiceIssued') return;
    const { account_id: accountId, period_start: start, covers } = event.data;
    const row = this.credits.get(usageStream(accountId, { start }));
    if (row) row[covers === 'opening' ? 'openingInvoiceDue' : 'periodInvoiceDue'] = false;
  }

  #applyCorrection(recorded: RecordedEvent): void {
    const { event, id, metadata } = parseCorrectionEvent(recorded);
    if (event.type === 'CorrectionAsked') this.askedAt.set(event.data.correction_id, recorded.position);
    const requests = this.corrections.get(recorded.stream) ?? newCorrectionRequests();
    this.corrections.set(recorded.stream, evolveCorrectionRequests(requests, event, { id, ...metadata }));
  }

  #applyAccount(recorded: RecordedEvent): void {
    const { event } = parseAccountEvent(recorded);
    if (event.type === 'ApiKeyIssued') {
      const { account_id: accountId, key_id: keyId, key_hash: keyHash } = event.data;
      this.keys.set(keyHash, { accountId, keyId, isRevoked: false });
    } else if (event.type === 'ApiKeyRevoked') {
      for (const key of this.keys.values()) if (key.keyId === event.data.key_id) key.isRevoked = true;
    } else if (event.type === 'AccountOpened') this.closed.set(event.data.account_id, false);
    else if (event.type === 'AccountClosed') {
      this.closed.set(event.data.account_id, true);
      for (const key of this.keys.values()) if (key.accountId === event.data.account_id) key.isRevoked = true;
    }
  }
}
