import type { LoggedDocument } from '../commands/document-mails.ts';
import { describeLine } from '../documents/invoice-document.ts';
import type { IssuerDetails } from '../domain/billing-details.ts';
import { formatCents } from '../domain/cents.ts';
import { documentNumber } from '../domain/document-number.ts';
import type { Mail } from '../ports/billing.ts';

interface Sending {
  id: string;
  to: string;
  issuer: IssuerDetails;
  publicUrl: string;
  /** Nobody of the account can sign in any more, so that the mail says everything itself. */
  isClosed: boolean;
  /** The newest note of the signed log that covers the document. */
  note?: string | undefined;
}

/** The mail about an invoice or a credit note: what it comes to and where it can be read. Names and the address may be long lines. */
export function documentMail(
  { document, issuedAt, askedAt }: Pick<LoggedDocument, 'document' | 'issuedAt' | 'askedAt'>,
  { id, to, issuer, publicUrl, isClosed, note: signed }: Sending,
): Mail {
  const { account_id: accountId } = document.data;
  const {
    title,
    amount,
    facts,
    lines: ofDocument,
    path,
  } = document.type === 'InvoiceIssued' ? invoice(document.data) : note(document.data);
  const lines = [
    issuer.name,
    `has issued ${title}`,
    `for your account ${accountId}.`,
    '',
    ...facts,
    `Date of issue: ${issuedAt.slice(0, 10)}`,
    ...(askedAt === null ? [] : ['This mail was asked for again; the document is the same.']),
    '',
    ...(isClosed
      ? [...ofDocument, 'Amounts are without tax.', '', ...sentencesOfClosed]
      : ['To read, print or save it, open', `${publicUrl}/console/${path}`]),
    ...(issuer.email === null ? [] : ['', `Questions about it: ${issuer.email}`]),
    ...(signed === undefined ? [] : ['', ...headOf(signed)]),
    '',
  ];
  const subject = `${title.charAt(0).toUpperCase()}${title.slice(1)}: ${amount}`;
  return { id, to: [to], subject, text: lines.join('\n'), date: askedAt ?? issuedAt };
}

/** Origin, size and root: whoever keeps the mail can show later that nothing before it was changed. */
const headOf = (note: string): string[] => [
  'It is in the signed log of all invoices, whose head was then:',
  ...note.split('\n', 3),
];

const sentencesOfClosed = [
  'The account is closed, and nobody signs in any more:',
  'ask for a copy, or for the single charges.',
];

type Told = LoggedDocument['document'];

function invoice(data: Extract<Told, { type: 'InvoiceIssued' }>['data']) {
  const { number, period_start: start, period_end: end, lines, total_cents: totalCents } = data;
  const amount = formatCents(totalCents);
  return {
    title: `invoice ${documentNumber('invoice', data)}`,
    amount,
    lines: lines.map((line) => `${describeLine(line)}: ${formatCents(line.cents)}`),
    facts: [`Total: ${amount}`, `Period: from ${start.slice(0, 10)} on, before ${end.slice(0, 10)} (UTC)`],
    path: `invoices/${String(number)}`,
  };
}

function note(data: Extract<Told, { type: 'CreditNoteIssued' }>['data']) {
  const { account_id, number, invoice_number, cents } = data;
  const amount = formatCents(cents);
  const credited = documentNumber('invoice', { account_id, number: invoice_number });
  return {
    title: `credit note ${documentNumber('credit_note', data)}`,
    amount,
    lines: [],
    facts: [`Credited: ${amount}`, `Of invoice: ${credited}`],
    path: `credit-notes/${String(number)}`,
  };
}
