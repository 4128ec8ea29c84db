import { formatDays } from '../../../documents/days.ts';
import { type Html, html } from '../../../documents/html.ts';
import type { CreditNoteDocument, DocumentLine, InvoiceDocument } from '../../../documents/invoice-document.ts';
import { renderDocument } from '../../../documents/render-document.ts';
import { comingTerms, isOverAt } from '../../../domain/usage-periods.ts';
import { summariseUsage } from '../../../domain/usage-summary.ts';
import { findCreditNote, findInvoice, listDocuments } from '../../../invoices/account-documents.ts';
import { count, day, empty, money, number, numberHead, time, wideTable } from '../../parts.ts';
import { type Answer, missing, type OwnerVisit, page } from '../../visit.ts';
import { currentUsage } from '../current-usage.ts';
import type { ConsoleDependencies } from '../dependencies.ts';

/** Invoices and credit notes, to read, print and keep; and what the next invoice would say now. */

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { invoices, credit_notes: notes } = await listDocuments(dependencies, visit.session.accountId);
  const rows = invoices.toReversed().map(
    (invoice) =>
      html`<tr>
        <th scope="row"><a data-row href="/console/invoices/${invoice.number}">Invoice ${invoice.number}</a></th>
        <td><code>${invoice.document_number}</code></td>
        <td>${day(invoice.issued_at)}</td>
        <td>
          ${invoice.covers === 'opening' ? 'the first fee' : formatDays(invoice.period_start, invoice.period_end)}
        </td>
        ${number(money(invoice.total_cents))}
        ${number(invoice.credited_cents === 0 ? '' : money(-invoice.credited_cents))}
        <td>
          ${notes
            .filter((note) => note.invoice_number === invoice.number)
            .map((note) => html`<a href="/console/credit-notes/${note.number}">Credit note ${note.number}</a> `)}
        </td>
      </tr>`,
  );
  const heads = [
    'Invoice',
    'Document',
    'Issued',
    'Covers',
    numberHead('Total'),
    numberHead('Credited'),
    'Credit notes',
  ];
  return page({
    title: 'Invoices',
    section: 'invoices',
    content: html`<p><a href="/console/invoices/draft">What the next invoice would say now</a></p>
      ${rows.length === 0 ? empty(html`<p>No invoice yet.</p>`) : wideTable('Invoices', heads, rows)}`,
  });
}

export async function showDraft(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const usage = await currentUsage(visit, dependencies);
  const now = dependencies.now();
  const over = isOverAt(usage, now);
  const { period } = summariseUsage(usage, now);
  const coming = comingTerms(usage);
  const overage = `Downloads beyond the allowance, less what was waived: ${count(usage.overageDownloads)}`;
  const lines = [
    ...(over ? [] : [{ text: overage, cents: usage.overageCents }]),
    ...(over || usage.feeDifferenceCents === 0
      ? []
      : [{ text: 'Rise of the monthly fee by upgrades', cents: usage.feeDifferenceCents }]),
    { text: `Monthly fee of the next period, plan ${coming.plan}`, cents: coming.fee_cents },
  ];
  const totalCents = lines.reduce((sum, { cents }) => sum + cents, 0);
  return page({
    title: 'The next invoice, so far',
    section: 'invoices',
    content: html`<p>
        This is what would be due if the billing period ended now. It ends ${time(period.end)}; the invoice is issued
        soon after.
      </p>
      ${wideTable(
        'Lines so far',
        ['Line', numberHead('Amount')],
        [
          ...lines.map(
            ({ text, cents }) =>
              html`<tr>
                <td>${text}</td>
                ${number(money(cents))}
              </tr>`,
          ),
          html`<tr>
            <th scope="row">Total so far</th>
            ${number(html`<strong>${money(totalCents)}</strong>`)}
          </tr>`,
        ],
      )}
      <p>
        <a href="${chargesAddress(period.start, period.end)}">The downloads that are charged beyond the allowance</a>
      </p>`,
  });
}

const chargesAddress = (start: string, end: string) =>
  `/console/downloads?overage=yes&from=${start.slice(0, 10)}&to=${end.slice(0, 10)}`;

/** In the console with links; as a page to print, as CSV or as JSON where the address says so. */
export async function showInvoice(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { accountId } = visit.session;
  const as = visit.query.get('as');
  const wanted = { accountId, number: numberOf(visit), charges: as === 'csv' || as === 'json' };
  const invoice = await findInvoice(dependencies, wanted);
  if (!invoice) throw missing();
  const title = `Invoice ${String(invoice.number)}`;
  return inForm(invoice, as) ?? page({ title, section: 'invoices', content: invoiceContent(invoice) });
}

export async function showCreditNote(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { accountId } = visit.session;
  const note = await findCreditNote(dependencies, { accountId, number: numberOf(visit) });
  if (!note) throw missing();
  const title = `Credit note ${String(note.number)}`;
  return inForm(note, visit.query.get('as')) ?? page({ title, section: 'invoices', content: noteContent(note) });
}

const numberOf = ({ params }: OwnerVisit): number =>
  /^\d{1,9}$/.test(params['number'] ?? '') ? Number(params['number']) : 0;

const mediaTypes = { csv: 'text/csv; charset=utf-8', json: 'application/json' } as const;

