import { formatCents } from '../domain/cents.ts';
import { formatDay, formatDays } from './days.ts';
import { columnTable, Html, html, numberCell } from './html.ts';
import {
  type BilledTo,
  type CreditNoteDocument,
  type DocumentLine,
  type InvoiceDocument,
  taxSentences,
} from './invoice-document.ts';
import { invoicePageStyle } from './invoice-page-style.ts';
import { formatRevisions } from './revisions.ts';

/** An invoice or a credit note to be printed: one file of HTML, without scripts and without anything from elsewhere. */

export function invoicePage(invoice: InvoiceDocument): string {
  const { account_id, issued_at, period_start, period_end, currency, billed_to, lines } = invoice;
  return page('Invoice', invoice, [
    facts({
      'Billed to': addressOf(billed_to),
      'Invoice number': invoice.document_number,
      Account: account_id,
      'Date of issue': formatDay(issued_at),
      Covers: invoice.covers === 'opening' ? 'the first monthly fee' : 'a closed billing period',
      Period: formatDays(period_start, period_end),
      Currency: currency,
    }),
    columnTable(lines, {
      Line: ({ line }) => line,
      Description: ({ description, rate_version: version }) =>
        html`${description}${version !== null && html`<div class="detail">price list ${version}</div>`}`,
      Quantity: numberCell(({ rate_cents: rate, quantity }) => (rate === null ? '' : String(quantity))),
      'Unit price': numberCell(({ rate_cents: rate }) => (rate === null ? '' : money(rate))),
      Amount: numberCell(({ cents }) => money(cents)),
    }),
    totals(invoice),
    creditNotes(invoice),
    ...lines.map(itemsOf),
    trace(invoice),
  ]);
}

export function creditNotePage(note: CreditNoteDocument): string {
  const { account_id, issued_at, line, line_description, currency, billed_to } = note;
  const { reference, reason, charges, cents, event } = note;
  return page('Credit note', note, [
    facts({
      'Issued to': addressOf(billed_to),
      'Credit note number': note.document_number,
      Account: account_id,
      'Date of issue': formatDay(issued_at),
      'Gives back of': `invoice ${note.invoice_document_number}, line ${String(line)}`,
      Currency: currency,
      Reference: reference,
    }),
    columnTable([note], {
      Description: () =>
        html`${line_description}
          <div class="detail">${reason}</div>
          ${charges.length > 0 && html`<div class="detail">${chargesText(charges.length)}</div>`}`,
      Amount: numberCell(() => money(cents)),
    }),
    html`<table class="totals">
      <tr class="sum">
        <td>Total credited</td>
        <td class="number">${money(cents)}</td>
      </tr>
    </table>`,
    creditedCharges(note),
    html`<footer>
      ${questions(note)}
      <p>${taxSentences(note)}</p>
      <p>This credit note is event ${event.revision} of <code>${event.stream}</code>, <code>${event.id}</code>.</p>
    </footer>`,
  ]);
}

const chargesText = (count: number): string => (count === 1 ? 'one charge' : `${String(count)} charges`);

function creditedCharges({ charges }: CreditNoteDocument): Html {
  if (charges.length === 0) return html``;
  return html`<section class="items">
    <h2>Charges given back</h2>
    ${columnTable(charges, {
      Download: ({ token }) => html`<code>${token}</code>`,
      'Event of the charge': ({ charge_event_id: id }) => html`<code>${id}</code>`,
      Amount: numberCell(({ cents }) => money(cents)),
    })}
  </section>`;
}

