import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { claimWarning, forgetClaim, listWaitingWarnings, noteTaken } from '../../projections/usage-warnings.ts';
import type { WaitingWarning } from '../../projections/usage-warnings.ts';
import { readAccount } from '../commands/accounts.ts';
import type { MailObserver } from '../ports/observers.ts';
import { MailNotTaken } from '../ports/billing.ts';
import type { Mailer } from '../ports/billing.ts';
import type { EventStore } from '../ports/event-store.ts';
import { readWarning, recordWarningMail } from '../commands/record-warning-mail.ts';
import { outageOf } from '../ports/outage.ts';
import type { Outage, Outages } from '../ports/outage.ts';
import { repeat } from './repeat.ts';
import { warningMail } from './warning-mail-text.ts';
import { backoffMs } from '../async/backoff.ts';

export interface MailDependencies {
  store: EventStore;
  pool: Pool;
  mailer: Mailer;
  /** The clock of business time. */
  now: () => string;
  newUuid: () => string;
  logger: Logger;
  outages?: Outages;
  /** Names this process among those that might mail. */
  mailerId: string;
  /**
   * Warnings that the mail server has taken from this process and the log does not know of yet, by the id of their event. It
   * lives as long as the process, for the case that Postgres cannot be told of them either.
   */
  taken: Set<string>;
  observer?: MailObserver;
  /** Default: 2 s. */
  lookEveryMs?: number;
  /** How long after a first failure it is tried again (default 5 s); twice as long after each further one. */
  retryMs?: number;
  /** After so long (default 5 min) the claim of another process is taken over. */
  staleClaimSeconds?: number;
  /** How long the log is given for the event of a mail that was taken. Default: 1 min. */
  recordTimeoutMs?: number;
}

const defaultLookEveryMs = 2_000;
const defaultRetryMs = 5_000;
const defaultStaleClaimSeconds = 300;
const maxWarnings = 100;
/** Nobody waits for it, and a large period takes its time to be read. */
const defaultRecordTimeoutMs = 60_000;
/** For a mail that is refused, and for a server that is away: one is a person's mailbox, the other keeps everybody waiting. */
const maxMailRetryMs = 900_000;
const maxServerRetryMs = 60_000;
/** The read model follows the log within moments; until then a warning that is done would be looked at for nothing. */
const lookAgainMs = 10_000;

/**
 * Mails the warnings that the log holds and that the read model has not seen mailed, oldest first.
 *
 *     claimed (row of `warning_mails`) → not mailed yet, says the log → taken by the mail server → noted as taken (the same
 *     row, and in memory) → UsageWarningMailed
 *
 * The read model may be behind, or empty: the log alone says whether a warning is mailed, and it is read after the claim, so
 * that of two dispatchers one sends. What is noted as taken is only recorded, by whoever claims it next. A process that ends
 * between the server's answer and that note leaves a mail that is sent again by the next, under the same Message-ID. Nothing is
 * given up: what cannot be mailed waits and is tried again.
 */
export function startMailingWarnings(dependencies: MailDependencies): { stop: () => Promise<void> } {
  const state: MailState = { postponed: new Map(), server: { failures: 0, untilMs: 0 } };
  const outage = outageOf(dependencies, 'the look for warnings to mail');
  const mailing = { ...dependencies, outage: outageOf(dependencies, 'the mailing of warnings') };
  const everyMs = dependencies.lookEveryMs ?? defaultLookEveryMs;
  return repeat((stopping) => mailRound(mailing, state, stopping), { everyMs, outage });
}

/** Instants are milliseconds of `performance.now()`. */
interface Postponement {
  failures: number;
  untilMs: number;
}

interface MailState {
  /** Warnings that are not to be tried before an instant, by the id of their event. */
  postponed: Map<string, Postponement>;
  /** The outage of the mail server as a whole. */
  server: Postponement;
}

async function mailRound(
  dependencies: MailDependencies & { outage: Outage },
  state: MailState,
  stopping: AbortSignal,
): Promise<void> {
  const { pool, outage } = dependencies;
  if (performance.now() < state.server.untilMs) return;
  // A mail that could not be recorded is not sent.
  dependencies.now();
  const waiting = await listWaitingWarnings(pool, { except: postponedNow(state), limit: maxWarnings });
  if (waiting.length < maxWarnings) forgetPast(state, waiting);
  for (const warning of waiting) {
    if (stopping.aborted) return;
    try {
      await mail(dependencies, state, warning);
      outage.works();
      state.postponed.set(warning.event_id, { failures: 0, untilMs: performance.now() + lookAgainMs });
    } catch (error) {
      const goesOn = noteFailure(dependencies, state, { warning, error });
      if (!goesOn) return;
    }
  }
}

