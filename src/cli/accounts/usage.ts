import { type Command, Option } from 'commander';
import { notBelieved } from '../../../projections/credits-macs.ts';
import { listAccountPeriods, type PeriodInvoice } from '../../../projections/queries/account-periods.ts';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { readPeriods } from '../../commands/usage/usage-from-log.ts';
import { formatCents } from '../../domain/cents.ts';
import { feeOf } from '../../domain/plans.ts';
import { comingTerms, isLastEnded } from '../../domain/usage-periods.ts';
import type { UsagePeriod } from '../../domain/usage-state.ts';
import { type Pool, poolOf } from '../../domain/usage-summary.ts';
import { accountIdArgument, dayArgument, momentArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { type Columns, CommandFailed, print, rowsText } from '../output.ts';
import { caughtUp } from '../wait-for-read-models.ts';
import { capText, usedText } from './describe-terms.ts';
import { requireAccount } from './find-account-usage.ts';
import { type AskedMoment, pastUsageCommand } from './past-usage.ts';

export function addAccountUsage(accounts: Command, run: RunCommand): void {
  accounts
    .command('usage')
    .description('show every billing period of an account: its usage, amounts and invoices')
    .argument('<account>', 'account id', accountIdArgument)
    .option('--period <day>', 'only the period that starts on this day, YYYY-MM-DD', dayArgument)
    .addOption(
      new Option('--as-of <time|position>', 'what GET /credits would have answered then, from the log')
        .argParser(momentArgument)
        .conflicts('period'),
    )
    .action((account: string, { asOf, period }: { asOf?: AskedMoment; period?: string }) =>
      run((cli) => (asOf ? pastUsageCommand(cli, account, asOf) : usageCommand(cli, account, { period }))),
    );
}

/**
 * Every billing period of an account, oldest first, as the read model has them.
 *
 * @param period day on which the one period starts that is asked for, YYYY-MM-DD
 */
async function usageCommand(
  cli: CliDependencies,
  accountId: string,
  { period }: { period?: string | undefined },
): Promise<void> {
  const behind = !(await caughtUp(cli, usageAndJobs));
  const all = (await readAll(cli, accountId)).map(({ usage, invoices }) => describePeriod(usage, invoices));
  const periods = all.filter(({ period_start: start }) => period === undefined || start.slice(0, 10) === period);
  if (periods.length === 0 && !behind) {
    await requireAccount(cli, accountId);
    if (period !== undefined) throw new CommandFailed(`${accountId} has no billing period that starts on ${period}`);
  }
  print(cli.output, { account_id: accountId, periods, behind }, rowsText(cli.output, columns, periods));
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
    period_start: period.start,
    period_end: period.end,
    phase,
    plan: terms.plan,
    downloads: {
      accepted: usage.downloads,
      credits: usedOf(terms.downloads_limit, usage.downloadCredits),
      overage: { count: usage.overageDownloads, cents: usage.overageCents },
    },
    metadata: { accepted: usage.lookups, credits: usedOf(terms.metadata_limit, usage.metadataCredits) },
    fee_cents: usage.feeCents,
    fee_difference_cents: usage.feeDifferenceCents,
    overage_cap_cents: terms.overage_cap_cents,
    next_fee_cents: isLastEnded(usage) ? null : feeOf(comingTerms(usage)),
    invoices,
  };
}

const columns: Columns<Period> = {
  from: ({ period_start: start }) => start.slice(0, 10),
  to: ({ period_end: end }) => end.slice(0, 10),
  phase: 'phase',
  plan: 'plan',
  downloads: ({ downloads }) => String(downloads.accepted),
  credits: ({ downloads }) => usedText(downloads.credits),
  overage: ({ downloads: { overage } }) => `${String(overage.count)} for ${formatCents(overage.cents)}`,
  metadata: ({ metadata }) => usedText(metadata.credits),
  fee: 'fee_cents',
  cap: capText,
  invoices: ({ invoices }) => invoices.map(invoiceText).join(', ') || '-',
};

const invoiceText = ({ number, total_cents: cents }: PeriodInvoice) => `${String(number)} (${formatCents(cents)})`;

/** As everywhere else, at most the limit is used. */
function usedOf(creditLimit: number, debited: number): Pick<Pool, 'used' | 'limit'> {
  const { used, limit } = poolOf(creditLimit, debited);
  return { used, limit };
}
