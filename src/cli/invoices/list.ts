import type { Command } from 'commander';
import { formatCents } from '../../domain/cents.ts';
import { accountIdArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { print } from '../output.ts';
import { table } from '../table.ts';
import { readDocuments } from './read-documents.ts';

export function addListInvoices(invoices: Command, run: RunCommand): void {
  invoices
    .command('list')
    .description('list the invoices and credit notes of an account')
    .argument('<account>', 'account id', accountIdArgument)
    .action((account: string) => run((cli) => listCommand(cli, account)));
}

async function listCommand(cli: CliDependencies, accountId: string): Promise<void> {
  const { invoices, creditNotes, behind } = await readDocuments(cli, accountId);
  const credited = (number: number) =>
    creditNotes
      .filter(({ data }) => data.invoice_number === number)
      .reduce((sum, { data: { cents } }) => sum + cents, 0);
  const rows = invoices.map(({ data: { number, covers, period_start, period_end, total_cents }, issuedAt }) => ({
    ...{ number, issued_at: issuedAt, covers, period_start, period_end, total_cents },
    credited_cents: credited(number),
  }));
  const notes = creditNotes.map(({ data: { number, invoice_number, line, reference, cents }, issuedAt }) => ({
    ...{ number, issued_at: issuedAt, invoice_number, line, reference, cents },
  }));
  const invoiceLines = rows.map((row) => [
    ...[String(row.number), row.issued_at, row.covers, row.period_start.slice(0, 10), row.period_end.slice(0, 10)],
    ...[formatCents(row.total_cents), formatCents(row.credited_cents)],
  ]);
  const noteLines = notes.map((note) => [
    ...[String(note.number), note.issued_at, String(note.invoice_number), String(note.line), note.reference],
    formatCents(note.cents),
  ]);
  const parts = [
    table(cli.output, ['invoice', 'issued', 'covers', 'from', 'to', 'total', 'credited'], invoiceLines),
    ...(notes.length > 0
      ? [table(cli.output, ['credit_note', 'issued', 'of_invoice', 'line', 'reference', 'amount'], noteLines)]
      : []),
  ];
  print(cli.output, { account_id: accountId, invoices: rows, credit_notes: notes, behind }, parts.join('\n\n'));
  if (behind)
    cli.output.tell('reeltally: documents may be missing at the end, because the projector is behind or away\n');
}
