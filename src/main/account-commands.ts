import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { findAccountsCommand, listAccountsCommand } from '../cli/find-accounts.ts';
import type { PageOptions } from '../cli/page.ts';
import { openCommand, showCommand } from '../cli/accounts.ts';
import { capCommand, planCommand, termsCommand } from '../cli/terms.ts';
import type { OwnTerms, When } from '../cli/terms.ts';
import { usageCommand } from '../cli/usage.ts';
import { largestAllowance, largestHourlyLimit, largestMaxKeys } from '../domain/plans.ts';
import {
  accountIdArgument,
  addPageOptions,
  centsArgument,
  centsOrNoneArgument,
  dayArgument,
  effectiveOption,
  referenceArgument,
  wholeArgument,
} from './arguments.ts';
import type { RunCommand } from './run-command.ts';

/** `reeltally accounts …`. */
export function addAccountCommands(program: Command, run: RunCommand): void {
  const accounts = program
    .command('accounts')
    .description('open accounts, change what they pay for, see what they use');
  accounts
    .command('open')
    .description('open an account and its first billing period')
    .requiredOption('--email <address>', "the owner's e-mail address")
    .requiredOption('--plan <plan>', 'a plan of the plan file')
    .option(
      '--reference <reference>',
      'a name of yours for it; repeated, it opens no second account',
      referenceArgument,
    )
    .action((options: { email: string; plan: string; reference?: string }) => run((cli) => openCommand(cli, options)));
  addPageOptions(accounts.command('list').description('all accounts, a page at a time'), 'account').action(
    (options: PageOptions) => run((cli) => listAccountsCommand(cli, options)),
  );
  addPageOptions(accounts.command('find').description('whose account it is'), 'account')
    .argument('<text>', 'account id, e-mail address or a part of it with its @, or the start of a key')
    .action((text: string, options: PageOptions) => run((cli) => findAccountsCommand(cli, text, options)));
  accounts
    .command('show')
    .description('what an account has used, and of what')
    .argument('<account>', 'account id', accountIdArgument)
    .action((account: string) => run((cli) => showCommand(cli, account)));
  accounts
    .command('usage')
    .description('every billing period of an account: what was used, what it comes to, and its invoices')
    .argument('<account>', 'account id', accountIdArgument)
    .option('--period <day>', 'only the period that starts on this day, YYYY-MM-DD', dayArgument)
    .action((account: string, options: { period?: string }) => run((cli) => usageCommand(cli, account, options)));
  accounts
    .command('plan')
    .description('put an account on another plan')
    .argument('<account>', 'account id', accountIdArgument)
    .argument('<plan>', 'a plan of the plan file')
    .addOption(effectiveOption('now, unless its fee is lower'))
    .action((account: string, plan: string, options: { effective?: When }) =>
      run((cli) => planCommand(cli, account, { plan, ...options })),
    );
  accounts
    .command('terms')
    .description('give an account terms of its own; what is not named stays as it is')
    .argument('<account>', 'account id', accountIdArgument)
    .option('--downloads <number>', 'downloads included in a period', wholeArgument(0, largestAllowance))
    .option('--metadata <number>', 'lookups included in a period', wholeArgument(0, largestAllowance))
    .option('--overage-cents <cents>', 'price of a download beyond, or none for a hard cap', overageArgument)
    .option('--fee-cents <cents>', 'monthly fee', centsArgument)
    .option('--hourly <number>', 'requests an hour of each key', wholeArgument(1, largestHourlyLimit))
    .option('--keys <number>', 'API keys in force at a time', wholeArgument(1, largestMaxKeys))
    .addOption(effectiveOption('now, unless the fee is lower'))
    .action((account: string, options: OwnTerms & { effective?: When }) =>
      run((cli) => termsCommand(cli, account, options)),
    );
  accounts
    .command('cap')
    .description('set or remove the ceiling on overage charges')
    .argument('<account>', 'account id', accountIdArgument)
    .argument('<cents>', 'whole cents per billing period, or none', centsOrNoneArgument)
    .addOption(effectiveOption('now'))
    .action((account: string, cap: number | 'none', options: { effective?: When }) =>
      run((cli) => capCommand(cli, account, { cap, ...options })),
    );
}

function overageArgument(value: string): number | 'none' {
  const price = centsOrNoneArgument(value);
  if (price === 0) throw new InvalidArgumentError('a price is at least 1 cent; none: there are no downloads beyond');
  return price;
}
