import { type Command, Option } from 'commander';
import { readCredits } from '../../../projections/credits.ts';
import { listFailedOverage, readJob } from '../../../projections/jobs.ts';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { readCharges } from '../../commands/change-charge.ts';
import type { CorrectDependencies } from '../../commands/correct.ts';
import { giveBack, giveBackCharges } from '../../commands/give-back.ts';
import { OutcomeUnknown } from '../../commands/handler/handle-command.ts';
import { facts } from '../../documents/text.ts';
import { usageStream } from '../../domain/billing-period.ts';
import { formatCents } from '../../domain/cents.ts';
import { waiverName } from '../../domain/change-charge.ts';
import { type FailureReason, failureReasonNames } from '../../domain/failure-reasons.ts';
import {
  accountIdArgument,
  addDecisionOptions,
  amountArgument,
  dayArgument,
  staffActor,
  type StaffDecision,
} from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed, print, type RefusalTexts, unlessRefused } from '../output.ts';
import { createCountBar } from '../progress-bar.ts';
import { caughtUp } from '../wait-for-read-models.ts';

export function addWaive(ledger: Command, run: RunCommand): void {
  const command = ledger
    .command('waive')
    .description(
      'give back the charge of a download, or of all failed downloads of a period, before its books are closed',
    )
    .argument('[token]', 'request token; not with --failed')
    .option('--failed', 'instead of one token: every charge of a period whose download failed')
    .option('--account <account>', 'with --failed: account id', accountIdArgument)
    .option('--period <day>', 'with --failed: day on which the period starts, YYYY-MM-DD', dayArgument)
    .addOption(
      new Option('--failure-reason <reason>', 'with --failed: only this reason (default: any)').choices(
        failureReasonNames,
      ),
    )
    .option('--cents <cents>', 'amount (default: the rest of the charge)', amountArgument);
  addDecisionOptions(
    command,
    'reason for the waiver',
    'case or ticket; the same reference waives a charge only once',
  ).action((token: string | undefined, options: Waiver & Partial<FailedWaiver> & { failed?: true }) => {
    const { failed, account, period } = options;
    if (failed) {
      if (token !== undefined || account === undefined || period === undefined || options.cents !== undefined)
        throw new CommandFailed('--failed takes --account and --period, and neither a token nor --cents');
      return run((cli) => waiveFailedCommand(cli, { ...options, account, period }));
    }
    if (token === undefined || account !== undefined || period !== undefined || options.failureReason !== undefined)
      throw new CommandFailed('give one token; or --failed with --account and --period');
    return run((cli) => waiveCommand(cli, token, options));
  });
}

interface Waiver extends StaffDecision {
  /** Without it, all that is left of the charge. */
  cents?: number;
}

type WaiveDependencies = CorrectDependencies &
  Pick<CliDependencies, 'pool' | 'macs' | 'hasProjector' | 'approvalCents' | 'output'>;

const waiverTimeoutMs = 60_000;

/** Takes back the charge of a download, or a part of it, while the books of its period are open. */
export async function waiveCommand(
  cli: WaiveDependencies,
  token: string,
  { cents, reference, ...decided }: Waiver,
): Promise<void> {
  const { account_id, usage_stream: stream, usage_revision: queued } = await findJob(cli, token);
  // Right before its DownloadQueued; whatever concerns a charge stands behind it.
  const revision = queued - 1;
  const answer = await giveBack(cli, {
    accountId: account_id,
    reference,
    correction: { kind: 'waive_charge', stream, token, revision },
    cents,
    ...orderOf(cli, decided),
  }).catch(explainUnknown);
  unlessRefused(answer, refusalTexts({ token, reference, stream }));
  // From the log alone, so that the same command prints the same when it is repeated.
  const [waiver] = await readWaivers(cli, { stream, reference, charges: [{ token, revision }] });
  if (!waiver) throw new Error(`the waiver ${reference} was accepted and is not there`);
  const data = { account_id, stream, ...waiver };
  const { cents: waivedCents, limited_key_id: _key, ...others } = data;
  print(cli.output, data, `${formatCents(waivedCents)} is waived\n\n${facts(others)}`);
}