function page(title: string, shown: InvoiceDocument | CreditNoteDocument, parts: Html[]): string {
  const { issuer, document_number: number } = shown;
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${issuer.name}: ${title.toLowerCase()} ${number}</title>
        <style>
          ${new Html(invoicePageStyle)}
        </style>
      </head>
      <body>
        <main>
          <header>
            <div>
              <div class="issuer">${issuer.name}</div>
              <address>${linesOf({ ...issuer, name: null })}</address>
            </div>
            <h1>${title}</h1>
          </header>
          ${parts}
        </main>
      </body>
    </html> `;
  return document.text;
}

const addressOf = (party: BilledTo): Html => html`<address>${linesOf(party)}</address>`;

function linesOf({ name, address_lines: lines, country, tax_id: taxId, email }: BilledTo): Html[] {
  const all = [name, ...lines, country, taxId !== null && `Tax ID ${taxId}`, email];
  return all.filter((line) => line !== null && line !== false).map((line) => html`<div>${line}</div>`);
}

const questions = ({ issuer: { email } }: InvoiceDocument | CreditNoteDocument): Html =>
  email === null ? html`` : html`<p>Questions about it: ${email}</p>`;

/** With separators of thousands, as on paper. */
const money = (cents: number): string => formatCents(cents).replaceAll(/\B(?=(?:\d{3})+\.)/g, ',');

function facts(given: Readonly<Record<string, string | Html>>): Html {
  return html`<dl>
    ${Object.entries(given).map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}

function totals({
  total_cents: totalCents,
  credited_cents: creditedCents,
  credit_notes: notes,
}: InvoiceDocument): Html {
  const row = (name: string, cents: number, isSum = false) =>
    html`<tr class="${isSum && 'sum'}">
      <td>${name}</td>
      <td class="number">${money(cents)}</td>
    </tr>`;
  return html`<table class="totals">
    ${
      notes.length === 0
        ? row('Total due', totalCents, true)
        : [
            row('Total', totalCents),
            row('Credited', -creditedCents),
            row('Remaining', totalCents - creditedCents, true),
          ]
    }
  </table>`;
}

function creditNotes({ credit_notes: notes }: InvoiceDocument): Html {
  if (notes.length === 0) return html``;
  return html`<h2>Credit notes</h2>
    ${columnTable(notes, {
      Note: { attributes: () => html`class="whole"`, content: (note) => note.document_number },
      Issued: ({ issued_at: at }) => formatDay(at),
      'Of line': ({ line }) => line,
      Reference: ({ reference }) => reference,
      Reason: ({ reason }) => reason,
      Amount: numberCell(({ cents }) => money(-cents)),
    })}`;
}

/** A page does not hold the ranges of a very busy period; the other forms do. */
const mostRanges = 12;

function trace(invoice: InvoiceDocument): Html {
  const { account_id: accountId, period_start: start, event, lines } = invoice;
  const eventOf = ({ kind, event_id: id, rate_cents: rate, rate_version: version }: DocumentLine) =>
    id === null
      ? html`each ${kind === 'waivers' && 'a waiver of'} a charge of ${money(rate ?? 0)}, price list ${version ?? ''}`
      : html`<code>${id}</code>`;
  return html`<section class="trace">
      <h2>Where each line comes from</h2>
      ${columnTable(lines, {
        Line: ({ line }) => line,
        'Stream of the event log': ({ stream }) => html`<code>${stream}</code>`,
        Revisions: ({ revisions }) => formatRevisions(revisions, mostRanges),
        Event: eventOf,
      })}
    </section>
    <footer>
      ${questions(invoice)}
      <p>
        Each charge with its event and its rate:
        <code>reeltally ledger show ${accountId} --period ${start.slice(0, 10)}</code>
      </p>
      <p>This invoice is event ${event.revision} of <code>${event.stream}</code>, <code>${event.id}</code>.</p>
      <p>${taxSentences(invoice)}</p>
      <p>Days begin and end at midnight UTC. Amounts are in US dollars.</p>
    </footer>`;
}

/** A page does not list the charges of a very busy period either. */
const mostItems = 500;

function itemsOf({ line, items, description, kind }: DocumentLine): Html {
  if (!items) return html``;
  const count = String(items.length);
  const listed =
    items.length > mostItems
      ? `${String(mostItems)} of ${count} are listed here, the CSV, JSON and text forms of this invoice list all of them.`
      : `${count} in all.`;
  return html`<section class="items">
    <h2>Line ${line}: ${description}</h2>
    <p>${listed}</p>
    ${columnTable(items.slice(0, mostItems), {
      'Time (UTC)': ({ time }) => html`${time.slice(0, 10)}<br />${time.slice(11, 19)}`,
      Download: ({ platform, video_id: videoId, token }) => html`${platform} ${videoId}<br /><code>${token}</code>`,
      'Reference and reason':
        kind !== 'overage' &&
        (({ reference, reason }) =>
          html`${reference ?? ''}
            <div>${reason ?? ''}</div>`),
      Event: ({ revision, event_id: id }) => html`revision ${revision}<br /><code>${id}</code>`,
      Amount: numberCell(({ cents }) => money(cents)),
    })}
  </section>`;
}
