import type { Command } from 'commander';
import { askDocumentMails } from '../../commands/ask-document-mails.ts';
import {
  type DocumentName,
  type MailOfDocument,
  type MailsOfDocument,
  readMailsOfDocument,
} from '../../commands/mails-of-document.ts';
import { findPerson, type People } from '../../domain/people.ts';
import { requireAccount } from '../accounts/find-account-usage.ts';
import { accountIdArgument, addReasonOptions, fromOneArgument, operatorOf } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { type Columns, CommandFailed, print, rowsText, unlessRefused } from '../output.ts';
import { commandTimeoutMs } from '../wait-for-read-models.ts';

/** To whom an invoice or a credit note was mailed, and mailing it again. */

interface Which {
  /** The number is that of a credit note. */
  creditNote?: boolean;
}

interface AskOptions extends Which {
  to: string[];
  reason: string;
  by?: string;
}

export function addListMails(invoices: Command, run: RunCommand): void {
  ofDocument(
    invoices.command('mails').description('list the mails about an invoice, and whether they were sent'),
  ).action((account: string, number: number, which: Which) =>
    run((cli) => mailsCommand(cli, nameOf(account, number, which))),
  );
}

export function addMailAgain(invoices: Command, run: RunCommand): void {
  const command = ofDocument(
    invoices.command('mail-again').description('mail an invoice again, to people of the account'),
  ).requiredOption('--to <person...>', 'e-mail addresses or person ids; "people list" shows both');
  addReasonOptions(command).action((account: string, number: number, options: AskOptions) =>
    run((cli) => mailAgainCommand(cli, nameOf(account, number, options), options)),
  );
}

const ofDocument = (command: Command): Command =>
  command
    .argument('<account>', 'account id', accountIdArgument)
    .argument('<number>', 'number of the invoice', fromOneArgument)
    .option('--credit-note', 'the number is that of a credit note');

const nameOf = (accountId: string, number: number, { creditNote = false }: Which): DocumentName => ({
  accountId,
  type: creditNote ? 'CreditNoteIssued' : 'InvoiceIssued',
  number,
});

const columns: Columns<MailOfDocument> = {
  to: 'email',
  asked_again: 'asked_at',
  state: 'state',
  taken: 'taken_at',
  message_id: 'message_id',
};

async function mailsCommand(cli: CliDependencies, document: DocumentName): Promise<void> {
  const { mails } = await requireMails(cli, document);
  const { accountId: account_id, type, number } = document;
  print(cli.output, { account_id, type, number, mails }, rowsText(cli.output, columns, mails));
}

async function mailAgainCommand(
  cli: CliDependencies,
  document: DocumentName,
  { to, ...decided }: AskOptions,
): Promise<void> {
  const { accountId, number } = document;
  const { people } = await requireAccount(cli, accountId);
  const { document_event_id: documentId } = await requireMails(cli, document);
  const mailTo = [...new Set(to.map((person) => personIdOf(people, person)))];
  const asked = await askDocumentMails(cli, {
    accountId,
    documentId,
    mailTo,
    commandId: cli.newUuid(),
    by: { operator: operatorOf(cli.actor, decided) },
    timeoutMs: commandTimeoutMs,
  });
  const many = mailTo.length === 1 ? 'the mail waits' : `${String(mailTo.length)} mails wait`;
  unlessRefused(asked, {
    person_not_found: `not all of ${to.join(', ')} are people of ${accountId}: "people list ${accountId}" shows who is`,
    mail_waits: `a mail about it to one of ${to.join(', ')} waits already: "invoices mails" shows which`,
  });
  print(
    cli.output,
    { account_id: accountId, type: document.type, number, mail_to: mailTo },
    `${many} for the mail server; "invoices mails ${accountId} ${String(number)}" shows when it was taken`,
  );
}

/** @returns the text itself for an address that nobody has: no id is like it */
const personIdOf = (people: People, person: string): string =>
  person.includes('@') ? (findPerson(people, person)?.personId ?? person) : person;

async function requireMails(cli: CliDependencies, document: DocumentName): Promise<MailsOfDocument> {
  const { accountId, type, number } = document;
  await requireAccount(cli, accountId);
  const mails = await readMailsOfDocument(cli.store, document);
  if (mails) return mails;
  const what = type === 'InvoiceIssued' ? 'invoice' : 'credit note';
  throw new CommandFailed(`${accountId} has no ${what} ${String(number)}; see "invoices list"`);
}
