import { type Command, Option } from 'commander';
import { invoices } from '../../../projections/invoices.ts';
import { overageLedger } from '../../../projections/overage-ledger.ts';
import { findCreditNote, findInvoice } from '../../../projections/queries/account-documents.ts';
import { ItemsMissing } from '../../../projections/queries/line-items.ts';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import type { CreditNoteDocument, InvoiceDocument } from '../../documents/invoice-document.ts';
import { type DocumentFormat, documentFormats, renderDocument } from '../../documents/render-document.ts';
import { requireAccount } from '../accounts/find-account-usage.ts';
import { accountIdArgument, fromOneArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed } from '../output.ts';
import { replacesFile, writeOutputFile } from '../output-file.ts';
import { caughtUp } from '../wait-for-read-models.ts';

interface ShowOptions {
  format?: DocumentFormat;
  /** File to write to. */
  output?: string;
  /** Overage lines with their charges. */
  charges?: boolean;
  /** The number is that of a credit note. */
  creditNote?: boolean;
}

export function addShowInvoice(invoices: Command, run: RunCommand): void {
  invoices
    .command('show')
    .description('show an invoice as text, JSON, CSV, or a page to print')
    .argument('<account>', 'account id', accountIdArgument)
    .argument('<number>', 'number of the invoice', fromOneArgument)
    .addOption(new Option('--format <format>', 'format of the document (default: text)').choices(documentFormats))
    .option('--output <file>', `write the document to this file instead of standard output; ${replacesFile}`)
    .option('--charges', 'list the charges of each overage line')
    .option('--credit-note', 'show the credit note of this number instead')
    .action((account: string, number: number, options: ShowOptions) =>
      run((cli) => showInvoiceCommand(cli, account, number, options)),
    );
}

/** Shows an invoice or a credit note in the form asked for, on the standard output or in a file. */
async function showInvoiceCommand(
  cli: CliDependencies,
  accountId: string,
  number: number,
  options: ShowOptions,
): Promise<void> {
  const { format = cli.output.json ? 'json' : 'text', output: file } = options;
  const columns = file === undefined ? cli.output.columns : undefined;
  const text = renderDocument(await findDocument(cli, { accountId, number }, options), format, { columns });
  if (file === undefined) {
    cli.output.write(text);
    return;
  }
  await writeOutputFile(file, ({ handle }) => handle.writeFile(text));
  cli.output.write(cli.output.json ? `${JSON.stringify({ file, format })}\n` : `written to ${file}\n`);
}

async function findDocument(
  cli: CliDependencies,
  { accountId, number }: { accountId: string; number: number },
  { charges = false, creditNote = false }: ShowOptions,
): Promise<InvoiceDocument | CreditNoteDocument> {
  await requireAccount(cli, accountId);
  const behind = !(await allCaughtUp(cli));
  const document = await (
    creditNote ? findCreditNote(cli, { accountId, number }) : findInvoice(cli, { accountId, number, charges })
  ).catch((error: unknown) => {
    if (!(error instanceof ItemsMissing)) throw error;
    throw new CommandFailed(`${error.message}: see "projections status", then try again`, 2);
  });
  if (document) return document;
  const what = `${accountId} has no ${creditNote ? 'credit note' : 'invoice'} ${String(number)}`;
  if (behind) throw new CommandFailed(`${what} yet: the projector is behind or away`, 2);
  throw new CommandFailed(`${what}; see "invoices list"`);
}

/** Waits for every read model that an invoice is made of. @returns whether they hold all that is in the log now */
async function allCaughtUp(cli: CliDependencies): Promise<boolean> {
  for (const projection of [invoices, overageLedger, usageAndJobs])
    if (!(await caughtUp(cli, projection))) return false;
  return true;
}
