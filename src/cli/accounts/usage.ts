import type { Command } from 'commander';
import { listAccountPeriods, type PeriodInvoice } from '../../../projections/account-periods.ts';
import { notBelieved } from '../../../projections/credits-macs.ts';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { readPeriods } from '../../commands/usage/usage-from-log.ts';
import { table } from '../../documents/text.ts';
import { formatCents } from '../../domain/cents.ts';
import { comingTerms } from '../../domain/usage-periods.ts';
import type { UsagePeriod } from '../../domain/usage-state.ts';
import { type Pool, poolOf } from '../../domain/usage-summary.ts';
import { accountIdArgument, dayArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed, type Output, print } from '../output.ts';
import { caughtUp } from '../wait-for-read-models.ts';
import { requireAccount } from './find-account-usage.ts';

export function addAccountUsage(accounts: Command, run: RunCommand): void {
  accounts
    .command('usage')
    .description('show every billing period of an account: its usage, amounts and invoices')
    .argument('<account>', 'account id', accountIdArgument)
    .option('--period <day>', 'only the period that starts on this day, YYYY-MM-DD', dayArgument)
    .action((account: string, options: { period?: string }) => run((cli) => usageCommand(cli, account, options)));
}

/**
 * Every billing period of an account, oldest first, as the read model has them.
 *
 * @param period day on which the one period starts that is asked for, YYYY-MM-DD
 */
async function usageCommand(cli: CliDependencies, accountId: string, { period }: { period?: string }): Promise<void> {
  const behind = !(await caughtUp(cli, usageAndJobs));
  const all = (await readAll(cli, accountId)).map(({ usage, invoices }) => describePeriod(usage, invoices));
  const periods = all.filter(({ period_start: start }) => period === undefined || start.slice(0, 10) === period);
  if (periods.length === 0 && !behind) {
    await requireAccount(cli, accountId);
    if (period !== undefined) throw new CommandFailed(`${accountId} has no billing period that starts on ${period}`);
  }
  print(cli.output, { account_id: accountId, periods, behind }, textOf(cli.output, periods));
  if (behind) throw new CommandFailed('newer usage is missing, because the read model is behind the log', 2);
}

/** As the rows have them; or, where one of them is not to be believed, as the log has them all. */
async function readAll(
  { pool, macs, store }: CliDependencies,
  accountId: string,
): Promise<{ usage: UsagePeriod; invoices: PeriodInvoice[] }[]> {
  const rows = await listAccountPeriods(pool, accountId, macs);
  if (rows.some(({ snapshot }) => snapshot === notBelieved)) {
    const invoicesOf = (start: string) => rows.find((row) => row.start === start)?.invoices ?? [];
    return (await readPeriods(store, accountId)).map((usage) => ({ usage, invoices: invoicesOf(usage.period.start) }));
  }
  return rows.flatMap(({ snapshot, invoices }) =>
    snapshot === notBelieved || snapshot.usage.phase === 'absent' ? [] : [{ usage: snapshot.usage, invoices }],
  );
}

type Period = ReturnType<typeof describePeriod>;

function describePeriod(usage: UsagePeriod, invoices: PeriodInvoice[]) {
  const { phase, period, terms } = usage;
  return {
    ...{ period_start: period.start, period_end: period.end, phase, plan: terms.plan },
    downloads: {
      accepted: usage.downloads,
      credits: usedOf(terms.downloads_limit, usage.downloadCredits),
      overage: { count: usage.overageDownloads, cents: usage.overageCents },
    },
    metadata: { accepted: usage.lookups, credits: usedOf(terms.metadata_limit, usage.metadataCredits) },
    fee_cents: usage.feeCents,
    fee_difference_cents: usage.feeDifferenceCents,
    overage_cap_cents: terms.overage_cap_cents,
    next_fee_cents: comingTerms(usage).fee_cents,
    invoices,
  };
}

function textOf(output: Output, periods: readonly Period[]): string {
  const lines = periods.map(({ downloads, metadata, ...each }) => [
    each.period_start.slice(0, 10),
    each.period_end.slice(0, 10),
    each.phase,
    each.plan,
    String(downloads.accepted),
    creditsText(downloads.credits),
    `${String(downloads.overage.count)} for ${formatCents(downloads.overage.cents)}`,
    creditsText(metadata.credits),
    formatCents(each.fee_cents),
    each.overage_cap_cents === null ? 'none' : formatCents(each.overage_cap_cents),
    each.invoices.map((invoice) => `${String(invoice.number)} (${formatCents(invoice.total_cents)})`).join(', ') || '-',
  ]);
  const head = ['from', 'to', 'phase', 'plan', 'downloads', 'credits', 'overage', 'metadata', 'fee', 'cap', 'invoices'];
  return table(output, head, lines);
}

/** As everywhere else, at most the limit is used. */
function usedOf(creditLimit: number, debited: number): Pick<Pool, 'used' | 'limit'> {
  const { used, limit } = poolOf(creditLimit, debited);
  return { used, limit };
}

const creditsText = ({ used, limit }: Pick<Pool, 'used' | 'limit'>) => `${String(used)} of ${String(limit)}`;
