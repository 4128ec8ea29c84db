import type { Command } from 'commander';
import { invoices as invoicesModel } from '../../../projections/invoices.ts';
import { table } from '../../documents/text.ts';
import { formatCents } from '../../domain/cents.ts';
import { listDocuments } from '../../invoices/account-documents.ts';
import { requireAccount } from '../accounts/find-account-usage.ts';
import { accountIdArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { print } from '../output.ts';
import { caughtUp } from '../wait-for-read-models.ts';

export function addListInvoices(invoices: Command, run: RunCommand): void {
  invoices
    .command('list')
    .description('list the invoices and credit notes of an account')
    .argument('<account>', 'account id', accountIdArgument)
    .action((account: string) => run((cli) => listCommand(cli, account)));
}

const invoiceHeads = ['invoice', 'document_number', 'issued', 'covers', 'from', 'to', 'total', 'credited'];
const noteHeads = ['credit_note', 'document_number', 'issued', 'of_invoice', 'line', 'reference', 'amount'];

async function listCommand(cli: CliDependencies, accountId: string): Promise<void> {
  await requireAccount(cli, accountId);
  const behind = !(await caughtUp(cli, invoicesModel));
  const { invoices, credit_notes: notes } = await listDocuments(cli, accountId);
  const invoiceLines = invoices.map((row) => [
    ...[String(row.number), row.document_number, row.issued_at, row.covers],
    ...[row.period_start.slice(0, 10), row.period_end.slice(0, 10)],
    ...[formatCents(row.total_cents), formatCents(row.credited_cents)],
  ]);
  const noteLines = notes.map((note) => [
    ...[
      String(note.number),
      note.document_number,
      note.issued_at,
      String(note.invoice_number),
      String(note.line),
      note.reference,
    ],
    formatCents(note.cents),
  ]);
  const parts = [
    table(cli.output, invoiceHeads, invoiceLines),
    ...(notes.length > 0 ? [table(cli.output, noteHeads, noteLines)] : []),
  ];
  print(cli.output, { account_id: accountId, invoices, credit_notes: notes, behind }, parts.join('\n\n'));
  if (behind)
    cli.output.tell('reeltally: documents may be missing at the end, because the projector is behind or away\n');
}
