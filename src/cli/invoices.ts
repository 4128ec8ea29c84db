import { invoices as invoicesModel, readInvoices } from '../../projections/invoices.ts';
import { listPeriodsInGrace } from '../../projections/due-periods.ts';
import type { AccountInvoices } from '../../projections/invoices.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { issueCreditNote } from '../commands/issue-credit-note.ts';
import type { CreditNoteRequest } from '../commands/issue-credit-note.ts';
import { readAccount } from '../commands/accounts.ts';
import { correctionReference } from '../domain/usage-events.ts';
import type { InvoiceIssued } from '../domain/invoice-events.ts';
import { formatCents } from '../domain/money.ts';
import { isRefused } from '../domain/refusals.ts';
import type { Refusal } from '../domain/refusals.ts';
import type { CliDependencies } from './accounts.ts';
import { CommandFailed, facts, print, requireText } from './output.ts';
import { table } from './table.ts';
import { caughtUp, commandTimeoutMs } from './waiting.ts';

/** What one round of the dispatcher's clock has done, by usage streams. */
interface ClosingRound {
  rolledOver: string[];
  closed: string[];
  issued: InvoiceIssued[];
  heldUp: string[];
  inGrace: { stream: string; until: string }[];
  failed: { stream: string; error: unknown }[];
}

export interface InvoicesCli extends CliDependencies {
  /** Who invoices are from. */
  issuer: string;
  /** One round of what the dispatcher's clock does. */
  closePeriods: () => Promise<ClosingRound>;
  /** How long after its end a period still takes corrections. */
  graceSeconds: number;
}

/** An account's invoices and credit notes, as far as the read model has them. */
export async function readDocuments(
  cli: CliDependencies,
  accountId: string,
): Promise<AccountInvoices & { email: string; behind: boolean }> {
  const { opened } = await readAccount(cli.store, accountId);
  if (!opened) throw new CommandFailed(`there is no account ${accountId}`);
  const behind = !(await caughtUp(cli, invoicesModel));
  return { ...(await readInvoices(cli.pool, accountId)), email: opened.personal.email, behind };
}

export async function listInvoicesCommand(cli: CliDependencies, accountId: string): Promise<void> {
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

/** Does now what the dispatcher's clock would do, until there is nothing left to do. */
export async function issueDueCommand(cli: InvoicesCli): Promise<void> {
  const [rolledOver, closed, heldUp] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const failed = new Map<string, string>();
  const inGrace = new Map<string, string>();
  const issued: InvoiceIssued[] = [];
  const doneSoFar = () => rolledOver.size + closed.size + issued.length;
  let behind = false;
  for (let done = -1; done < doneSoFar() && !behind;) {
    done = doneSoFar();
    // What a round has done must be in the read model before the next one looks.
    behind = !(await caughtUp(cli, usageAndJobs));
    const round = await cli.closePeriods();
    for (const stream of round.rolledOver) rolledOver.add(stream);
    for (const stream of round.closed) closed.add(stream);
    for (const stream of round.heldUp) heldUp.add(stream);
    for (const { stream, until } of round.inGrace) inGrace.set(stream, until);
    for (const { stream, error } of round.failed) failed.set(stream, String(error));
    issued.push(...round.issued);
    if (doneSoFar() > done && !cli.output.json) {
      cli.output.tell(`${String(closed.size)} periods closed, ${String(issued.length)} invoices issued so far\n`);
    }
  }
  const young = await listPeriodsInGrace(cli.pool, { now: cli.now(), graceSeconds: cli.graceSeconds });
  for (const { stream, until } of young) inGrace.set(stream, until);
  const data = {
    issued: issued.map(({ account_id, number, covers, period_start, period_end, total_cents }) => {
      return { account_id, number, covers, period_start, period_end, total_cents };
    }),
    rolled_over: [...rolledOver],
    closed: [...closed],
    held_up: [...heldUp],
    in_grace: Object.fromEntries(inGrace),
    behind,
    failed: Object.fromEntries(failed),
  };
  const rows = data.issued.map(({ account_id, number, covers, period_start: start, total_cents: cents }) => {
    return [account_id, String(number), covers, start.slice(0, 10), formatCents(cents)];
  });
  const counts = `${String(rolledOver.size)} periods ended, ${String(closed.size)} closed, ${String(issued.length)} invoices issued`;
  print(cli.output, data, `${table(cli.output, ['account', 'invoice', 'covers', 'from', 'total'], rows)}\n\n${counts}`);
  if (doneSoFar() + heldUp.size + inGrace.size + failed.size === 0 && !behind)
    cli.output.tell('reeltally: nothing is due: no period is past its end, and everything closed is invoiced\n');
  for (const [stream, until] of inGrace)
    cli.output.tell(`reeltally: ${stream} is not closed: it takes corrections until ${until}, or a little longer\n`);
  for (const stream of heldUp)
    cli.output.tell(`reeltally: ${stream} is not closed: a void is pending; try again later\n`);
  for (const [stream, error] of failed) cli.output.tell(`reeltally: ${stream} could not be moved on: ${error}\n`);
  if (failed.size > 0)
    throw new CommandFailed('not everything that is due was done; what was not is tried again by the dispatcher');
  if (behind) throw new CommandFailed('more may be due: the projector is behind or away', 2);
}

export interface CreditOptions {
  line: number;
  cents: number;
  reference: string;
  reason: string;
  by: string;
  charge?: string;
}

/** Issues a credit note, once for each reference. */
export async function creditCommand(
  cli: CliDependencies,
  accountId: string,
  invoiceNumber: number,
  { line, cents, reference, reason, by, charge }: CreditOptions,
): Promise<void> {
  requireText(correctionReference, 'the reference', reference);
  if (reason.trim() === '' || by.trim() === '')
    throw new CommandFailed('say who gives this back (--by) and why (--reason)');
  const note: CreditNoteRequest['note'] = {
    ...{ account_id: accountId, reference, invoice_number: invoiceNumber, line, cents },
    charge_event_id: charge ?? null,
  };
  const actor = { type: 'staff', id: by, role: 'operator', reason } as const;
  const answer = await issueCreditNote(cli, { note, actor, timeoutMs: commandTimeoutMs });
  if (isRefused(answer)) throw new CommandFailed(whyNot(answer.refusal, note));
  const { number } = answer.note;
  const text = answer.issued
    ? `credit note ${String(number)} is issued`
    : `credit note ${String(number)} with this reference had been issued before; nothing was written`;
  print(
    cli.output,
    { ...answer.note, issued: answer.issued },
    `${facts({ ...answer.note, cents: formatCents(cents) })}\n\n${text}`,
  );
}

function whyNot(refusal: Refusal, note: CreditNoteRequest['note']): string {
  const { account_id: accountId, invoice_number: invoice, line, reference, cents, charge_event_id: charge } = note;
  const where = `line ${String(line)} of invoice ${String(invoice)} of ${accountId}`;
  const ofCharge = charge === null ? '' : ', or of that charge';
  const reasons: Partial<Record<Refusal, string>> = {
    invoice_not_found: `there is no ${where}; "invoices list" and "invoices show" tell what there is`,
    exceeds_charge:
      `${formatCents(cents)} is more than is left of ${where}, of the whole invoice${ofCharge}; ` +
      '"invoices show" tells what was credited',
    charge_not_found: `${where} charges no event ${charge ?? ''}; "invoices show --charges" tells which it charges`,
    reference_reused: `${reference} is the reference of another credit note: nothing was written; give this one its own`,
  };
  return reasons[refusal] ?? refusal;
}
