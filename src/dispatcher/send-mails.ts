import type { Pool } from 'pg';
import { claimMail, forgetClaim, noteTaken } from '../../projections/work-lists/mail-claims.ts';
import type { Background } from '../async/background.ts';
import { backoffMs } from '../async/backoff.ts';
import type { CommandDependencies } from '../commands/handler/dependencies.ts';
import { type Mail, type Mailer, MailNotTaken } from '../ports/billing.ts';
import type { MailObserver, MailSubject } from '../ports/observers.ts';
import { servicePart } from '../ports/service-parts.ts';
import { type InRound, type LoopDependencies, startLoop } from './repeat.ts';

export interface MailDependencies extends CommandDependencies, LoopDependencies {
  pool: Pool;
  mailer: Mailer;
  /** Names this process among those that might mail. */
  mailerId: string;
  /**
   * Mails that the mail server has taken from this process and the log does not know of yet, by their ids. It lives as long as
   * the process, for the case that Postgres cannot be told of them either.
   */
  taken: Set<string>;
  observer?: MailObserver;
  /** How long after a first failure it is tried again (default 5 s); twice as long after each further one. */
  retryMs?: number;
  /** After so long (default 5 min) the claim of another process is taken over. */
  staleClaimSeconds?: number;
  /** How long the log is given for the event of a mail that was taken. Default: 1 min. */
  recordTimeoutMs?: number;
}

const defaultEveryMs = 2_000;
const defaultRetryMs = 5_000;
const defaultStaleClaimSeconds = 300;
const maxMails = 100;
/** Nobody waits for it, and a large period takes its time to be read. */
const defaultRecordTimeoutMs = 60_000;
/** For a mail that is refused, and for a server that is away: one is a person's mailbox, the other keeps everybody waiting. */
const maxMailRetryMs = 900_000;
const maxServerRetryMs = 60_000;
/** The read model follows the log within moments; until then a mail that is done would be looked at for nothing. */
const lookAgainMs = 10_000;

/** A mail without a record in the read model, by its own id: the same mail always has the same one. */
interface WaitingMail {
  mail_id: string;
}

/** A mail as the log has it. */
export interface LoggedMail {
  /** The log has its record already, or needs none. */
  isRecorded: boolean;
  /** Message-ID of another mail, which has told the same. */
  toldBy?: string | null;
  /** Another mail, which will tell the same, or something that this one is to say, is still to come. */
  isEarly?: boolean;
  compose: () => Promise<Mail>;
  /** Records, once, that the mail server has taken it. */
  record: (recorded: { messageId: string; timeoutMs: number }) => Promise<void>;
  /** Records, once, that nobody is to get it any more; undefined as long as somebody is. */
  drop?: ((recorded: { timeoutMs: number }) => Promise<void>) | undefined;
}

/** What mails of one kind are about, and where they come from. */
export interface MailKind<Waiting extends WaitingMail> {
  about: MailSubject;
  /** The mails that have waited longest, oldest first. @param asked except: the ids of those to leave out for now */
  list: (pool: Pool, asked: { except: readonly string[]; limit: number }) => Promise<Waiting[]>;
  read: (waiting: Waiting) => Promise<LoggedMail>;
}

/**
 * Sends the mails of a kind that the log asks for and that the read model has not seen recorded, oldest first.
 *
 *     claimed (row of `mail_claims`) → not recorded yet, says the log → taken by the mail server → noted as taken (the same
 *     row, and in memory) → recorded by an event
 *
 * The read model may be behind, or empty: the log alone says whether a mail was sent, and it is read after the claim, so that of
 * two dispatchers one sends. What is noted as taken is only recorded, by whoever claims it next. A process that ends between
 * the server's answer and that note leaves a mail that is sent again by the next, under the same Message-ID. Nothing is given
 * up: what cannot be sent waits and is tried again.
 */
export function startMailing<Waiting extends WaitingMail>(
  dependencies: MailDependencies,
  kind: MailKind<Waiting>,
): Background {
  const state: MailState = { postponed: new Map(), server: { failures: 0, untilMs: 0 } };
  const mailing = { ...dependencies, part: servicePart(dependencies, `the mailing about a ${kind.about}`) };
  return startLoop(
    `the look for mails about a ${kind.about}`,
    dependencies,
    (_looking, stopping) => mailRound(mailing, kind, { state, stopping }),
    defaultEveryMs,
  );
}

/** Instants are milliseconds of `performance.now()`. */
interface Postponement {
  failures: number;
  untilMs: number;
}

interface MailState {
  /** Mails that are not to be tried before an instant, by their ids. */
  postponed: Map<string, Postponement>;
  /** The mail server as a whole. */
  server: Postponement;
}

