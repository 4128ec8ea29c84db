import type { Command } from 'commander';
import { giveBack } from '../../commands/give-back.ts';
import { load } from '../../commands/handler/handle-command.ts';
import { accountInvoices } from '../../commands/issue-invoice.ts';
import { facts } from '../../documents/text.ts';
import { formatCents } from '../../domain/cents.ts';
import {
  accountIdArgument,
  addDecisionOptions,
  amountArgument,
  fromOneArgument,
  staffActor,
  type StaffDecision,
} from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed, print, type RefusalTexts, unlessRefused } from '../output.ts';
import { commandTimeoutMs } from '../wait-for-read-models.ts';

export function addCreditInvoice(invoices: Command, run: RunCommand): void {
  const command = invoices
    .command('credit')
    .description(
      'give back a part of a line of an invoice with a credit note, once for each reference; "ledger waive" does it for charges',
    )
    .argument('<account>', 'account id', accountIdArgument)
    .argument('<number>', 'number of the invoice', fromOneArgument)
    .requiredOption('--line <number>', 'line of the invoice, from 1', fromOneArgument)
    .requiredOption('--cents <cents>', 'amount in whole cents', amountArgument);
  addDecisionOptions(command, 'reason for the credit note').action(
    (account: string, number: number, options: CreditOptions) =>
      run((cli) => creditCommand(cli, account, number, options)),
  );
}

interface CreditOptions extends StaffDecision {
  line: number;
  cents: number;
}

/** Issues a credit note, once for each reference. */
async function creditCommand(
  cli: CliDependencies,
  accountId: string,
  invoiceNumber: number,
  { line, cents, reference, reason, by }: CreditOptions,
): Promise<void> {
  if (reason.trim() === '' || by.trim() === '')
    throw new CommandFailed('say who gives this back (--by) and why (--reason)');
  const about = { invoice_number: invoiceNumber, line };
  const before = await findNote(cli, accountId, reference);
  const answer = await giveBack(cli, {
    accountId,
    reference,
    correction: { kind: 'credit_line', ...about, cents },
    operator: staffActor({ by, reason }),
    limitCents: cli.approvalCents,
    timeoutMs: commandTimeoutMs,
  });
  unlessRefused(answer, refusalTexts({ ...about, accountId, reference, cents }));
  const note = before ?? (await findNote(cli, accountId, reference));
  if (!note) throw new Error(`the credit note ${reference} was issued and is not there`);
  const { mail_to: _mailTo, charges: _charges, ...issued } = note;
  const { number } = issued;
  const text = before
    ? `credit note ${String(number)} was issued before with this reference; nothing was written`
    : `credit note ${String(number)} is issued`;
  print(cli.output, { ...issued, issued: !before }, `${facts({ ...issued, cents: formatCents(cents) })}\n\n${text}`);
}

async function findNote({ store }: CliDependencies, accountId: string, reference: string) {
  const { state } = await load(store, accountInvoices(accountId));
  return state.creditNotes.find((note) => note.reference === reference && note.charges.length === 0);
}

interface RefusedCredit {
  accountId: string;
  reference: string;
  invoice_number: number;
  line: number;
  cents: number;
}

function refusalTexts({ accountId, reference, invoice_number: invoice, line, cents }: RefusedCredit): RefusalTexts {
  const where = `line ${String(line)} of invoice ${String(invoice)} of ${accountId}`;
  const tooMuch =
    `${formatCents(cents)} is more than is left of ${where}, or of the whole invoice; ` +
    '"invoices show" lists the credits so far';
  return {
    invoice_not_found: `there is no ${where}; see "invoices list" and "invoices show"`,
    nothing_to_give_back: tooMuch,
    exceeds_charge: tooMuch,
    reference_reused: `another credit note has the reference ${reference}: nothing was written; use another reference`,
  };
}
