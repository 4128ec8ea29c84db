import { formatDays } from '../../../documents/days.ts';
import { type Html, html } from '../../../documents/html.ts';
import type { CreditNoteDocument, InvoiceDocument } from '../../../documents/invoice-document.ts';
import { count, money, number, numberHead, time, wideTable } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountPath, creditNotePath, eventAtPath, eventPath, invoicePath } from '../addresses.ts';
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

function invoiceContent(invoice: InvoiceLeft): Html {
  const { total_cents: totalCents, credited_cents: creditedCents } = invoice;
  return html`${facts(invoice, [
      ['Covers', invoice.covers === 'opening' ? 'the first fee' : formatDays(invoice.period_start, invoice.period_end)],
      [
        'Total',
        html`<strong>${money(totalCents)}</strong
          >${creditedCents > 0 && `, of which ${money(creditedCents)} is credited`}`,
      ],
    ])}
    <h2>Lines</h2>
    ${lines(invoice)}
    <p class="soft">
      The amount left is never more than the line less its waivers, nor than what is left of the whole invoice.
    </p>
    ${notes(invoice)}`;
}

const facts = (
  { account_id: accountId, event, ...document }: InvoiceDocument | CreditNoteDocument,
  more: readonly (readonly [name: string, value: Html | string])[],
): Html =>
  html`<dl class="facts">
    <dt>Document</dt>
    <dd><code>${document.document_number}</code>, issued ${time(document.issued_at)}</dd>
    <dt>Account</dt>
    <dd>
      <a href="${accountPath(accountId)}"><code>${accountId}</code></a>
    </dd>
    <dt>Billed to</dt>
    <dd>${document.billed_to.name ?? document.billed_to.email ?? ''}</dd>
    ${more.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
    <dt>Event</dt>
    <dd>
      <a href="${eventPath(event.id)}"><code>${event.id}</code></a>
    </dd>
  </dl>`;

const lines = (invoice: InvoiceLeft): Html =>
  wideTable(
    'Lines',
    [
      ...['Line', 'Description'],
      ...['Quantity', 'Unit price', 'Amount', 'Left'].map(numberHead),
      ...['Source', html`<span class="visually-hidden">Action</span>`],
    ],
    invoice.lines.map((line) => {
      const isUnits = line.rate_cents !== null;
      const creditPath = `${invoicePath(invoice.account_id, invoice.number)}/lines/${String(line.line)}/credit`;
      return html`<tr>
        <td>${line.line}</td>
        <td>${line.description}</td>
        ${number(isUnits ? count(line.quantity) : '')} ${number(isUnits ? money(line.rate_cents ?? 0) : '')}
        ${number(money(line.cents))} ${number(line.cents < 0 ? '' : money(line.left_cents))}
        <td>${sourceOf(line, invoice)}</td>
        <td>${line.left_cents > 0 && html`<a data-row href="${creditPath}">Credit…</a>`}</td>
      </tr>`;
    }),
  );

function sourceOf(line: LineOfInvoice, { account_id: accountId, period_start: start }: InvoiceLeft): Html {
  const [[revision] = [0]] = line.revisions;
  if (line.event_id !== null) return html`<a href="${eventAtPath({ stream: line.stream, revision })}">its event</a>`;
  return html`<a href="/staff/overage/${accountId}/${start.slice(0, 10)}">its charges</a>`;
}

function notes({ account_id: accountId, credit_notes: all }: InvoiceLeft): Html | false {
  if (all.length === 0) return false;
  return html`<h2>Credit notes</h2>
    ${wideTable(
      'Credit notes',
      ['Credit note', 'Issued', 'Line', 'Reference', 'Reason', numberHead('Amount')],
      all.map(
        (note) =>
          html`<tr>
            <th scope="row">
              <a data-row href="${creditNotePath(accountId, note.number)}">Credit note ${note.number}</a>
            </th>
            <td>${time(note.issued_at)}</td>
            <td>${note.line}</td>
            <td>${note.reference}</td>
            <td><div class="reason">${note.reason}</div></td>
            ${number(money(-note.cents))}
          </tr>`,
      ),
    )}`;
}

export async function showCreditNote(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const note = await see(creditNoteView, viewerOf(visit), dependencies, inputOf(visit));
  const { account_id: accountId, invoice_number: invoiceNumber, charge_event_id: chargeId } = note;
  return page({
    title: `Credit note ${String(note.number)}`,
    section: 'search',
    content: facts(note, [
      [
        'Gives back',
        html`<strong>${money(note.cents)}</strong> of
          <a href="${invoicePath(accountId, invoiceNumber)}">invoice ${invoiceNumber}</a>, line ${note.line}:
          ${note.line_description}${chargeId !== null && html`, of <a href="${eventPath(chargeId)}">one charge</a>`}`,
      ],
      ['Issued by', html`<code>${note.issued_by}</code>`],
      ['Reason', note.reason],
      ['Reference', note.reference],
    ]),
  });
}
