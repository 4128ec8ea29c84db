import { listWaitingDocumentMails, type WaitingDocumentMail } from '../../projections/document-mails.ts';
import { readParties } from '../../projections/queries/parties.ts';
import type { Background } from '../async/background.ts';
import { readAccount } from '../commands/accounts.ts';
import { readDocumentMail, recordDocumentMail } from '../commands/document-mails.ts';
import { plusSeconds } from '../domain/instant.ts';
import { activePerson } from '../domain/people.ts';
import { documentMail } from './document-mail-text.ts';
import { type LoggedMail, type MailDependencies, startMailing } from './send-mails.ts';

interface DocumentMailDependencies extends MailDependencies {
  /** Name of the issuer by the settings, until its first details. */
  issuer: string;
  /** Address of the console, as people reach it, without a slash at its end. */
  publicUrl: () => string;
  /** The newest note of the signed log that covers an event; undefined while there is none. Without it, nothing is signed. */
  readNote?: ((eventId: string) => Promise<string | undefined>) | undefined;
}

/** Longer than a head takes. A log that is not signed at this time holds up nobody's invoice. */
const notePatienceSeconds = 60;

/**
 * Mails each invoice and credit note to the people of the account whom it names, and to those for whom staff ask for it again, but
 * not to those removed since.
 */
export const startMailingDocuments = (dependencies: DocumentMailDependencies): Background =>
  startMailing(dependencies, {
    about: 'document',
    list: listWaitingDocumentMails,
    read: (waiting) => readMail(dependencies, waiting),
  });

async function readMail(dependencies: DocumentMailDependencies, waiting: WaitingDocumentMail): Promise<LoggedMail> {
  const { store, issuer: issuerName, publicUrl, readNote, now } = dependencies;
  const { mail_id: id, event_id: eventId, account_id: accountId, person_id: personId, revision } = waiting;
  const logged = await readDocumentMail(store, { accountId, eventId, revision, personId });
  if (!logged) throw new Error(`${accountId} has no document by ${eventId}, though the read model has it`);
  const { people, closed: isClosed } = await readAccount(store, accountId);
  const person = activePerson(people, personId);
  if (!people.has(personId)) throw new Error(`${accountId} has no person ${personId}, though ${eventId} names them`);
  const record = (recorded: { messageId: string | null; timeoutMs: number }) =>
    recordDocumentMail(dependencies, logged, { personId, ...recorded });
  const note = await readNote?.(logged.documentEventId);
  const isFresh = now() < plusSeconds(logged.issuedAt, notePatienceSeconds);
  return {
    isRecorded: logged.isRecorded,
    isEarly: readNote !== undefined && note === undefined && isFresh,
    compose: async () => {
      if (!person) throw new Error(`${personId} gets no mail any more`);
      const partiesAt = await readParties(store, { accountId, issuerName });
      const { issuer } = partiesAt(logged.position);
      return documentMail(logged, { id, to: person.email, issuer, publicUrl: publicUrl(), isClosed, note });
    },
    record,
    drop: person ? undefined : ({ timeoutMs }) => record({ messageId: null, timeoutMs }),
  };
}
