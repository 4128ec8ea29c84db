import { type Html, html } from '../../../documents/html.ts';
import type { CreditNoteDocument, InvoiceDocument } from '../../../documents/invoice-document.ts';
import { billedToFact, documentFact, givesBackFact, invoiceFacts, lineTable, noteTable } from '../../invoice-parts.ts';
import { type Fact, facts, money, number, numberHead, time } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountLink, creditNotePath, eventAtPath, eventPath, invoicePath } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { inputOf, see, viewerOf } from '../view.ts';
import {
  creditNote as creditNoteView,
  invoice as invoiceView,
  type InvoiceLeft,
  type LineOfInvoice,
} from '../views/invoice.ts';

/** An invoice with what may still be credited of each line; and a credit note. */

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const shown = await see(invoiceView, viewerOf(visit), dependencies, inputOf(visit));
  return page({ title: `Invoice ${String(shown.number)}`, section: 'search', content: invoiceContent(shown) });
}

const invoiceContent = (invoice: InvoiceLeft): Html =>
  html`${facts([...factsOf(invoice), ...invoiceFacts(invoice), eventFact(invoice)])}
    <h2>Lines</h2>
    ${lineTable(invoice.lines, {
      heads: [numberHead('Left'), 'Source', html`<span class="visually-hidden">Action</span>`],
      cells: (line) =>
        html`${number(line.cents < 0 ? '' : money(line.left_cents))}
          <td>${sourceOf(line, invoice)}</td>
          <td>${line.left_cents > 0 && html`<a data-row href="${creditLinePath(line, invoice)}">Credit…</a>`}</td>`,
    })}
    <p class="soft">
      The amount left is never more than the line less its waivers, nor than what is left of the whole invoice.
    </p>
    ${noteTable(invoice.credit_notes, ({ number: note }) => creditNotePath(invoice.account_id, note), {
      heads: ['Issued', 'Line', 'Reference', 'Reason'],
      cells: ({ issued_at: at, line, reference, reason }) =>
        html`<td>${time(at)}</td>
          <td>${line}</td>
          <td>${reference}</td>
          <td><div class="reason">${reason}</div></td>`,
    })}`;

const factsOf = (document: InvoiceDocument | CreditNoteDocument): readonly Fact[] => [
  documentFact(document),
  ['Account', accountLink(document.account_id)],
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

export async function showCreditNote(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const note = await see(creditNoteView, viewerOf(visit), dependencies, inputOf(visit));
  const { account_id: accountId, invoice_number: invoiceNumber, charge_event_id: chargeId } = note;
  return page({
    title: `Credit note ${String(note.number)}`,
    section: 'search',
    content: facts([
      ...factsOf(note),
      givesBackFact(note, {
        invoicePath: invoicePath(accountId, invoiceNumber),
        more: chargeId !== null && html`, of <a href="${eventPath(chargeId)}">one charge</a>`,
      }),
      ['Issued by', html`<code>${note.issued_by}</code>`],
      ['Reason', note.reason],
      ['Reference', note.reference],
      eventFact(note),
    ]),
  });
}
