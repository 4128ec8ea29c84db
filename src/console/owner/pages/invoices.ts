import type { FastifyReply } from 'fastify';
import { readHeadFor } from '../../../../projections/proofs.ts';
import {
  findCreditNote,
  findInvoice,
  listDocuments,
  type ListedInvoice,
} from '../../../../projections/queries/account-documents.ts';
import { type FeeRise, readFeeRises } from '../../../../projections/queries/account-history.ts';
import { type Html, html, numberCell } from '../../../documents/html.ts';
import type { CreditNoteDocument, DocumentLine, InvoiceDocument } from '../../../documents/invoice-document.ts';
import { nextInvoice, type NextInvoiceLine } from '../../../domain/next-invoice.ts';
import { planName, type PlanNames } from '../../../domain/plans.ts';
import { summariseUsage } from '../../../domain/usage-summary.ts';
import { proofSection } from '../../document-proof.ts';
import { exportAnswer, exportOf } from '../../export.ts';
import {
  billedToFact,
  coversText,
  creditedTable,
  documentAs,
  documentFact,
  documentForms,
  givesBackFact,
  hasCharges,
  invoiceFacts,
  lineTable,
  noteTable,
} from '../../invoice-parts.ts';
import { amountCell, count, day, empty, facts, listTable, money, rowName, time } from '../../parts.ts';
import { summedTable, sumOf } from '../../summed-table.ts';
import { type Answer, missing, type OwnerVisit, page } from '../../visit.ts';
import { currentUsage } from '../current-usage.ts';
import type { ConsoleDependencies } from '../dependencies.ts';

/** Invoices and credit notes, to read, print and keep; and what the next invoice would say now. */

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { invoices, credit_notes: notes } = await listDocuments(dependencies, visit.session.accountId);
  const noteLinks = (invoice: ListedInvoice) =>
    notes
      .filter((note) => note.invoice_number === invoice.number)
      .map((note) => html`<a href="/console/credit-notes/${note.number}">Credit note ${note.number}</a> `);
  return page({
    title: 'Invoices',
    section: 'invoices',
    content: html`<p><a href="/console/invoices/draft">What the next invoice would say now</a></p>
      ${invoices.length > 0 && html`<p class="pages"><a href="/console/invoices.csv" download>All of these documents as CSV</a></p>`}
      ${summedTable(
        { name: 'Invoices', none: empty(html`<p>No invoice yet.</p>`) },
        invoices.toReversed(),
        {
          Invoice: rowName(({ number }) => html`<a data-row href="/console/invoices/${number}">Invoice ${number}</a>`),
          Document: (invoice) => html`<code>${invoice.document_number}</code>`,
          Issued: (invoice) => day(invoice.issued_at),
          Covers: coversText,
          Total: amountCell((invoice) => invoice.total_cents),
          Credited: numberCell(({ credited_cents: cents }) => (cents === 0 ? '' : money(-cents))),
          'Credit notes': noteLinks,
        },
        { sums: { Credited: money(-sumOf(invoices, ({ credited_cents: cents }) => cents)) } },
      )}`,
  });
}

/** Invoices and credit notes as they are listed, the newest first. */
export async function saveCsv(
  visit: OwnerVisit,
  dependencies: ConsoleDependencies,
  reply: FastifyReply,
): Promise<Answer> {
  const { invoices, credit_notes: notes } = await listDocuments(dependencies, visit.session.accountId);
  const rows = [
    ...invoices.map((invoice) => ({ type: 'invoice', ...invoice, invoice_number: null })),
    ...notes.map(({ cents, ...note }) => ({ type: 'credit_note', ...note, total_cents: -cents, credited_cents: null })),
  ].toSorted((one, other) => (one.issued_at < other.issued_at ? 1 : -1));
  const columns = [
    ...['issued_at', 'type', 'document_number', 'number', 'covers', 'period_start', 'period_end', 'invoice_number'],
    ...['reference', 'total_cents', 'credited_cents'],
  ];
  const exported = exportOf(rows, { fileName: 'invoices', columns, about: { of: 'invoices and credit notes' } });
  return await exportAnswer('csv', dependencies, { reply, ...visit }, exported);
}

export async function showDraft(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const usage = await currentUsage(visit, dependencies);
  const now = dependencies.now();
  const { period } = summariseUsage(usage, now);
  const { lines, total_cents: cents } = nextInvoice(usage, now);
  const total = { kind: 'total', cents } as const;
  const raised = lines.find(({ kind }) => kind === 'fee_difference');
  const rises = raised ? await readFeeRises(dependencies, visit.session.accountId, period) : [];
  // The read model may be behind: then the sum stands alone.
  const isWhole = sumOf(rises, (rise) => rise.cents) === raised?.cents;
  const shown = lines.flatMap((line): DraftLine[] =>
    line === raised && isWhole ? rises.map((rise) => ({ kind: 'rise', ...rise })) : [line],
  );
  return page({
    title: 'The next invoice, so far',
    section: 'invoices',
    content: html`<p>
        This is what would be due if the billing period ended now. It ends ${time(period.end)}; the invoice is issued
        soon after.
      </p>
      ${listTable('Lines so far', [...shown, total], {
        Line: rowName((line) =>
          line.kind === 'total' ? html`<strong>Total so far</strong>` : lineText(line, dependencies.planNames),
        ),
        Amount: numberCell(({ kind, cents }) =>
          kind === 'total' ? html`<strong>${money(cents)}</strong>` : money(cents),
        ),
      })}
      ${
        lines.some((line) => line.kind === 'overage' && line.downloads > 0) &&
        html`<p>
          <a href="${chargesAddress(period.start, period.end)}">The downloads that are charged beyond the allowance</a>
        </p>`
      }`,
  });
}

