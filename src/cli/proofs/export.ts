import { type Command, InvalidArgumentError } from 'commander';
import { findCreditNote, findInvoice } from '../../../projections/queries/account-documents.ts';
import { compress, writeProof } from '../../../projections/queries/document-proof.ts';
import { documentNumber, readDocumentNumber } from '../../domain/document-number.ts';
import { NotProvable, type WantedDocument } from '../../proof/proof-file.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed } from '../output.ts';
import { replacesFile, writeOutputFile } from '../output-file.ts';

interface ExportOptions {
  /** File to write to. */
  output?: string;
  html?: boolean;
  personal?: boolean;
}

export function addExportProof(proofs: Command, run: RunCommand): void {
  proofs
    .command('export')
    .description('write a file that proves an invoice or a credit note to anybody, offline (docs/proofs.md)')
    .argument('<number>', 'number of the document, such as INV-7H2K-9M4P-1Q8S-5T3V-12', documentArgument)
    .option('--output <file>', `write to this file, compressed if its name ends in .gz; ${replacesFile}`)
    .option('--html', 'a page for a browser, with the verifier in it, instead of the file that it reads')
    .option('--personal', 'with names and addresses on the page')
    .action((wanted: WantedDocument, options: ExportOptions) => run((cli) => exportProof(cli, wanted, options)));
}

function documentArgument(value: string): WantedDocument {
  const { type, accountId, number } = readDocumentNumber(value) ?? {};
  if (!accountId || number === undefined)
    throw new InvalidArgumentError(
      'a document has a number such as INV-7H2K-9M4P-1Q8S-5T3V-12 or CN-7H2K-9M4P-1Q8S-5T3V-1',
    );
  return { type: type ?? 'invoice', accountId, number };
}

/** @throws {CommandFailed} with 1 for a document that there is not, with 2 for one that is not signed yet */
async function exportProof(
  cli: CliDependencies,
  wanted: WantedDocument,
  { output: file, html = false, personal = false }: ExportOptions,
): Promise<void> {
  const { output } = cli;
  const number = documentNumber(wanted.type, { account_id: wanted.accountId, number: wanted.number });
  const readParties = personal ? () => findParties(cli, wanted) : undefined;
  const text = await writeProof(cli, { ...wanted, as: html ? 'case_file' : 'proof', readParties }).catch(
    (error: unknown) => {
      throw error instanceof NotProvable
        ? new CommandFailed(error.message, error.reason === 'too_early' ? 2 : 1)
        : error;
    },
  );
  if (file === undefined) {
    output.write(text);
    return;
  }
  const bytes = file.endsWith('.gz') ? await compress(text) : Buffer.from(text);
  await writeOutputFile(file, ({ handle }) => handle.writeFile(bytes));
  output.write(output.json ? `${JSON.stringify({ file, number, bytes: bytes.length })}\n` : `written to ${file}\n`);
}

/** Names and addresses as the document has them. */
async function findParties(cli: CliDependencies, { type, ...wanted }: WantedDocument) {
  const found =
    type === 'invoice' ? await findInvoice(cli, { ...wanted, charges: false }) : await findCreditNote(cli, wanted);
  if (!found) throw new CommandFailed('the document is not in the read model yet: the projector is behind or away', 2);
  return { issuer: found.issuer, billed_to: found.billed_to };
}
