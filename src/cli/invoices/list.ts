import type { Command } from 'commander';
import { invoices as invoicesModel } from '../../../projections/invoices.ts';
import { listDocuments } from '../../../projections/queries/account-documents.ts';
import { requireAccount } from '../accounts/find-account-usage.ts';
import { accountIdArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { type Columns, print, rowsText } from '../output.ts';
import { caughtUp } from '../wait-for-read-models.ts';

export function addListInvoices(invoices: Command, run: RunCommand): void {
  invoices
    .command('list')
    .description('list the invoices and credit notes of an account')
    .argument('<account>', 'account id', accountIdArgument)
    .action((account: string) => run((cli) => listCommand(cli, account)));
}

type Documents = Awaited<ReturnType<typeof listDocuments>>;

const invoiceColumns: Columns<Documents['invoices'][number]> = {
  invoice: 'number',
  document_number: 'document_number',
  issued: 'issued_at',
  covers: 'covers',
  from: ({ period_start: start }) => start.slice(0, 10),
  to: ({ period_end: end }) => end.slice(0, 10),
  total: 'total_cents',
  credited: 'credited_cents',
};

const noteColumns: Columns<Documents['credit_notes'][number]> = {
  credit_note: 'number',
  document_number: 'document_number',
  issued: 'issued_at',
  of_invoice: 'invoice_number',
  line: 'line',
  reference: 'reference',
  amount: 'cents',
};

async function listCommand(cli: CliDependencies, accountId: string): Promise<void> {
  await requireAccount(cli, accountId);
  const behind = !(await caughtUp(cli, invoicesModel));
  const { invoices, credit_notes: notes } = await listDocuments(cli, accountId);
  const parts = [
    rowsText(cli.output, invoiceColumns, invoices),
    ...(notes.length > 0 ? [rowsText(cli.output, noteColumns, notes)] : []),
  ];
  print(cli.output, { account_id: accountId, invoices, credit_notes: notes, behind }, parts.join('\n\n'));
  if (behind)
    cli.output.tell('reeltally: documents may be missing at the end, because the projector is behind or away\n');
}
