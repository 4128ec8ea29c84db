import { type Command, InvalidArgumentError, Option } from 'commander';
import { stringify } from 'csv-stringify/sync';
import { invoices as invoicesModel } from '../../../projections/invoices.ts';
import {
  listSalesBook,
  readSalesSums,
  type SalesFilter,
  salesFilterAt,
  type SalesRow,
  salesStates,
} from '../../../projections/queries/sales-book.ts';
import { byteOrderMark, spreadsheetCsv } from '../../documents/spreadsheet-csv.ts';
import { formatCents } from '../../domain/cents.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { type Columns, print, rowsText } from '../output.ts';
import { caughtUp } from '../wait-for-read-models.ts';

export function addSalesBook(invoices: Command, run: RunCommand): void {
  invoices
    .command('sales-book')
    .description('list the invoices and credit notes of all accounts, with their sums')
    .option(
      '--issued <month>',
      'only documents that were issued in this month, YYYY-MM; or all (default: the current month, without --period)',
      (value) => (value === 'all' ? value : monthArgument(value)),
    )
    .option(
      '--period <month>',
      'only amounts of billing periods that begin in this month: the sums are those of its close',
      monthArgument,
    )
    .option('--country <code>', 'only customers in this country, such as DE', countryArgument)
    .addOption(new Option('--state <state>', 'only documents in this state').choices(salesStates))
    .option('--csv', 'as CSV')
    .action((options: SalesFilter & { csv?: true }) => run((cli) => salesBookCommand(cli, options)));
}

function monthArgument(value: string): string {
  if (/^2\d{3}-(?:0[1-9]|1[0-2])$/.test(value)) return value;
  throw new InvalidArgumentError('write a month like 2026-11');
}

function countryArgument(value: string): string {
  if (/^[A-Z]{2}$/.test(value)) return value;
  throw new InvalidArgumentError('write a country code of two capital letters, such as DE');
}

const columns: Columns<SalesRow> = {
  issued: ({ issued_at: at }) => at.slice(0, 10),
  document: 'document_number',
  customer: 'customer',
  country: 'country',
  tax_id: 'tax_id',
  lines: ({ kinds }) => kinds.join(' '),
  net: 'net_cents',
  credited: 'credited_cents',
  left: 'left_cents',
};

/** All documents that match, with the sums of all of them: those of the current month if no month is given. */
async function salesBookCommand(cli: CliDependencies, { csv, ...given }: SalesFilter & { csv?: true }): Promise<void> {
  const filter = salesFilterAt(given, cli.now());
  const behind = !(await caughtUp(cli, invoicesModel));
  const rows = (await Array.fromAsync(listSalesBook(cli, filter))).flat();
  const sums = await readSalesSums(cli, filter);
  if (csv) cli.output.write(csvOf(rows));
  else {
    const { documents, invoiced_cents: invoiced, credited_cents: credited, result_cents: result } = sums;
    const text = `${String(documents)} documents: ${formatCents(invoiced)} invoiced, ${formatCents(credited)} credited, ${formatCents(result)} in all`;
    const shown = rows.map(({ position: _position, ...row }) => row);
    print(cli.output, { ...filter, sums, rows: shown, behind }, `${rowsText(cli.output, columns, rows)}\n\n${text}`);
  }
  if (behind)
    cli.output.tell('reeltally: documents may be missing at the end, because the projector is behind or away\n');
}

/** Amounts are whole cents, and numbers. */
const csvOf = (rows: readonly SalesRow[]): string =>
  byteOrderMark +
  stringify(
    rows.map(({ position: _position, kinds, ...row }) => ({ ...row, kinds: kinds.join(' ') })),
    {
      header: true,
      ...spreadsheetCsv,
      columns: csvColumns,
    },
  );

const csvColumns = [
  'issued_at',
  'type',
  'document_number',
  'invoice_document_number',
  'account_id',
  'number',
  'customer',
  'country',
  'tax_id',
  'kinds',
  'net_cents',
  'credited_cents',
  'left_cents',
  'event_id',
] satisfies (keyof SalesRow)[];
