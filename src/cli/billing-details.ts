import type { Command } from 'commander';
import type { z } from 'zod';
import { changeBillingDetails } from '../commands/accounts.ts';
import { changeIssuerDetails, readIssuer } from '../commands/issuer.ts';
import { facts } from '../documents/text.ts';
import { maxBillingChanges } from '../domain/account.ts';
import {
  type BillingDetails,
  billingDetails,
  type Change,
  type IssuerDetails,
  issuerDetails,
} from '../domain/billing-details.ts';
import { requireAccount } from './accounts/find-account-usage.ts';
import { accountIdArgument } from './arguments.ts';
import { type CliDependencies, requestOf, type RunCommand } from './dependencies.ts';
import { CommandFailed, print, unlessRefused } from './output.ts';

/** Names and addresses on invoices: of an account's owner, and of the issuer. */

interface DetailsOptions {
  name?: string;
  addressLine?: string[];
  country?: string;
  taxId?: string;
}

interface IssuerOptions extends DetailsOptions {
  email?: string;
}

export function addAccountBilling(accounts: Command, run: RunCommand): void {
  const command = accounts
    .command('billing')
    .description('show name and address on the invoices of an account, or change them for invoices to come')
    .argument('<account>', 'account id', accountIdArgument);
  addDetailsOptions(command).action((account: string, options: DetailsOptions) =>
    run((cli) => billingCommand(cli, account, options)),
  );
}

export function addShowIssuer(issuer: Command, run: RunCommand): void {
  issuer
    .command('show')
    .description('show name and address of the issuer')
    .action(() => run(async (cli) => printDetails(cli, {}, await readIssuer(cli.store, cli.issuer))));
}

export function addSetIssuer(issuer: Command, run: RunCommand): void {
  const command = issuer.command('set').description('change name and address of the issuer on invoices to come');
  addDetailsOptions(command)
    .option('--email <address>', 'for questions about invoices')
    .action((options: IssuerOptions) => run((cli) => setIssuerCommand(cli, options)));
}

const addDetailsOptions = (command: Command): Command =>
  command
    .option('--name <name>', 'name of the person or company')
    .option('--address-line <line>', 'line of the postal address; repeat it for each', collect)
    .option('--country <code>', 'country of the address, such as DE')
    .option('--tax-id <id>', 'tax or VAT number')
    .addHelpText('after', "\nOptions that are left out change nothing; an empty text ('') removes what there is.");

const collect = (line: string, earlier: readonly string[] = []): string[] => [...earlier, line];

async function billingCommand(cli: CliDependencies, accountId: string, options: DetailsOptions): Promise<void> {
  const { billing } = await requireAccount(cli, accountId);
  const details = changeOf(options);
  if (Object.keys(details).length === 0) {
    printDetails(cli, { account_id: accountId }, billing);
    return;
  }
  requireDetails(billingDetails.partial(), details);
  const answer = await changeBillingDetails(cli, { accountId, details, ...requestOf(cli) });
  const changed = unlessRefused(answer, {
    too_many_billing_changes: `the billing details of ${accountId} were changed ${String(maxBillingChanges)} times within an hour, the most that may be: try again later`,
  });
  printDetails(cli, { account_id: accountId }, changed);
}

async function setIssuerCommand(cli: CliDependencies, { email, ...options }: IssuerOptions): Promise<void> {
  const { name, ...others } = changeOf(options);
  if (name === null) throw new CommandFailed('the issuer must have a name');
  const details: Change<IssuerDetails> = {
    ...others,
    ...(name !== undefined && { name }),
    ...(email !== undefined && { email: orNull(email) }),
  };
  if (Object.keys(details).length === 0) throw new CommandFailed('say what to set: see "issuer set --help"');
  requireDetails(issuerDetails.partial(), details);
  printDetails(cli, {}, await changeIssuerDetails(cli, { name: cli.issuer, details, ...requestOf(cli) }));
}

const orNull = (text: string) => (text === '' ? null : text);

function changeOf({ name, addressLine, country, taxId }: DetailsOptions): Change<BillingDetails> {
  return {
    ...(name !== undefined && { name: orNull(name) }),
    ...(addressLine && { address_lines: addressLine.filter((line) => line !== '') }),
    ...(country !== undefined && { country: orNull(country) }),
    ...(taxId !== undefined && { tax_id: orNull(taxId) }),
  };
}

const optionOf: Readonly<Record<string, string>> = { address_lines: '--address-line', tax_id: '--tax-id' };

/** @throws {CommandFailed} naming the option that cannot be used */
function requireDetails(schema: z.ZodType, details: object): void {
  const issue = schema.safeParse(details).error?.issues[0];
  if (!issue) return;
  const field = String(issue.path[0]);
  throw new CommandFailed(`${optionOf[field] ?? `--${field}`} ${issue.message}`);
}

function printDetails({ output }: CliDependencies, of: object, details: BillingDetails | IssuerDetails): void {
  const { name, address_lines: lines, ...others } = details;
  const data = { ...of, ...details };
  print(output, data, facts({ ...of, name, address: lines.length > 0 ? lines.join(', ') : null, ...others }));
}
