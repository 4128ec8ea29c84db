import { formatCents } from '../domain/cents.ts';
import { formatDay, formatDays } from './days.ts';
import { html, Html, table } from './html.ts';
import type { CreditNoteDocument, DocumentLine, InvoiceDocument } from './invoice-document.ts';
import { invoicePageStyle } from './invoice-page-style.ts';
import { formatRevisions } from './revisions.ts';

/** An invoice or a credit note to be printed: one file of HTML, without scripts and without anything from elsewhere. */

export function invoicePage(invoice: InvoiceDocument): string {
  const { number, account_id, issued_at, period_start, period_end, currency, billed_to, lines } = invoice;
  return page(`Invoice ${String(number)}`, invoice, [
    facts({
      'Billed to': billed_to,
      'Invoice number': String(number),
      Account: account_id,
      'Date of issue': formatDay(issued_at),
      Covers: invoice.covers === 'opening' ? 'the first monthly fee' : 'a closed billing period',
      Period: formatDays(period_start, period_end),
      Currency: currency,
    }),
    table(['Line', 'Description', right('Quantity'), right('Unit price'), right('Amount')], lines.map(lineRow)),
    totals(invoice),
    creditNotes(invoice),
    trace(invoice),
    ...lines.filter(({ charges }) => charges !== undefined).map(chargesOf),
  ]);
}

export function creditNotePage(note: CreditNoteDocument): string {
  const { number, account_id, issued_at, invoice_number, line, line_description, currency, billed_to } = note;
  const { reference, reason, charge_event_id: charge, cents, event } = note;
  return page(`Credit note ${String(number)}`, note, [
    facts({
      'Issued to': billed_to,
      'Credit note number': String(number),
      Account: account_id,
      'Date of issue': formatDay(issued_at),
      'Gives back of': `invoice ${String(invoice_number)}, line ${String(line)}`,
      Currency: currency,
      Reference: reference,
    }),
    table(
      ['Description', right('Amount')],
      [
        html`<tr>
          <td>
            ${line_description}
            <div class="detail">${reason}</div>
            ${charge !== null && html`<div class="detail">the charge <code>${charge}</code></div>`}
          </td>
          <td class="number">${money(cents)}</td>
        </tr>`,
      ],
    ),
    html`<table class="totals">
      <tr class="sum">
        <td>Total credited</td>
        <td class="number">${money(cents)}</td>
      </tr>
    </table>`,
    html`<footer>
      <p>This credit note is event ${event.revision} of <code>${event.stream}</code>, <code>${event.id}</code>.</p>
    </footer>`,
  ]);
}

function page(title: string, { issuer, account_id }: { issuer: string; account_id: string }, parts: Html[]): string {
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${issuer}: ${title.toLowerCase()} of ${account_id}</title>
        <style>
          ${new Html(invoicePageStyle)}
        </style>
      </head>
      <body>
        <main>
          <header>
            <div class="issuer">${issuer}</div>
            <h1>${title}</h1>
          </header>
          ${parts}
        </main>
      </body>
    </html> `;
  return document.text;
}

/** With separators of thousands, as on paper. */
const money = (cents: number): string => formatCents(cents).replaceAll(/\B(?=(?:\d{3})+\.)/g, ',');

const right = (head: string): Html => html`<span class="number">${head}</span>`;

function facts(given: Readonly<Record<string, string>>): Html {
  return html`<dl>
    ${Object.entries(given).map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}

function lineRow({
  line,
  description,
  quantity,
  rate_cents: rateCents,
  rate_version: version,
  cents,
}: DocumentLine): Html {
  return html`<tr>
    <td>${line}</td>
    <td>${description}${version !== null && html`<div class="detail">price list ${version}</div>`}</td>
    <td class="number">${rateCents !== null && quantity}</td>
    <td class="number">${rateCents !== null && money(rateCents)}</td>
    <td class="number">${money(cents)}</td>
  </tr>`;
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
  const rows = notes.map(
    ({ number, issued_at: issuedAt, line, reference, reason, cents }) =>
      html`<tr>
        <td>${number}</td>
        <td>${formatDay(issuedAt)}</td>
        <td>${line}</td>
        <td>${reference}</td>
        <td>${reason}</td>
        <td class="number">${money(-cents)}</td>
      </tr>`,
  );
  const heads = ['Note', 'Issued', 'Of line', 'Reference', 'Reason', right('Amount')];
  return html`<h2>Credit notes</h2>
    ${table(heads, rows)}`;
}

/** A page does not hold the ranges of a very busy period; the other forms do. */
const mostRanges = 12;

function trace({ account_id: accountId, period_start: start, event, lines }: InvoiceDocument): Html {
  const rows = lines.map(
    ({ line, stream, revisions, event_id: eventId, rate_cents: rateCents, rate_version: version }) =>
      html`<tr>
        <td>${line}</td>
        <td><code>${stream}</code></td>
        <td>${formatRevisions(revisions, mostRanges)}</td>
        <td>
          ${
            eventId === null
              ? html`each a charge of ${money(rateCents ?? 0)}, price list ${version ?? ''}`
              : html`<code>${eventId}</code>`
          }
        </td>
      </tr>`,
  );
  return html`<section class="trace">
      <h2>Where each line comes from</h2>
      ${table(['Line', 'Stream of the event log', 'Revisions', 'Event'], rows)}
    </section>
    <footer>
      <p>
        Each charge with its event and its rate:
        <code>reeltally ledger show ${accountId} --period ${start.slice(0, 10)}</code>
      </p>
      <p>This invoice is event ${event.revision} of <code>${event.stream}</code>, <code>${event.id}</code>.</p>
      <p>Days begin and end at midnight UTC. Amounts are in US dollars.</p>
    </footer>`;
}

function chargesOf({ line, charges = [], description }: DocumentLine): Html {
  const rows = charges.map(
    ({ event_id: eventId, revision, time, token, cents }) =>
      html`<tr>
        <td class="number">${revision}</td>
        <td>${time.slice(0, 19).replace('T', ' ')}</td>
        <td><code>${token}</code></td>
        <td><code>${eventId}</code></td>
        <td class="number">${money(cents)}</td>
      </tr>`,
  );
  return html`<section class="charges">
    <h2>Line ${line}: ${description}</h2>
    ${table([right('Revision'), 'Time (UTC)', 'Download', 'Event', right('Amount')], rows)}
  </section>`;
}
