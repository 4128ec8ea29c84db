import { readInvoices } from '../../../projections/invoices.ts';
import { readAccount } from '../../commands/accounts.ts';
import { html } from '../../documents/html.ts';
import { formatDays } from '../../documents/days.ts';
import { creditNoteCsv, invoiceCsv } from '../../documents/invoice-csv.ts';
import { creditNoteDocument, invoiceDocument } from '../../documents/invoice-document.ts';
import { creditNotePage, invoicePage } from '../../documents/invoice-page.ts';
import { invoicesStream } from '../../domain/invoice-events.ts';
import { comingTerms, isOverAt } from '../../domain/usage-periods.ts';
import { summariseUsage } from '../../domain/usage-summary.ts';
import { currentUsage } from '../current-usage.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { count, day, empty, money, number, numberHead, time, wideTable } from '../parts.ts';
import { missing, page } from '../visit.ts';
import type { Answer, OwnerVisit } from '../visit.ts';

/** Invoices and credit notes, to read, print and keep; and what the next invoice would say now. */

export async function show(visit: OwnerVisit, { pool }: ConsoleDependencies): Promise<Answer> {
  const { invoices, creditNotes } = await readInvoices(pool, visit.session.accountId);
  const rows = invoices.toReversed().map(({ data, issuedAt }) => {
    const notes = creditNotes.filter(({ data: note }) => note.invoice_number === data.number);
    const creditedCents = notes.reduce((sum, { data: note }) => sum + note.cents, 0);
    return html`<tr>
      <th scope="row"><a data-row href="/console/invoices/${data.number}">Invoice ${data.number}</a></th>
      <td>${day(issuedAt)}</td>
      <td>${data.covers === 'opening' ? 'the first fee' : formatDays(data.period_start, data.period_end)}</td>
      ${number(money(data.total_cents))} ${number(creditedCents === 0 ? '' : money(-creditedCents))}
      <td>
        ${notes.map(({ data: note }) => html`<a href="/console/credit-notes/${note.number}">Credit note ${note.number}</a> `)}
      </td>
      <td><a href="/console/invoices/${data.number}?as=csv">CSV</a></td>
    </tr>`;
  });
  const heads = ['Invoice', 'Issued', 'Covers', numberHead('Total'), numberHead('Credited'), 'Credit notes', 'File'];
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
  const lines = [
    ...(over
      ? []
      : [
          {
            text: `Downloads beyond the allowance, less what was waived: ${count(usage.overageDownloads)}`,
            cents: usage.overageCents,
          },
        ]),
    ...(over || usage.feeDifferenceCents === 0
      ? []
      : [{ text: 'Rise of the monthly fee by upgrades', cents: usage.feeDifferenceCents }]),
    { text: `Monthly fee of the next period, plan ${coming.plan}`, cents: coming.fee_cents },
  ];
  const range = `from=${period.start.slice(0, 10)}&to=${period.end.slice(0, 10)}`;
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
            ${number(html`<strong>${money(lines.reduce((sum, { cents }) => sum + cents, 0))}</strong>`)}
          </tr>`,
        ],
      )}
      <p><a href="/console/downloads?${range}&overage=yes">The downloads that are charged beyond the allowance</a></p>`,
  });
}

export async function showInvoice(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { accountId } = visit.session;
  const { invoices, creditNotes } = await readInvoices(dependencies.pool, accountId);
  const invoice = invoices.find(({ data }) => String(data.number) === visit.params['number']);
  if (!invoice) throw missing();
  const document = invoiceDocument(invoice, creditNotes, await partiesOf(accountId, dependencies));
  if (visit.query.get('as') !== 'csv') return { kind: 'document', html: invoicePage(document) };
  return {
    kind: 'file',
    body: invoiceCsv(document),
    mediaType: 'text/csv; charset=utf-8',
    fileName: `invoice-${String(document.number)}.csv`,
  };
}

export async function showCreditNote(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { accountId } = visit.session;
  const { invoices, creditNotes } = await readInvoices(dependencies.pool, accountId);
  const note = creditNotes.find(({ data }) => String(data.number) === visit.params['number']);
  const invoice = invoices.find(({ data }) => data.number === note?.data.invoice_number);
  if (!note || !invoice) throw missing();
  const document = creditNoteDocument(note, invoice.data, await partiesOf(accountId, dependencies));
  if (visit.query.get('as') !== 'csv') return { kind: 'document', html: creditNotePage(document) };
  return {
    kind: 'file',
    body: creditNoteCsv(document),
    mediaType: 'text/csv; charset=utf-8',
    fileName: `credit-note-${String(document.number)}.csv`,
  };
}

async function partiesOf(accountId: string, { store, issuer }: ConsoleDependencies) {
  const { opened } = await readAccount(store, accountId);
  return { issuer, billedTo: opened?.personal.email ?? '', stream: invoicesStream(accountId) };
}
