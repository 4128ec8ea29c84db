import type { FastifyReply } from 'fastify';
import type { salesStates } from '../../../../projections/queries/sales-book.ts';
import { recordAccess } from '../../../commands/staff.ts';
import { type Columns, type Html, html, numberCell } from '../../../documents/html.ts';
import { exportAnswer, type ExportForm } from '../../export.ts';
import { choiceField, sentFilters } from '../../form-fields.ts';
import { amountCell, count, day, empty, figures, money, note } from '../../parts.ts';
import { summedTable, sumOf } from '../../summed-table.ts';
import { type Answer, badInput, PageRefusal, type StaffVisit } from '../../visit.ts';
import { accountPath, documentPath, type FileEnding, fileLinks, pageLinks, withQuery } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { viewPage } from '../view.ts';
import {
  accessRecordsOf,
  exportedSales,
  type SalesBook,
  salesBook,
  salesFileInput,
  type SalesInput,
  salesRow,
  type ShownSale,
} from '../views/sales-book.ts';

/** The sales book: all invoices and credit notes, to be listed, summed up and saved. */

export const show = viewPage(salesBook, {
  title: 'Sales book',
  section: 'months',
  content: (shown, _visit, _dependencies, input) => {
    const filter = { ...input, issued: shown.issued ?? undefined };
    return html`${filters(filter)} ${sums(shown, filter)} ${list(shown, filter)}`;
  },
  filters: (visit) => filters(sentFilters(visit)),
});

const salesAddress = (fields: Partial<Record<keyof SalesInput, string | undefined>>, as: FileEnding = '') =>
  withQuery(`/staff/sales-book${as}`, fields);

const stateNames: Readonly<Record<(typeof salesStates)[number], string>> = {
  open: 'invoices with nothing credited',
  partly_credited: 'invoices credited in part',
  credited: 'invoices credited in full',
  credit_note: 'credit notes',
};

const filters = ({ issued, period, state, country }: Partial<Record<keyof SalesInput, string | undefined>>): Html =>
  html`<p>
      Amounts are in US dollars, without tax. A document is listed with the name, the country and the tax ID of its
      date.
    </p>
    <form method="get" action="/staff/sales-book" class="filters">
      <label>Issued in <input type="month" name="issued" value="${issued ?? ''}" placeholder="2026-11" /></label>
      <label
        >For periods that begin in <input type="month" name="period" value="${period ?? ''}" placeholder="2026-11"
      /></label>
      <label>Country <input name="country" value="${country ?? ''}" maxlength="2" placeholder="DE" /></label>
      ${choiceField('Documents', 'state', state, [['', 'all'], ...Object.entries(stateNames)])}
      <button class="second">Show</button>
    </form>`;

function sums({ sums: all }: SalesBook, { period, issued, state, country }: SalesInput): Html {
  const isOfClose = period !== undefined && [issued, state, country].every((each) => each === undefined);
  const close = isOfClose && html`<a href="/staff/months/${period}">the close of ${period}</a>`;
  if (!all)
    return note(
      'info',
      close
        ? html`The sums of these documents are those of ${close}.`
        : html`These are too many documents to sum up on a page: the files have all of them.`,
    );
  return html`${figures([
    { name: 'Documents', value: count(all.documents) },
    { name: 'Invoiced', value: money(all.invoiced_cents) },
    { name: 'Credited', value: money(all.credited_cents) },
    { name: 'Result', value: money(all.result_cents) },
  ])}
  ${close && note('info', html`These are the sums of ${close}.`)}`;
}

function list({ rows, next }: SalesBook, { after, ...filter }: SalesInput): Html {
  const sumOfInvoices = (of: 'credited_cents' | 'left_cents') => money(sumOf(rows, (row) => row[of]));
  const none = empty(html`<p>No document ${next === null ? 'matches' : 'of this page matches'}.</p>`);
  return html`${fileLinks('documents', (as) => salesAddress(filter, as))}
    <p class="pages">
      <span>Documents of all months:</span> <a href="${salesAddress({ issued: 'all' }, '.csv')}" download>CSV</a>
      <a href="${salesAddress({ issued: 'all' }, '.json')}" download>JSON</a>
    </p>
    ${summedTable({ name: 'Documents', none }, rows, columns, {
      isWhole: next === null && after === undefined,
      sums: { Credited: sumOfInvoices('credited_cents'), Left: sumOfInvoices('left_cents') },
    })}
    ${pageLinks((from) => salesAddress({ ...filter, after: from }), { after, next })}`;
}

const columns: Columns<ShownSale> = {
  Issued: (row) => day(row.issued_at),
  Document: ({ type, account_id: accountId, number, document_number: name, invoice_document_number: of }) =>
    html`<a
        data-row
        href="${documentPath(type === 'invoice' ? 'InvoiceIssued' : 'CreditNoteIssued', { accountId, number })}"
        ><code>${name}</code></a
      >${of !== null && html`<div class="soft">of ${of}</div>`}`,
  Customer: ({ customer, account_id: id }) => html`<a href="${accountPath(id)}">${customer ?? id}</a>`,
  Country: (row) => row.country ?? '',
  'Tax ID': (row) => row.tax_id ?? '',
  Lines: (row) => row.kinds.join(', '),
  Net: amountCell((row) => row.net_cents),
  Credited: numberCell(({ type, credited_cents: cents }) => (type === 'invoice' ? money(cents) : '')),
  Left: numberCell(({ type, left_cents: cents }) => (type === 'invoice' ? money(cents) : '')),
};

const recordMs = 5_000;

/** The file of all rows: each look at somebody's name is recorded before the rows are sent. */
const fileAs =
  (form: ExportForm) =>
  (visit: StaffVisit, dependencies: StaffDependencies, reply: FastifyReply): Promise<Answer> => {
    const given = salesFileInput.safeParse(Object.fromEntries([...visit.query].filter(([, value]) => value !== '')));
    if (!given.success) throw badInput(given.error.issues[0]?.message ?? 'The input cannot be read');
    const { filter, rows } = exportedSales(dependencies, given.data);
    const { issued, period } = filter;
    return exportAnswer(
      form,
      dependencies,
      { reply, ...visit },
      {
        fileName: ['sales-book', issued ?? period].filter((part) => part !== undefined).join('-'),
        columns: Object.keys(salesRow.shape),
        about: { of: 'sales book', ...filter },
        rows: () => recorded(visit, dependencies, rows),
      },
    );
  };

async function* recorded(visit: StaffVisit, dependencies: StaffDependencies, pages: AsyncGenerator<ShownSale[]>) {
  const viewer = { staffId: visit.session.staffId, correlationId: visit.request.id };
  for await (const page of pages) {
    const accessRecords = accessRecordsOf(page);
    const refused = await recordAccess(dependencies, { ...viewer, accessRecords, timeoutMs: recordMs });
    if (refused) throw new PageRefusal(403, 'Not for you any more', 'You are not a member of staff any more.');
    yield page.map(({ kinds, ...row }) => ({ ...row, kinds: kinds.join(' ') }));
  }
}

export const files = { csv: fileAs('csv'), json: fileAs('json') };
