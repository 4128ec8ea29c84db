import { z } from 'zod';
import { type HeadForEvent, readHeadFor } from '../../../../projections/proofs.ts';
import { findCreditNote, findInvoice } from '../../../../projections/queries/account-documents.ts';
import { type DocumentName, type MailsOfDocument, readMailsOfDocument } from '../../../commands/mails-of-document.ts';
import { readLinesLeft } from '../../../commands/what-is-left.ts';
import type { CreditNoteDocument, InvoiceDocument } from '../../../documents/invoice-document.ts';
import { accountIdPattern } from '../../../domain/account-events.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { hasCharges } from '../../invoice-parts.ts';
import { missing } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import type { AccessRecord, View } from '../view.ts';

/** Invoices and credit notes. What is left of a line comes from the log, because money is given back of it. */

const ordinal = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'is no number')
  .transform(Number);
const input = z.object({ account: z.string().regex(accountIdPattern, 'is not the id of an account'), number: ordinal });
const lineInput = input.extend({ line: ordinal });
const fileInput = input.extend({ as: z.string() });

const accessRecords = ({ account_id: accountId }: { account_id: string }): AccessRecord[] => [
  { accountId, token: null, page: 'account' },
];

export type InvoiceLeft = Awaited<ReturnType<typeof readInvoice>>;
export type LineOfInvoice = InvoiceLeft['lines'][number];

async function readInvoice(dependencies: StaffDependencies, { account: accountId, number }: z.infer<typeof input>) {
  const found = await findInvoice(dependencies, { accountId, number, charges: false });
  const left = await readLinesLeft(dependencies.store, { accountId, number });
  if (!found || isRefused(left)) throw missing();
  return { ...found, lines: found.lines.map((line, index) => ({ ...line, left_cents: left[index] ?? 0 })) };
}

/** head: the newest of the signed log; undefined before the first. */
type OnPage<Document> = Document & { mails: MailsOfDocument; head: HeadForEvent | undefined };

const forPage = <Document extends { account_id: string; event: { id: string } }>(
  read: View<z.infer<typeof input>, Document>['read'],
  type: DocumentName['type'],
): View<z.infer<typeof input>, OnPage<Document>> => ({
  input,
  read: async (dependencies, about) => {
    const document = await read(dependencies, about);
    const mails = await readMails(dependencies, type, about);
    return { ...document, mails, head: await readHeadFor(dependencies.pool, document.event.id) };
  },
  accessRecords,
});

export const invoice: View<z.infer<typeof input>, OnPage<InvoiceLeft>> = forPage(readInvoice, 'InvoiceIssued');

async function readMails(
  { store }: StaffDependencies,
  type: DocumentName['type'],
  { account: accountId, number }: z.infer<typeof input>,
): Promise<MailsOfDocument> {
  const mails = await readMailsOfDocument(store, { accountId, type, number });
  if (!mails) throw missing();
  return mails;
}

/** As its owner can print or save it. */
export const invoiceFile: View<z.infer<typeof fileInput>, InvoiceDocument> = {
  input: fileInput,
  read: async (dependencies, { account: accountId, number, as }) => {
    const found = await findInvoice(dependencies, { accountId, number, charges: hasCharges(as) });
    if (!found) throw missing();
    return found;
  },
  accessRecords,
};

export type LineLeft = Awaited<ReturnType<typeof readLine>>;

async function readLine(dependencies: StaffDependencies, { line: wanted, ...about }: z.infer<typeof lineInput>) {
  const found = await readInvoice(dependencies, about);
  const line = found.lines.find((each) => each.line === wanted);
  if (!line) throw missing();
  return { account_id: found.account_id, invoice: found, line };
}

export const invoiceLine: View<z.infer<typeof lineInput>, LineLeft> = {
  input: lineInput,
  read: readLine,
  accessRecords,
  named: (shown) => [shown],
};

async function readCreditNote(
  dependencies: StaffDependencies,
  { account: accountId, number }: z.infer<typeof input>,
): Promise<CreditNoteDocument> {
  const found = await findCreditNote(dependencies, { accountId, number });
  if (!found) throw missing();
  return found;
}

export const creditNote: View<z.infer<typeof input>, OnPage<CreditNoteDocument>> = forPage(
  readCreditNote,
  'CreditNoteIssued',
);

/** As its owner can print or save it. */
export const creditNoteFile: View<z.infer<typeof input>, CreditNoteDocument> = {
  input,
  read: readCreditNote,
  accessRecords,
};
