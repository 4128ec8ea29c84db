import type { Command } from 'commander';
import { facts } from '../../documents/text.ts';
import { countActiveKeys } from '../../domain/account.ts';
import { formatCents } from '../../domain/cents.ts';
import { maxKeysOf, type Terms } from '../../domain/plans.ts';
import { termsAt } from '../../domain/usage-periods.ts';
import { comingChange, summariseUsage } from '../../domain/usage-summary.ts';
import { accountIdArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { print } from '../output.ts';
import { capText, describeTerms, usedText } from './describe-terms.ts';
import { currentUsage, requireAccount } from './find-account-usage.ts';

export function addShowAccount(accounts: Command, run: RunCommand): void {
  accounts
    .command('show')
    .description('show the usage and the terms of an account')
    .argument('<account>', 'account id', accountIdArgument)
    .action((account: string) => run((cli) => showCommand(cli, account)));
}

async function showCommand(cli: CliDependencies, accountId: string): Promise<void> {
  const account = await requireAccount(cli, accountId);
  const usage = await currentUsage(cli, accountId);
  const now = cli.now();
  const { plan, downloads, metadata, overage, period } = summariseUsage(usage, now);
  const active = countActiveKeys(account);
  const terms = termsAt(usage, now);
  const coming = comingChange(usage, now);
  const data = {
    account_id: accountId,
    email: account.opened.personal?.email ?? null,
    plan,
    downloads,
    metadata,
    overage,
    fee_cents: terms.fee_cents,
    overage_cap_cents: terms.overage_cap_cents,
    period_start: period.start,
    period_end: period.end,
    coming,
    active_keys: active,
    max_keys: maxKeysOf(terms),
    suspended: terms.suspended === true,
    closing_requested_at: account.closingRequestedAt,
    closed: account.closed,
    erased: account.erased,
  };
  const text = facts({
    account_id: accountId,
    email: data.email ?? 'erased',
    plan,
    downloads: usedText(downloads),
    metadata: usedText(metadata),
    overage: `${String(overage.downloads)} downloads, ${formatCents(overage.cents)}`,
    overage_cap: capText(terms),
    fee: formatCents(terms.fee_cents),
    period: `${period.start} to ${period.end}`,
    ...(coming && { coming: comingText(coming) }),
    active_keys: usedText({ used: active, limit: data.max_keys }),
    ...(data.suspended && { suspended: 'its keys are refused, and nothing is charged' }),
    ...(data.closing_requested_at !== null && { closing_requested_at: data.closing_requested_at }),
    ...(data.closed && { closed: 'nothing is charged any more' }),
  });
  print(cli.output, data, text);
}

const comingText = ({ from, terms }: { from: string; terms: Terms }) =>
  `from ${from.slice(0, 10)} on ${terms.plan}: ${describeTerms(terms)}, overage cap ${capText(terms)}`;
