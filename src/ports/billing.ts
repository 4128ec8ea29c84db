import type { Promised } from '../domain/usage-events.ts';
import type { EventToAppend, ExpectedRevision } from './event-store.ts';

/** Billing's needs from outside besides the log: pending voids, the gate before a period is closed, mail. */

/** An append that may or may not be stored. Sending the same bytes again tells which. */
export interface UnknownAppend {
  accountId: string;
  stream: string;
  expected: ExpectedRevision;
  events: readonly EventToAppend[];
}

/** A charge that is to be taken back if its append turns out to be stored. */
export type ChargeToVoid = { kind: 'download'; token: string } | { kind: 'lookup'; lookup_id: string };

/** The MAC tells the process that resolves it that this installation has written it. */
export type PendingVoidCharge = ChargeToVoid & { promised: Promised; mac: string };

export interface PendingVoid {
  append: UnknownAppend;
  voids: readonly PendingVoidCharge[];
}

/** Charges of unknown outcome whose clients were told that nothing is charged. The dispatcher voids those that are stored. */
export interface PendingVoids {
  /**
   * Resolves once the pending void is durable, on the standby of Postgres too. Several charges of one append are added one by one,
   * and an append stands at the place of its first.
   *
   * @returns false where the period of the stream is being closed: then nothing was added, and nothing may be
   * @throws {NotOnStandby}, and when Postgres is away; the pending void may have been stored all the same
   */
  add(append: UnknownAppend, charge: ChargeToVoid): Promise<boolean>;
  /** The oldest ones that this installation has written. @throws when Postgres is away */
  list(limit: number): Promise<PendingVoid[]>;
  /**
   * Takes one that is resolved out of the list, and keeps it for backups. A charge that was added meanwhile stays: charges are told
   * apart by their content. Removing again what is gone is fine.
   *
   * @throws when Postgres is away
   */
  remove(pending: PendingVoid): Promise<void>;
}

/** The gate between the pending voids of an ended period and its closing. */
export interface PeriodClosings {
  /**
   * Shuts the gate, for ever and for all processes: nothing of the stream can become a pending void any more. Shutting it again is
   * fine. An `add` at the same time either keeps the gate open or finds it shut.
   *
   * @returns false, with the gate left open, while a pending void names the stream
   */
  begin(stream: string): Promise<boolean>;
}

/** A mail in plain text. */
export interface Mail {
  /** Letters, digits, `-` and `_`. The same mail sent again has the same one. */
  id: string;
  /** Addresses: at least one. Everybody sees the others. */
  to: readonly string[];
  subject: string;
  /** Lines of at most 76 characters. */
  text: string;
  /** The mail's own date, UTC ISO-8601. */
  date: string;
}

export interface Mailer {
  /** The Message-ID, with its angle brackets, under which a mail goes out, always the same. */
  messageIdOf(mailId: string): string;
  /** Fulfilled once the mail server has taken the mail. @throws {MailNotTaken} */
  send(mail: Mail): Promise<void>;
}

/** If the connection broke before the server's answer came, the mail may have been taken all the same. */
export class MailNotTaken extends Error {
  override readonly name = 'MailNotTaken';
  /** `refused`: the server does not take this mail, but may take others. `away`: the server could not be reached. */
  readonly reason: 'refused' | 'away';

  /** @param detail for the log, so without any address */
  constructor(reason: 'refused' | 'away', detail: string) {
    super(`the mail was not taken: ${detail}`);
    this.reason = reason;
  }
}