const postponedNow = ({ postponed }: MailState): string[] =>
  [...postponed].filter(([, { untilMs }]) => untilMs > performance.now()).map(([eventId]) => eventId);

/** Forgets warnings that may be tried again but no longer wait: they are mailed. */
function forgetPast({ postponed }: MailState, waiting: readonly WaitingWarning[]): void {
  const stillWaiting = new Set(waiting.map(({ event_id: eventId }) => eventId));
  for (const [eventId, { untilMs }] of postponed) {
    if (untilMs <= performance.now() && !stillWaiting.has(eventId)) postponed.delete(eventId);
  }
}

async function mail(
  dependencies: MailDependencies,
  { server }: MailState,
  { event_id: eventId, account_id: accountId, stream }: WaitingWarning,
): Promise<void> {
  const { store, pool, mailer, mailerId, taken, observer } = dependencies;
  const { logger, staleClaimSeconds = defaultStaleClaimSeconds } = dependencies;
  const claimedMs = performance.now();
  const claim = await claimWarning(pool, eventId, { by: mailerId, staleSeconds: staleClaimSeconds });
  if (!claim) return;
  const warning = await readWarning(store, { stream, eventId });
  if (!warning) throw new Error(`${stream} has no warning ${eventId}, though the read model has it`);
  if (warning.covers.length > 0) {
    const isSent = claim.taken || warning.messageId !== null;
    if (!isSent && !taken.has(eventId)) {
      // The read model takes the events of one append in one batch or in two: the higher threshold may not be in it yet.
      if (warning.awaitsHigher) {
        await forgetClaim(pool, eventId);
        return;
      }
      const { opened } = await readAccount(store, accountId);
      if (!opened) throw new Error(`${accountId} was never opened, though it has usage`);
      // A process that was suspended meanwhile may have lost its claim.
      const isClaimOld = performance.now() - claimedMs > (staleClaimSeconds * 1_000) / 3;
      if (isClaimOld) throw new Error('the claim of a warning has become too old to send it');
      await mailer.send(warningMail(warning, opened.personal.email));
      taken.add(eventId);
      observer?.mailSent();
      Object.assign(server, { failures: 0, untilMs: 0 });
    }
    if (!isSent) {
      await noteTaken(pool, eventId).catch((error: unknown) => {
        // The log is told next, and until it knows, this process remembers.
        logger.warn(
          { err: error, warning: eventId },
          'a warning was mailed, but that could not be recorded in Postgres',
        );
      });
    }
    const timeoutMs = dependencies.recordTimeoutMs ?? defaultRecordTimeoutMs;
    const messageId = warning.messageId ?? mailer.messageIdOf(eventId);
    await recordWarningMail(dependencies, warning, { messageId, timeoutMs });
  }
  taken.delete(eventId);
  await forgetClaim(pool, eventId);
}

/** @returns whether the others may be tried: not while the mail server, the log or Postgres is away */
function noteFailure(
  { logger, observer, outage, retryMs = defaultRetryMs }: MailDependencies & { outage: Outage },
  { postponed, server }: MailState,
  { warning: { event_id: eventId }, error }: { warning: WaitingWarning; error: unknown },
): boolean {
  const reason = error instanceof MailNotTaken ? error.reason : 'other';
  observer?.mailFailed(reason);
  const failures = (postponed.get(eventId)?.failures ?? 0) + 1;
  // One that the server breaks off at, each time, must not stay the first in line.
  const longestMs = reason === 'away' ? 2 * maxServerRetryMs : maxMailRetryMs;
  postponed.set(eventId, {
    failures,
    untilMs: performance.now() + backoffMs(failures, { firstMs: retryMs, longestMs }),
  });
  if (reason === 'away') {
    server.failures += 1;
    server.untilMs = performance.now() + backoffMs(server.failures, { firstMs: retryMs, longestMs: maxServerRetryMs });
  }
  // A problem with one mail is logged each time; the mail is tried again ever later.
  if (reason === 'refused')
    logger.warn({ err: error, reason, warning: eventId, failures }, 'a warning could not be mailed; it is tried again');
  else outage.failed('a mail', error, { reason, warning: eventId });
  return reason === 'refused';
}
