import { type Html, html, numberCell } from '../../../documents/html.ts';
import type { CreditNoteDocument, InvoiceDocument } from '../../../documents/invoice-document.ts';
import { proofSection } from '../../document-proof.ts';
import {
  billedToFact,
  creditedTable,
  documentAs,
  documentFact,
  documentForms,
  givesBackFact,
  invoiceFacts,
  lineTable,
  noteTable,
} from '../../invoice-parts.ts';
import { actionCell, type Fact, facts, money, note, time } from '../../parts.ts';
import { accountLink, creditNotePath, downloadPath, eventAtPath, eventPath, invoicePath } from '../addresses.ts';
import { seeAs, type StaffHandler, viewPage } from '../view.ts';
import {
  creditNote as creditNoteView,
  creditNoteFile,
  invoice as invoiceView,
  invoiceFile,
  type InvoiceLeft,
  type LineOfInvoice,
} from '../views/invoice.ts';
import { mailsSection } from './document-mails.ts';

/** An invoice with what may still be credited of each line; and a credit note. */

/** As a page of the console; or as its owner can print or save it, where the address says so. */
export const show: StaffHandler = async (visit, dependencies, reply) => {
  const as = visit.query.get('as');
  const file =
    as === null ? undefined : await documentAs(await seeAs(visit, invoiceFile, dependencies), as, dependencies);
  return file ?? (await shown(visit, dependencies, reply));
};

export const showCreditNote: StaffHandler = async (visit, dependencies, reply) => {
  const as = visit.query.get('as');
  const file =
    as === null ? undefined : await documentAs(await seeAs(visit, creditNoteFile, dependencies), as, dependencies);
  return file ?? (await shownNote(visit, dependencies, reply));
};

const shown = viewPage(invoiceView, {
  title: ({ number }) => `Invoice ${String(number)}`,
  section: 'search',
  content: (invoice, visit, dependencies) =>
    html`${facts([...factsOf(invoice), ...invoiceFacts(invoice), eventFact(invoice)])} ${documentForms()}
      ${issuerNote(invoice)}
      <h2>Lines</h2>
      ${lineTable(invoice.lines, {
        Left: numberCell(({ cents, left_cents: left }) => (cents < 0 ? '' : money(left))),
        Source: (line) => sourceOf(line, invoice),
        Action: actionCell(
          (line) => line.left_cents > 0 && html`<a data-row href="${creditLinePath(line, invoice)}">Credit…</a>`,
        ),
      })}
      <p class="soft">
        The amount left is never more than the line less its waivers, nor than what is left of the whole invoice.
      </p>
      ${noteTable(invoice.credit_notes, ({ number }) => creditNotePath(invoice.account_id, number), {
        Issued: ({ issued_at: at }) => time(at),
        Line: ({ line }) => line,
        Reference: ({ reference }) => reference,
        Reason: ({ reason }) => reason,
      })}
      ${proofSection(invoice.head)} ${mailsSection(invoice, visit, dependencies)}`,
});

/** Later documents then have it. */
const issuerNote = ({ issuer_lacks: lacks }: InvoiceDocument | CreditNoteDocument): Html | false =>
  lacks.length > 0 &&
  note(
    'warn',
    html`Set the issuer's details for documents to come: <code>reeltally issuer set</code> with
      <code>--address-line</code>, <code>--country</code> and <code>--tax-id</code>.`,
  );

const factsOf = (document: InvoiceDocument | CreditNoteDocument): readonly Fact[] => [
  documentFact(document),
  ['Account', accountLink(document)],
  billedToFact(document),
];

const eventFact = ({ event: { id } }: InvoiceDocument | CreditNoteDocument): Fact => [
  'Event',
  html`<a href="${eventPath(id)}"><code>${id}</code></a>`,
];

const creditLinePath = ({ line }: LineOfInvoice, { account_id: accountId, number: invoice }: InvoiceLeft): string =>
  `${invoicePath(accountId, invoice)}/lines/${String(line)}/credit`;

function sourceOf(line: LineOfInvoice, { account_id: accountId, period_start: start }: InvoiceLeft): Html {
  const [[revision] = [0]] = line.revisions;
  if (line.event_id !== null) return html`<a href="${eventAtPath({ stream: line.stream, revision })}">its event</a>`;
  return html`<a href="/staff/overage/${accountId}/${start.slice(0, 10)}">its charges</a>`;
}

const shownNote = viewPage(creditNoteView, {
  title: ({ number }) => `Credit note ${String(number)}`,
  section: 'search',
  content: (note, visit, dependencies) =>
    html`${facts([
      ...factsOf(note),
      givesBackFact(note, { invoicePath: invoicePath(note.account_id, note.invoice_number) }),
      ['Issued by', html`<code>${note.issued_by}</code>`],
      ['Reason', note.reason],
      ['Reference', note.reference],
      eventFact(note),
    ])}
    ${documentForms()} ${issuerNote(note)} ${creditedTable(note, downloadPath)} ${proofSection(note.head)}
    ${mailsSection(note, visit, dependencies)}`,
});
