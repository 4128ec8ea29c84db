import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { creditCommand, issueDueCommand, listInvoicesCommand } from '../cli/invoices.ts';
import type { CreditOptions } from '../cli/invoices.ts';
import { documentFormats, showInvoiceCommand } from '../cli/show-invoice.ts';
import type { ShowOptions } from '../cli/show-invoice.ts';
import { accountIdArgument, amountArgument, referenceArgument, staffTextArgument, wholeArgument } from './arguments.ts';
import type { RunCommand } from './run-command.ts';

/** `reeltally invoices …`. */
export function addInvoiceCommands(program: Command, run: RunCommand): void {
  const invoices = program.command('invoices').description('invoices and credit notes');
  invoices
    .command('list')
    .description('the invoices and credit notes of an account')
    .argument('<account>', 'account id', accountIdArgument)
    .action((account: string) => run((cli) => listInvoicesCommand(cli, account)));
  invoices
    .command('show')
    .description('an invoice, as text, JSON, CSV, or a page to print')
    .argument('<account>', 'account id', accountIdArgument)
    .argument('<number>', 'number of the invoice', fromOne)
    .addOption(new Option('--format <format>', 'in which form (default: text)').choices(documentFormats))
    .option('--output <file>', 'write it to this file')
    .option('--charges', 'each overage line with its charges')
    .option('--credit-note', 'the number is that of a credit note')
    .action((account: string, number: number, options: ShowOptions) =>
      run((cli) => showInvoiceCommand(cli, account, number, options)),
    );
  invoices
    .command('issue-due')
    .description('do now what the dispatcher does by the clock: end, open, close and invoice the periods that are due')
    .action(() => run(issueDueCommand));
  invoices
    .command('credit')
    .description('give back a part of an invoice, by a credit note; once for each reference')
    .argument('<account>', 'account id', accountIdArgument)
    .argument('<number>', 'number of the invoice', fromOne)
    .requiredOption('--line <number>', 'line of the invoice, from 1', fromOne)
    .requiredOption('--cents <cents>', 'how much, in whole cents', amountArgument)
    .requiredOption('--reference <reference>', 'case or ticket that it is for', referenceArgument)
    .requiredOption('--reason <text>', 'why', staffTextArgument)
    .requiredOption('--by <name>', 'who gives it back', staffTextArgument)
    .option('--charge <event_id>', 'the one charge of an overage line that it is about', uuidArgument)
    .action((account: string, number: number, options: CreditOptions) =>
      run((cli) => creditCommand(cli, account, number, options)),
    );
}

const fromOne = wholeArgument(1, 1_000_000);

function uuidArgument(value: string): string {
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) {
    throw new InvalidArgumentError('an event id is a UUID, as "invoices show --charges" shows it');
  }
  return value;
}
