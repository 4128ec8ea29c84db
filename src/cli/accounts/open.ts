import type { Command } from 'commander';
import { waitForAccount } from '../../../projections/api-keys.ts';
import { openAccount } from '../../commands/accounts.ts';
import { facts } from '../../documents/text.ts';
import { email as emailSchema } from '../../domain/plain-text.ts';
import { referenceArgument } from '../arguments.ts';
import { type CliDependencies, requestOf, type RunCommand } from '../dependencies.ts';
import { CommandFailed, print, requireText, unlessRefused } from '../output.ts';
import { notInForce, untilShown } from '../wait-for-read-models.ts';
import { planNamed } from './describe-terms.ts';

interface OpenOptions {
  email: string;
  plan: string;
  reference?: string;
}

export function addOpenAccount(accounts: Command, run: RunCommand): void {
  accounts
    .command('open')
    .description('open an account and its first billing period')
    .requiredOption('--email <address>', "the owner's e-mail address")
    .requiredOption('--plan <plan>', 'a plan of the plan file')
    .option(
      '--reference <reference>',
      'your own name for the account; the same reference opens no second account',
      referenceArgument,
    )
    .action((options: OpenOptions) => run((cli) => openCommand(cli, options)));
}

async function openCommand(cli: CliDependencies, { email, plan, reference }: OpenOptions): Promise<void> {
  const terms = planNamed(await cli.plans(), plan);
  requireText(emailSchema, email, email);
  const opened = unlessRefused(await openAccount(cli, { email, terms, reference, ...requestOf(cli) }));
  const { accountId } = opened;
  const differing = [
    ...(opened.email === email ? [] : [`e-mail ${opened.email}`]),
    ...(opened.plan === plan ? [] : [`plan ${opened.plan}`]),
  ];
  if (differing.length > 0)
    throw new CommandFailed(
      `the reference ${reference ?? ''} has already opened ${accountId}, with ${differing.join(' and ')}`,
    );
  const inForce = await untilShown(cli, (timeoutMs) => waitForAccount(cli.pool, accountId, timeoutMs));
  print(cli.output, { account_id: accountId, email, plan }, facts({ account_id: accountId, email, plan }));
  if (!inForce) throw notInForce(accountId);
}