type DraftLine = NextInvoiceLine | ({ kind: 'rise' } & FeeRise);

function lineText(line: DraftLine, planNames: PlanNames): Html | string {
  switch (line.kind) {
    case 'overage':
      return `Downloads beyond the allowance, less what was waived: ${count(line.downloads)}`;
    case 'fee_difference':
      return 'Rise of the monthly fee by upgrades';
    case 'rise':
      return html`Rise of the monthly fee to that of the plan ${planName(line.plan, planNames)}, ${day(line.time)}`;
    case 'fee':
      return `Monthly fee of the next period, plan ${planName(line.plan, planNames)}`;
  }
}

const chargesAddress = (start: string, end: string) =>
  `/console/downloads?overage=yes&from=${start.slice(0, 10)}&to=${end.slice(0, 10)}`;

/** In the console with links; as a page to print, as CSV or as JSON where the address says so. */
export async function showInvoice(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { accountId } = visit.session;
  const as = visit.query.get('as');
  const wanted = { accountId, number: numberOf(visit), charges: hasCharges(as) };
  const invoice = await findInvoice(dependencies, wanted);
  if (!invoice) throw missing();
  const title = `Invoice ${String(invoice.number)}`;
  const file = await documentAs(invoice, as, dependencies);
  if (file) return file;
  const content = html`${invoiceContent(invoice)}
  ${proofSection(await readHeadFor(dependencies.pool, invoice.event.id))}`;
  return page({ title, section: 'invoices', content });
}

export async function showCreditNote(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { accountId } = visit.session;
  const note = await findCreditNote(dependencies, { accountId, number: numberOf(visit) });
  if (!note) throw missing();
  const title = `Credit note ${String(note.number)}`;
  const file = await documentAs(note, visit.query.get('as'), dependencies);
  if (file) return file;
  const content = html`${noteContent(note)} ${proofSection(await readHeadFor(dependencies.pool, note.event.id))}`;
  return page({ title, section: 'invoices', content });
}

const numberOf = ({ params }: OwnerVisit): number =>
  /^\d{1,9}$/.test(params['number'] ?? '') ? Number(params['number']) : 0;

const eventOf = ({ event }: InvoiceDocument | CreditNoteDocument): Html =>
  html`<p class="soft">Event ${event.revision} of <code>${event.stream}</code>, <code>${event.id}</code>.</p>`;

const invoiceContent = (invoice: InvoiceDocument): Html =>
  html`${facts([documentFact(invoice), billedToFact(invoice), ...invoiceFacts(invoice)])} ${documentForms()}
    <h2>Lines</h2>
    ${lineTable(invoice.lines, { 'Where it comes from': (line) => sourceOf(line, invoice) })}
    ${invoice.lines.map(waivers)}
    ${noteTable(invoice.credit_notes, ({ number }) => `/console/credit-notes/${String(number)}`, {
      Issued: ({ issued_at: at }) => day(at),
      'Of line': ({ line }) => line,
      Reason: ({ reason }) => reason,
    })}
    ${eventOf(invoice)}`;

const sourceOf = (
  { line, kind, items, event_id: eventId, stream }: DocumentLine,
  { period_start: start, period_end: end }: InvoiceDocument,
): Html =>
  html`${kind === 'overage' && html`<a data-row href="${chargesAddress(start, end)}">its downloads</a>`}
  ${items && html`<a data-row href="#line-${line}">its downloads</a>`}
  ${eventId !== null && html`event <code>${eventId}</code> of <code>${stream}</code>`}`;

/** A page holds so many waivers of a line; the files hold all. */
const mostItems = 100;

function waivers({ line, description, items }: DocumentLine): Html | false {
  if (!items || items.length === 0) return false;
  const shown = items.slice(0, mostItems);
  return html`<h2 id="line-${line}">Line ${line}: ${description}</h2>
    ${summedTable(
      { name: description },
      shown,
      {
        Time: (item) => time(item.time),
        Download: ({ token, platform, video_id: videoId }) =>
          html`<a data-row href="/console/downloads/${token}">${platform} ${videoId}</a>`,
        Reference: ({ reference }) => reference ?? '',
        Reason: ({ reason }) => reason ?? '',
        Amount: amountCell(({ cents }) => cents),
      },
      { isWhole: items.length === shown.length },
    )}
    ${items.length > shown.length && html`<p class="soft">${count(items.length - shown.length)} more are in the CSV.</p>`}`;
}

const noteContent = (note: CreditNoteDocument): Html =>
  html`${facts([
    documentFact(note),
    givesBackFact(note, { invoicePath: `/console/invoices/${String(note.invoice_number)}` }),
    ['Reason', note.reason],
    ['Reference', note.reference],
  ])}
  ${creditedTable(note, (token) => `/console/downloads/${token}`)} ${documentForms()} ${eventOf(note)}`;
