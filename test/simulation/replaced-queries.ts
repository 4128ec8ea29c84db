import type * as ApiKeys from '../../projections/api-keys.ts';
import type * as Corrections from '../../projections/corrections.ts';
import type * as Credits from '../../projections/credits.ts';
import type * as DocumentMails from '../../projections/document-mails.ts';
import type * as Checkpoints from '../../projections/runner/checkpoints.ts';
import type * as Resume from '../../projections/runner/resume.ts';
import type * as UsageWarnings from '../../projections/usage-warnings.ts';
import type * as DuePeriods from '../../projections/work-lists/due-periods.ts';
import type * as JobsInTurn from '../../projections/work-lists/jobs-in-turn.ts';
import type * as KeptFiles from '../../projections/work-lists/kept-files.ts';
import type * as MailClaims from '../../projections/work-lists/mail-claims.ts';
import type * as ClosingGate from '../../projections/work-lists/pending-void-gate.ts';
import type * as ServiceFailures from '../../projections/work-lists/service-failures.ts';
import type * as UnfinishedJobs from '../../projections/work-lists/unfinished-jobs.ts';
import { until } from '../../src/async/until.ts';
import type { CorrectionRequest } from '../../src/domain/correction-requests.ts';
import { isLastEnded } from '../../src/domain/usage-periods.ts';
import type { Turn, TurnWanted } from '../../src/ports/job-turns.ts';
import type { Postgres } from './postgres.ts';
import type { CreditsRow, JobRow } from './read-models.ts';

/**
 * The queries of the dispatcher, on tables in memory in place of SQL: `module-hooks.ts` loads this file in place of the modules
 * in projections that have these names. They are hints to the service, which decides on the log alone.
 */

/** The service passes on what it was given as its pool. */
const on = (pool: unknown) => pool as Pick<Postgres, 'statement'>;

const periodOf = ({ accountId, snapshot: { stream } }: CreditsRow) => ({ account_id: accountId, stream });

/** By an instant of their period, then by account. */
function rowsOf(
  { readModels }: Postgres,
  { except, by }: { except: readonly string[]; by: 'start' | 'end' },
): CreditsRow[] {
  const rows = [...readModels.credits.values()].filter(({ snapshot }) => !except.includes(snapshot.stream));
  const placeOf = (row: CreditsRow) => `${usageOf(row).period[by]} ${row.accountId}`;
  return rows.sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
}

const usageOf = ({ snapshot: { usage } }: CreditsRow) => {
  if (usage.phase === 'absent') throw new Error('a row has no usage');
  return usage;
};

const hasNext = (postgres: Postgres, row: CreditsRow) =>
  [...postgres.readModels.credits.values()].some(
    (other) => other.accountId === row.accountId && usageOf(other).period.start === usageOf(row).period.end,
  );

export const readCredits: typeof Credits.readCredits = (pool, stream) =>
  on(pool).statement((postgres) => postgres.believed(postgres.readModels.credits.get(stream)?.snapshot));

export const readNewestCredits: typeof Credits.readNewestCredits = (pool, accountId) =>
  on(pool).statement((postgres) => postgres.believed(postgres.readModels.newestOf(accountId)?.snapshot));

export const listPeriodsToRollOver: typeof DuePeriods.listPeriodsToRollOver = (pool, { now, except, limit }) =>
  on(pool).statement((postgres) => {
    const isDue = (row: CreditsRow) => {
      const { phase, period } = usageOf(row);
      return phase !== 'closed' && period.end <= now && (phase === 'open' || !(hasNext(postgres, row) || isLast(row)));
    };
    return rowsOf(postgres, { except, by: 'end' }).filter(isDue).slice(0, limit).map(periodOf);
  });

export const listPeriodsToClose: typeof DuePeriods.listPeriodsToClose = (pool, { endedBefore, except, limit }) =>
  on(pool).statement((postgres) => {
    const isDone = (row: CreditsRow) =>
      usageOf(row).phase === 'closed' && !row.openingInvoiceDue && !row.periodInvoiceDue;
    const isDue = (row: CreditsRow) => {
      const { phase, period } = usageOf(row);
      const earlier = [...postgres.readModels.credits.values()].filter(
        (other) => other.accountId === row.accountId && usageOf(other).period.start < period.start,
      );
      const isOver =
        (period.end <= endedBefore && hasNext(postgres, row)) || (isLast(row) && !isClosingOpen(postgres, row));
      return phase === 'ended' && isOver && !row.openingInvoiceDue && earlier.every(isDone);
    };
    return rowsOf(postgres, { except, by: 'end' }).filter(isDue).slice(0, limit).map(periodOf);
  });

const isLast = (row: CreditsRow) => isLastEnded(usageOf(row));

const isClosingOpen = ({ readModels }: Postgres, { accountId }: CreditsRow) =>
  readModels.closed.get(accountId) === false;

export const listAccountsToClose: typeof DuePeriods.listAccountsToClose = (pool, { except, limit }) =>
  on(pool).statement((postgres) =>
    rowsOf(postgres, { except, by: 'start' })
      .filter((row) => isLast(row) && usageOf(row).phase === 'ended' && isClosingOpen(postgres, row))
      .slice(0, limit)
      .map(periodOf),
  );