const orderOf = ({ approvalCents }: WaiveDependencies, decided: Pick<StaffDecision, 'by' | 'reason'>) => ({
  operator: staffActor(decided),
  limitCents: approvalCents,
  timeoutMs: waiverTimeoutMs,
});

interface WaivedCharges {
  stream: string;
  reference: string;
  /** In the order of the stream. */
  charges: readonly { token: string; revision: number }[];
}

async function readWaivers({ store }: WaiveDependencies, { stream, reference, charges }: WaivedCharges) {
  const [first] = charges;
  if (!first) return [];
  const { waivers } = await readCharges(store, stream, first.revision);
  return charges.flatMap(({ token }) => waivers.get(waiverName({ reference, token })) ?? []);
}

interface FailedWaiver extends StaffDecision {
  account: string;
  /** Day on which the billing period starts, YYYY-MM-DD. */
  period: string;
  /** Default: any. */
  failureReason?: FailureReason;
}

/** Takes back what is left of each charge of a period whose download has failed. */
export async function waiveFailedCommand(
  cli: WaiveDependencies,
  { account, period, failureReason, reference, ...decided }: FailedWaiver,
): Promise<void> {
  const stream = usageStream(account, { start: `${period}T00:00:00.000Z` });
  const behind = !(await caughtUp(cli, usageAndJobs));
  if (!(await readCredits(cli.pool, stream, cli.macs))) {
    throw new CommandFailed(`${account} has no billing period that starts on ${period}`, behind ? 2 : 1);
  }
  const failed = await listFailedOverage(cli.pool, { stream, reason: failureReason });
  const charges = failed.map(({ token, usage_revision: queued }) => ({ token, revision: queued - 1 }));
  const earlier = await readWaivers(cli, { stream, reference, charges });
  const before = new Set(earlier.map(({ token }) => token));
  const bar = createCountBar(cli.output, 'waived', charges.length);
  const order = { accountId: account, reference, ...orderOf(cli, decided) };
  const refused = await giveBackCharges(cli, { ...order, stream, charges }, bar.show)
    .catch(explainUnknown)
    .finally(bar.end);
  const after = await readWaivers(cli, { stream, reference, charges });
  const waived = after.filter(({ token }) => !before.has(token));
  const cents = waived.reduce((sum, each) => sum + each.cents, 0);
  const data = {
    account_id: account,
    stream,
    reference,
    failed_charges: charges.length,
    waived: waived.length,
    cents,
    tokens: waived.map(({ token }) => token),
    behind,
  };
  const text = `${String(waived.length)} charge${waived.length === 1 ? '' : 's'} waived, ${formatCents(cents)} in all`;
  const others = charges.length - waived.length;
  const rest = others > 0 ? `; ${String(others)} more had nothing left to waive` : '';
  print(cli.output, data, refused ? text : text + rest);
  if (refused) unlessRefused(refused, refusalTexts({ token: '', reference, stream }));
  if (behind) throw new CommandFailed('more may have failed: the projector is behind or away', 2);
}

function explainUnknown(error: unknown): never {
  if (!(error instanceof OutcomeUnknown)) throw error;
  throw new CommandFailed(
    'the log has not answered in time: the waiver may be stored; repeat the same command, which waives nothing twice',
    2,
  );
}

async function findJob(cli: WaiveDependencies, token: string) {
  const projected = await readJob(cli.pool, token);
  if (projected) return projected;
  const behind = !(await caughtUp(cli, usageAndJobs));
  const job = await readJob(cli.pool, token);
  if (job) return job;
  if (!behind) throw new CommandFailed(`there is no download ${token}`);
  throw new CommandFailed(`there is no download ${token} in the read model yet, because it is behind the log`, 2);
}

function refusalTexts({ token, reference, stream }: Record<'token' | 'reference' | 'stream', string>): RefusalTexts {
  return {
    period_closed: `the books of ${stream} are closed: give the money back with "invoices credit"`,
    nothing_to_give_back: `nothing is left to waive of the charge for ${token}: it was a credit, or was given back`,
    exceeds_charge: `the amount exceeds the rest of the charge for ${token}: see "jobs timeline ${token}"`,
    reference_reused: `another waiver of this charge has the reference ${reference}: use another reference`,
  };
}
