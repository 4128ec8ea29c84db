import type { Promised } from '../domain/usage-events.ts';
import type { EventToAppend, ExpectedRevision } from './event-store.ts';

/** What billing needs from outside besides the log: promises to take back, the gate before books are closed, mail. */

/** An append that may or may not be stored. Sent again, these very bytes tell which. */
export interface UnknownAppend {
  accountId: string;
  stream: string;
  expected: ExpectedRevision;
  events: readonly EventToAppend[];
}

/** A charge that is to be taken back if its append turns out to be stored. */
export type ChargeToVoid = { kind: 'download'; token: string } | { kind: 'lookup'; lookup_id: string };

/** With the MAC by which the process that keeps the promise knows it for one that this installation has made. */
export type PromisedCharge = ChargeToVoid & { promised: Promised; mac: string };

export interface PendingVoid {
  append: UnknownAppend;
  voids: readonly PromisedCharge[];
}

/** Charges of unknown outcome whose clients were told that nothing is charged: a promise that the dispatcher keeps. */
export interface PendingVoids {
  /**
   * Resolves once the promise is durable. Several charges of one append are promised one by one.
   *
   * @returns false where the books of the stream are being closed: nothing was promised, and nothing may be
   * @throws when Postgres is away; the promise may have been made all the same
   */
  add(append: UnknownAppend, charge: ChargeToVoid): Promise<boolean>;
  /** The oldest ones that this installation has made. @throws when Postgres is away */
  list(limit: number): Promise<PendingVoid[]>;
  /** Forgets a promise that was kept; not if another charge was added to it meanwhile. @throws when Postgres is away */
  remove(pending: PendingVoid): Promise<void>;
}

/** The gate between an ended period's pending voids and the closing of its books. */
export interface PeriodClosings {
  /**
   * Shuts the gate: nothing of the stream can become a pending void any more. Shutting it again is fine.
   *
   * @returns false, with the gate left open, while a pending void names the stream
   */
  begin(stream: string): Promise<boolean>;
}

/** A mail to one person, in plain text. */
export interface Mail {
  /** UUID. The same mail sent again has the same one. */
  id: string;
  to: string;
  subject: string;
  /** Lines of at most 76 characters. */
  text: string;
  /** What the mail says of its own time, UTC ISO-8601. */
  date: string;
}

export interface Mailer {
  /** The Message-ID, with its angle brackets, under which a mail goes out, always the same. */
  messageIdOf(mailId: string): string;
  /** Fulfilled once the mail server has taken the mail. @throws {MailNotTaken} */
  send(mail: Mail): Promise<void>;
}

/** The mail may have been taken all the same, where the connection broke before the server's answer came. */
export class MailNotTaken extends Error {
  override readonly name = 'MailNotTaken';
  /** `refused`: the server would not take this mail, which says nothing of others. `away`: it could not be spoken to. */
  readonly reason: 'refused' | 'away';

  /** @param detail for the log, so without any address */
  constructor(reason: 'refused' | 'away', detail: string) {
    super(`the mail was not taken: ${detail}`);
    this.reason = reason;
  }
}