export const listInvoicesDue: typeof DuePeriods.listInvoicesDue = (pool, { except, limit }) =>
  on(pool).statement((postgres) =>
    rowsOf(postgres, { except, by: 'start' })
      .filter((row) => row.openingInvoiceDue || row.periodInvoiceDue)
      .slice(0, limit)
      .map((row) => ({
        ...periodOf(row),
        opening_invoice_due: row.openingInvoiceDue,
        period_invoice_due: row.periodInvoiceDue,
      })),
  );

export const beginClosing: typeof ClosingGate.beginClosing = (pool, stream) =>
  on(pool).statement(({ pendingVoids, closings }) => {
    if ([...pendingVoids.values()].some(({ append }) => append.stream === stream)) return false;
    closings.add(stream);
    return true;
  });

export const listWaitingCorrections: typeof Corrections.listWaitingCorrections = (
  pool,
  { status, except = [], limit },
) =>
  on(pool).statement(({ readModels }) => {
    const placeOf = ({ correctionId }: CorrectionRequest) => readModels.askedAt.get(correctionId) ?? 0n;
    const waiting = [...readModels.corrections.values()]
      .flatMap((requests) => [...requests.values()])
      .filter((one) => one.status === status && !except.includes(one.correctionId))
      .sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
    // The service asks for nothing else of the rows.
    const row = ({ correctionId, accountId }: CorrectionRequest) =>
      ({ correction_id: correctionId, account_id: accountId }) as Corrections.CorrectionRow;
    return waiting.slice(0, limit).map(row);
  });

const firstMails = <Row extends { mail_id: string }>(rows: readonly Row[], except: readonly string[], limit: number) =>
  rows.filter((one) => !except.includes(one.mail_id)).slice(0, limit);

export const listWaitingWarnings: typeof UsageWarnings.listWaitingWarnings = (pool, { except, limit }) =>
  on(pool).statement(({ readModels }) => firstMails(readModels.waitingWarnings(), except, limit));

export const listWaitingDocumentMails: typeof DocumentMails.listWaitingDocumentMails = (pool, { except, limit }) =>
  on(pool).statement(({ readModels }) => firstMails(readModels.waitingDocumentMails(), except, limit));

export const claimMail: typeof MailClaims.claimMail = (pool, mailId, { by, staleSeconds }) =>
  on(pool).statement(({ mailClaims }) => {
    const claim = mailClaims.get(mailId);
    const isFree = !claim || claim.by === by || claim.isTaken || performance.now() - claim.atMs > staleSeconds * 1_000;
    if (!isFree) return undefined;
    const taken = claim?.isTaken ?? false;
    mailClaims.set(mailId, { by, atMs: performance.now(), isTaken: taken });
    return { taken };
  });

export const noteTaken: typeof MailClaims.noteTaken = (pool, mailId) =>
  on(pool).statement(({ mailClaims }) => {
    const claim = mailClaims.get(mailId);
    if (claim) claim.isTaken = true;
  });

export const forgetClaim: typeof MailClaims.forgetClaim = (pool, mailId) =>
  on(pool).statement(({ mailClaims }) => {
    mailClaims.delete(mailId);
  });

export const listFilesToExpire: typeof KeptFiles.listFilesToExpire = (pool, { completedUntil, limit }) =>
  on(pool).statement(({ readModels }) =>
    [...readModels.jobs.values()]
      .filter(({ file, finishedAt }) => file && !file.expiredAt && finishedAt && finishedAt <= completedUntil)
      .sort((one, other) => ((one.finishedAt ?? '') < (other.finishedAt ?? '') ? -1 : 1))
      .slice(0, limit)
      .map(({ queued }) => queued.token),
  );

export const readEndedJobs: typeof KeptFiles.readEndedJobs = (pool, tokens) =>
  on(pool).statement(({ readModels }) =>
    tokens.flatMap((token) => {
      const { job, finishedAt = null, file } = readModels.jobs.get(token) ?? {};
      const status = job?.status;
      if (finishedAt === null || (status !== 'done' && status !== 'failed')) return [];
      return [{ token, status, finished_at: finishedAt, file_expired_at: file?.expiredAt ?? null }];
    }),
  );

/** It asks less often than the real one. */
export const waitForKey: typeof ApiKeys.waitForKey = (pool, keyId, { revoked, timeoutMs }) => {
  const isSeen = ({ readModels }: Postgres) =>
    [...readModels.keys.values()].some((key) => key.keyId === keyId && key.isRevoked === revoked);
  return until(() => on(pool).statement(isSeen), { limitMs: timeoutMs, pollMs: 500 });
};

export const noteServiceFailures: typeof ServiceFailures.noteServiceFailures = (pool, tokens) =>
  on(pool).statement(({ serviceFailures }) => {
    for (const token of tokens) serviceFailures.add(token);
  });

export const listServiceFailures: typeof ServiceFailures.listServiceFailures = (pool, { except, limit }) =>
  on(pool).statement(({ serviceFailures }) =>
    [...serviceFailures].filter((token) => !except.includes(token)).slice(0, limit),
  );