function inForm(document: InvoiceDocument | CreditNoteDocument, as: string | null): Answer | undefined {
  if (as === 'print') return { kind: 'document', html: renderDocument(document, 'html') };
  if (as !== 'csv' && as !== 'json') return undefined;
  const fileName = `${document.type}-${document.document_number}.${as}`;
  return { kind: 'file', body: renderDocument(document, as), mediaType: mediaTypes[as], fileName };
}

const forms = (): Html =>
  html`<p class="pages">
    <a class="button" href="?as=print">Print or save</a> <a href="?as=csv" download>CSV</a>
    <a href="?as=json" download>JSON</a>
  </p>`;

function invoiceContent(invoice: InvoiceDocument): Html {
  const { lines, credit_notes: notes, total_cents: totalCents, credited_cents: creditedCents } = invoice;
  return html`<dl class="facts">
      <dt>Document</dt>
      <dd><code>${invoice.document_number}</code>, issued ${time(invoice.issued_at)}</dd>
      <dt>Billed to</dt>
      <dd>${invoice.billed_to.name ?? invoice.billed_to.email ?? ''}</dd>
      <dt>Covers</dt>
      <dd>${invoice.covers === 'opening' ? 'the first fee' : formatDays(invoice.period_start, invoice.period_end)}</dd>
      <dt>Total</dt>
      <dd>
        <strong>${money(totalCents)}</strong>${creditedCents > 0 && `, of which ${money(creditedCents)} is credited`}
      </dd>
    </dl>
    ${forms()}
    <h2>Lines</h2>
    ${wideTable(
      'Lines',
      [
        'Line',
        'Description',
        numberHead('Quantity'),
        numberHead('Unit price'),
        numberHead('Amount'),
        'Where it comes from',
      ],
      lines.map((line) => lineRow(line, invoice)),
    )}
    ${lines.map(waivers)}
    ${
      notes.length > 0 &&
      html`<h2>Credit notes</h2>
        ${wideTable(
          'Credit notes',
          ['Credit note', 'Issued', 'Of line', 'Reason', numberHead('Amount')],
          notes.map(
            (note) =>
              html`<tr>
                <th scope="row">
                  <a data-row href="/console/credit-notes/${note.number}">Credit note ${note.number}</a>
                </th>
                <td>${day(note.issued_at)}</td>
                <td>${note.line}</td>
                <td>${note.reason}</td>
                ${number(money(-note.cents))}
              </tr>`,
          ),
        )}`
    }
    <p class="soft">
      Event ${invoice.event.revision} of <code>${invoice.event.stream}</code>, <code>${invoice.event.id}</code>.
    </p>`;
}

function lineRow(line: DocumentLine, { period_start: start, period_end: end }: InvoiceDocument): Html {
  const { line: at, description, quantity, rate_cents: rateCents, cents, kind, event_id: eventId, stream } = line;
  const isOverage = kind === 'overage';
  return html`<tr>
    <td>${at}</td>
    <td>${description}</td>
    ${number(rateCents === null ? '' : count(quantity))} ${number(rateCents === null ? '' : money(rateCents))}
    ${number(money(cents))}
    <td>
      ${isOverage && html`<a data-row href="${chargesAddress(start, end)}">its downloads</a>`}
      ${line.items && html`<a data-row href="#line-${at}">its downloads</a>`}
      ${eventId !== null && html`event <code>${eventId}</code> of <code>${stream}</code>`}
    </td>
  </tr>`;
}

/** A page holds so many waivers of a line; the files hold all. */
const mostItems = 100;

function waivers({ line, description, items }: DocumentLine): Html | false {
  if (!items || items.length === 0) return false;
  const shown = items.slice(0, mostItems);
  return html`<h2 id="line-${line}">Line ${line}: ${description}</h2>
    ${wideTable(
      description,
      ['Time', 'Download', 'Reference', 'Reason', numberHead('Amount')],
      shown.map(
        ({ time: at, token, platform, video_id: videoId, reference, reason, cents }) =>
          html`<tr>
            <td>${time(at)}</td>
            <td><a data-row href="/console/downloads/${token}">${platform} ${videoId}</a></td>
            <td>${reference ?? ''}</td>
            <td>${reason ?? ''}</td>
            ${number(money(cents))}
          </tr>`,
      ),
    )}
    ${items.length > shown.length && html`<p class="soft">${count(items.length - shown.length)} more are in the CSV.</p>`}`;
}

function noteContent(note: CreditNoteDocument): Html {
  return html`<dl class="facts">
      <dt>Document</dt>
      <dd><code>${note.document_number}</code>, issued ${time(note.issued_at)}</dd>
      <dt>Gives back</dt>
      <dd>
        <strong>${money(note.cents)}</strong> of
        <a href="/console/invoices/${note.invoice_number}">invoice ${note.invoice_number}</a>, line ${note.line}:
        ${note.line_description}
      </dd>
      <dt>Reason</dt>
      <dd>${note.reason}</dd>
      <dt>Reference</dt>
      <dd>${note.reference}</dd>
    </dl>
    ${forms()}
    <p class="soft">
      Event ${note.event.revision} of <code>${note.event.stream}</code>, <code>${note.event.id}</code>.
    </p>`;
}
