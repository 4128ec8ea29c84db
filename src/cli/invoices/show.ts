import { Option } from 'commander';
import type { Command } from 'commander';
import { writeFileSync } from 'node:fs';
import { invoicesStream } from '../../domain/invoice-events.ts';
import type { InvoiceIssued } from '../../domain/invoice-events.ts';
import { formatCents } from '../../domain/cents.ts';
import { parseUsageEvent } from '../../domain/parse-event.ts';
import type { EventStore } from '../../ports/event-store.ts';
import { formatDays } from '../../documents/days.ts';
import { creditNoteCsv, invoiceCsv } from '../../documents/invoice-csv.ts';
import { creditNoteDocument, invoiceDocument } from '../../documents/invoice-document.ts';
import type { Charge, CreditNoteDocument, InvoiceDocument } from '../../documents/invoice-document.ts';
import { creditNotePage, invoicePage } from '../../documents/invoice-page.ts';
import { formatRevisions } from '../../documents/revisions.ts';
import { CommandFailed, facts } from '../output.ts';
import type { Output } from '../output.ts';
import { table } from '../table.ts';
import { accountIdArgument, fromOneArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { readDocuments } from './read-documents.ts';

const documentFormats = ['text', 'json', 'csv', 'html'] as const;
type DocumentFormat = (typeof documentFormats)[number];

interface ShowOptions {
  format?: DocumentFormat;
  /** File to write to. */
  output?: string;
  /** Each overage line with its charges. */
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
    .option('--output <file>', 'write the document to this file')
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
  const text = rendered(await findDocument(cli, { accountId, number }, options), format, { columns });
  if (file === undefined) {
    cli.output.write(text);
    return;
  }
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CommandFailed(`${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
  cli.output.write(cli.output.json ? `${JSON.stringify({ file, format })}\n` : `written to ${file}\n`);
}

async function findDocument(
  cli: CliDependencies,
  { accountId, number }: { accountId: string; number: number },
  { charges = false, creditNote = false }: ShowOptions,
): Promise<InvoiceDocument | CreditNoteDocument> {
  const { invoices, creditNotes, email, behind } = await readDocuments(cli, accountId);
  const parties = { issuer: cli.issuer, billedTo: email, stream: invoicesStream(accountId) };
  const note = creditNote ? creditNotes.find(({ data }) => data.number === number) : undefined;
  const invoiceNumber = creditNote ? note?.data.invoice_number : number;
  const invoice = invoices.find(({ data }) => data.number === invoiceNumber);
  if (!invoice) {
    const what = `${accountId} has no ${creditNote ? 'credit note' : 'invoice'} ${String(number)}`;
    if (behind) throw new CommandFailed(`${what} yet: the projector is behind or away`, 2);
    throw new CommandFailed(`${what}; see "invoices list"`);
  }
  if (note) return creditNoteDocument(note, invoice.data, parties);
  const ofLines = charges ? { charges: await readCharges(cli.store, invoice.data) } : {};
  return invoiceDocument(invoice, creditNotes, { ...parties, ...ofLines });
}

/** The charges of an invoice's overage lines, by the number of the line, as the log has them. */
async function readCharges(store: EventStore, { lines }: InvoiceIssued): Promise<Map<number, Charge[]>> {
  const charges = new Map<number, Charge[]>();
  for (const [index, line] of lines.entries()) {
    if (line.kind !== 'overage') continue;
    const named = new Set(line.revisions.flatMap(revisionsOf));
    const events = (await store.read(line.stream, 0)).map(parseUsageEvent);
    const voided = new Set(events.flatMap(({ event }) => (event.type === 'DownloadVoided' ? event.data.token : [])));
    charges.set(
      index + 1,
      events.flatMap(({ event, id, revision, metadata }) => {
        if (event.type !== 'OverageCharged' || !named.has(revision) || voided.has(event.data.token)) return [];
        const { token, cents, rate_cents, rate_version } = event.data;
        if (rate_cents !== line.rate_cents || rate_version !== line.rate_version) return [];
        return { event_id: id, revision, time: metadata.time, token, cents };
      }),
    );
  }
  return charges;
}

const revisionsOf = ([first, last, step]: readonly [number, number, number]): number[] =>
  Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);

function rendered(
  document: InvoiceDocument | CreditNoteDocument,
  format: DocumentFormat,
  output: Pick<Output, 'columns'>,
): string {
  if (format === 'json') return `${JSON.stringify(document, null, 2)}\n`;
  if (document.type === 'credit_note') {
    if (format === 'csv') return creditNoteCsv(document);
    return format === 'html' ? creditNotePage(document) : creditNoteText(document);
  }
  if (format === 'csv') return invoiceCsv(document);
  return format === 'html' ? invoicePage(document) : invoiceText(document, output);
}

function invoiceText(invoice: InvoiceDocument, output: Pick<Output, 'columns'>): string {
  const { number, issuer, billed_to, account_id, issued_at, covers, period_start, period_end, event } = invoice;
  const { lines, total_cents: totalCents, credit_notes: notes, credited_cents: creditedCents } = invoice;
  const head = { invoice: number, issuer, billed_to, account: account_id, issued: issued_at, covers };
  const rows = lines.map((line) => [
    ...[String(line.line), line.description, String(line.quantity)],
    line.rate_cents === null ? '-' : `${formatCents(line.rate_cents)} (${line.rate_version ?? ''})`,
    ...[formatCents(line.cents), line.stream, formatRevisions(line.revisions, 4)],
  ]);
  const charges = lines.flatMap(({ line, charges: ofLine = [] }) =>
    ofLine.map((charge) => [
      ...[String(line), charge.time, charge.token, charge.event_id, String(charge.revision)],
      formatCents(charge.cents),
    ]),
  );
  const noteRows = notes.map((note) => [
    ...[String(note.number), note.issued_at, String(note.line), note.reference],
    ...[formatCents(-note.cents), note.reason],
  ]);
  const parts = [
    facts({
      ...head,
      period: formatDays(period_start, period_end),
      event: `${String(event.revision)} of ${event.stream}`,
    }),
    table(output, ['line', 'description', 'quantity', 'rate', 'amount', 'stream', 'revisions'], rows),
    ...(charges.length > 0 ? [table(output, ['line', 'time', 'token', 'event', 'revision', 'charge'], charges)] : []),
    ...(notes.length > 0
      ? [table(output, ['credit_note', 'issued', 'line', 'reference', 'amount', 'reason'], noteRows)]
      : []),
    facts({
      total: formatCents(totalCents),
      ...(notes.length > 0 && {
        credited: formatCents(creditedCents),
        remains: formatCents(totalCents - creditedCents),
      }),
    }),
  ];
  return `${parts.join('\n\n')}\n`;
}

function creditNoteText({ type: _type, event, cents, number, ...note }: CreditNoteDocument): string {
  const where = `${String(event.revision)} of ${event.stream}`;
  return `${facts({ credit_note: number, ...note, amount: formatCents(cents), event: where })}\n`;
}