export const forgetServiceFailure: typeof ServiceFailures.forgetServiceFailure = (pool, token) =>
  on(pool).statement(({ serviceFailures }) => {
    serviceFailures.delete(token);
  });

export { checkpointAfter, dispatchCheckpoint } from '../../projections/runner/checkpoints.ts';

export const writeCheckpoint: typeof Checkpoints.writeCheckpoint = (pool, name, checkpoint) =>
  on(pool).statement(({ checkpoints }) => {
    checkpoints.set(name, checkpoint);
  });

/** The log is never replaced by an older one here. */
export const resume: typeof Resume.resume = ({ pool }, name) =>
  on(pool).statement(({ checkpoints }) => {
    const checkpoint = checkpoints.get(name);
    return { checkpoint, position: checkpoint?.position };
  });

const secondsSince = (since: string, now: string) => (Date.parse(now) - Date.parse(since)) / 1_000;

export const listClaimedJobs: typeof UnfinishedJobs.listClaimedJobs = (pool, now) =>
  on(pool).statement(({ readModels, heartbeats }) =>
    [...readModels.jobs.values()].flatMap(({ queued, job: { status, claim } }) => {
      if (!claim || (status !== 'claimed' && status !== 'running')) return [];
      const beatenMs = heartbeats.get(claim.workerId);
      return {
        token: queued.token,
        worker_id: claim.workerId,
        claim_revision: claim.revision,
        quiet_seconds: beatenMs === undefined ? null : (performance.now() - beatenMs) / 1_000,
        claimed_seconds: secondsSince(claim.claimedAt, now),
      };
    }),
  );

export const listWaitingJobs: typeof UnfinishedJobs.listWaitingJobs = (pool, wanted) =>
  on(pool).statement(({ readModels }) => {
    const rows = [...readModels.jobs.values()];
    const held = rows.filter(({ job }) => job.status === 'claimed' || job.status === 'running');
    const isFull = ({ accountId }: JobRow) =>
      held.filter((row) => row.accountId === accountId).length >= wanted.maxJobsPerAccount;
    return rows
      .filter((row) => row.job.status === 'queued' && !isFull(row))
      .map(({ queued, revision, waitingSince }) => ({
        token: queued.token,
        usage_stream: queued.stream,
        usage_revision: queued.revision,
        revision,
        waiting_seconds: secondsSince(waitingSince, wanted.now),
      }))
      .filter(({ waiting_seconds: seconds }) => seconds >= wanted.waitedSeconds)
      .sort((one, other) => other.waiting_seconds - one.waiting_seconds)
      .slice(0, wanted.limit);
  });

export const forgetOldWorkers = (): Promise<void> => Promise.resolve();

/** The account with the fewest jobs in progress, then the oldest of its jobs. */
export const readTurn: typeof JobsInTurn.readTurn = (pool, wanted) =>
  on(pool).statement((postgres) => turnOf(postgres, wanted));

function turnOf({ readModels }: Postgres, wanted: TurnWanted): Turn {
  const { workerId, now, own, settled, named, fullPlatforms } = wanted;
  const rows = [...readModels.jobs.values()];
  const isHeld = ({ job }: JobRow) =>
    (job.status === 'claimed' || job.status === 'running') && job.claim?.workerId !== workerId;
  const inProgress = (accountId: string) =>
    rows.filter((row) => row.accountId === accountId && isHeld(row)).length + (own[accountId] ?? 0);
  const waiting = rows.filter(({ job }) => job.status === 'queued');
  const ids = [...new Set(waiting.map(({ accountId }) => accountId))].sort();
  const inTurn = [...ids.filter((id) => id > wanted.after), ...ids.filter((id) => id <= wanted.after)];
  const accounts = inTurn.map((account_id) => ({ account_id, in_progress: inProgress(account_id) }));
  const isFree = ({ queued, job, revision }: JobRow) =>
    (job.notBefore === null || job.notBefore <= now) &&
    !fullPlatforms.includes(queued.platform) &&
    !settled.includes(`${queued.token}:${String(revision)}`);
  const candidates = accounts
    .filter(({ in_progress }) => in_progress < wanted.maxJobsPerAccount)
    .flatMap((account) => {
      const free = waiting.filter((row) => row.accountId === account.account_id && isFree(row));
      const [oldest] = free.sort((one, other) => (one.waitingSince < other.waitingSince ? -1 : 1));
      return oldest ? [{ account, oldest }] : [];
    });
  const [first] = candidates.sort((one, other) => one.account.in_progress - other.account.in_progress);
  const row = named && readModels.jobs.get(named.token);
  return {
    accounts,
    next: first
      ? {
          token: first.oldest.queued.token,
          usage_stream: first.oldest.queued.stream,
          usage_revision: first.oldest.queued.revision,
          platform: first.oldest.queued.platform,
          revision: first.oldest.revision,
          ...first.account,
        }
      : null,
    named: named
      ? {
          in_progress: inProgress(named.accountId),
          row: row ? { status: row.job.status, revision: row.revision, not_before: row.job.notBefore } : null,
        }
      : null,
  };
}