async function mailRound<Waiting extends WaitingMail>(
  dependencies: InRound<MailDependencies>,
  kind: MailKind<Waiting>,
  { state, stopping }: { state: MailState; stopping: AbortSignal },
): Promise<void> {
  const { pool, part } = dependencies;
  if (performance.now() < state.server.untilMs) return;
  // A mail that could not be recorded is not sent.
  dependencies.now();
  const waiting = await kind.list(pool, { except: postponedNow(state), limit: maxMails });
  if (waiting.length < maxMails) forgetPast(state, waiting);
  for (const one of waiting) {
    const mailId = one.mail_id;
    if (stopping.aborted) return;
    try {
      await mail(dependencies, kind, { state, waiting: one });
      part.works();
      state.postponed.set(mailId, { failures: 0, untilMs: performance.now() + lookAgainMs });
    } catch (error) {
      const goesOn = noteFailure(dependencies, state, { mailId, about: kind.about, error });
      if (!goesOn) return;
    }
  }
}

const postponedNow = ({ postponed }: MailState): string[] =>
  [...postponed].filter(([, { untilMs }]) => untilMs > performance.now()).map(([mailId]) => mailId);

/** Forgets mails that may be tried again but no longer wait: they are recorded. */
function forgetPast({ postponed }: MailState, waiting: readonly WaitingMail[]): void {
  const stillWaiting = new Set(waiting.map(({ mail_id: mailId }) => mailId));
  for (const [mailId, { untilMs }] of postponed) {
    if (untilMs <= performance.now() && !stillWaiting.has(mailId)) postponed.delete(mailId);
  }
}

async function mail<Waiting extends WaitingMail>(
  dependencies: MailDependencies,
  kind: MailKind<Waiting>,
  { state, waiting }: { state: MailState; waiting: Waiting },
): Promise<void> {
  const { mail_id: mailId } = waiting;
  const { pool, mailer, mailerId, taken } = dependencies;
  const { staleClaimSeconds = defaultStaleClaimSeconds, recordTimeoutMs: timeoutMs = defaultRecordTimeoutMs } =
    dependencies;
  const claimedMs = performance.now();
  const claim = await claimMail(pool, mailId, { by: mailerId, staleSeconds: staleClaimSeconds });
  if (!claim) return;
  const logged = await kind.read(waiting);
  const { isRecorded, toldBy = null, isEarly = false, drop } = logged;
  const isNoted = claim.taken || toldBy !== null;
  const isSent = isNoted || taken.has(mailId);
  if (!isRecorded && !isSent && drop) await drop({ timeoutMs });
  else if (!isRecorded) {
    if (!isSent && isEarly) {
      await forgetClaim(pool, mailId);
      return;
    }
    if (!isSent) {
      const composed = await logged.compose();
      // A process that was suspended meanwhile may have lost its claim.
      const isClaimOld = performance.now() - claimedMs > (staleClaimSeconds * 1_000) / 3;
      if (isClaimOld) throw new Error('the claim of a mail has become too old to send it');
      await mailer.send(composed);
      taken.add(mailId);
      dependencies.observer?.mailSent(kind.about);
      Object.assign(state.server, { failures: 0, untilMs: 0 });
    }
    if (!isNoted) {
      await noteTaken(pool, mailId).catch((error: unknown) => {
        // The log is told next, and until it knows, this process remembers.
        const message = 'a mail was sent, but that could not be recorded in Postgres';
        dependencies.logger.warn({ err: error, mail: mailId }, message);
      });
    }
    await logged.record({ messageId: toldBy ?? mailer.messageIdOf(mailId), timeoutMs });
  }
  taken.delete(mailId);
  await forgetClaim(pool, mailId);
}

/** @returns whether the others may be tried: not while the mail server, the log or Postgres is away */
function noteFailure(
  { logger, observer, part, retryMs = defaultRetryMs }: InRound<MailDependencies>,
  { postponed, server }: MailState,
  { mailId, about, error }: { mailId: string; about: MailSubject; error: unknown },
): boolean {
  const reason = error instanceof MailNotTaken ? error.reason : 'other';
  observer?.mailFailed(about, reason);
  const failures = (postponed.get(mailId)?.failures ?? 0) + 1;
  // One that the server breaks off at, each time, must not stay the first in line.
  const longestMs = reason === 'away' ? 2 * maxServerRetryMs : maxMailRetryMs;
  postponed.set(mailId, {
    failures,
    untilMs: performance.now() + backoffMs(failures, { firstMs: retryMs, longestMs }),
  });
  if (reason === 'away') {
    server.failures += 1;
    server.untilMs = performance.now() + backoffMs(server.failures, { firstMs: retryMs, longestMs: maxServerRetryMs });
  }
  // A problem with one mail is logged each time; the mail is tried again ever later.
  if (reason === 'refused')
    logger.warn({ err: error, reason, mail: mailId, failures }, 'a mail was refused; it is tried again');
  else part.failed('a mail', error, { reason, mail: mailId });
  return reason === 'refused';
}
