import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { readCredits } from '../../../projections/credits.ts';
import { type JobRow, listFailedOverage, readJobs } from '../../../projections/jobs.ts';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { readCharges } from '../../commands/change-charge.ts';
import type { CorrectDependencies } from '../../commands/correct.ts';
import { type ChargesToGiveBack, giveBack, giveBackCharges } from '../../commands/give-back.ts';
import { load, OutcomeUnknown } from '../../commands/handler/handle-command.ts';
import { accountInvoices } from '../../commands/issue-invoice.ts';
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
import { CommandFailed, print, type RefusalTexts, rowsText, unlessRefused } from '../output.ts';
import { createCountBar } from '../progress-bar.ts';
import { caughtUp } from '../wait-for-read-models.ts';

export function addWaive(ledger: Command, run: RunCommand): void {
  const command = ledger
    .command('waive')
    .description(
      'give back the charges of downloads, or of all failed downloads of a period: waived while the books of the period are open, ' +
        'credited afterwards',
    )
    .argument('[tokens...]', 'request tokens of one account; not with --failed')
    .option('--file <path>', 'a file with more request tokens, one a line')
    .option('--failed', 'instead of tokens: every charge of a period whose download failed')
    .option('--account <account>', 'with --failed: account id', accountIdArgument)
    .option('--period <day>', 'with --failed: day on which the period starts, YYYY-MM-DD', dayArgument)
    .addOption(
      new Option('--failure-reason <reason>', 'with --failed: only this reason (default: any)').choices(
        failureReasonNames,
      ),
    )
    .option('--cents <cents>', 'amount, for one token alone (default: the rest of the charge)', amountArgument);
  addDecisionOptions(
    command,
    'reason for giving it back',
    'case or ticket; the same reference gives back a charge only once',
  ).action((named: string[], options: Waiver & Partial<FailedWaiver> & { failed?: true; file?: string }) => {
    const { failed, account, period, file, cents } = options;
    if (failed) {
      if (
        named.length > 0 ||
        file !== undefined ||
        account === undefined ||
        period === undefined ||
        cents !== undefined
      )
        throw new CommandFailed('--failed takes --account and --period, and neither tokens nor --cents');
      return run((cli) => waiveFailedCommand(cli, { ...options, account, period }));
    }
    const tokens = [...new Set([...named, ...(file === undefined ? [] : readTokens(file))])];
    if (tokens.length === 0 || account !== undefined || period !== undefined || options.failureReason !== undefined)
      throw new CommandFailed('give request tokens; or --failed with --account and --period');
    if (cents !== undefined && tokens.length > 1)
      throw new CommandFailed('--cents is an amount of one charge: of several, all that is left is given back');
    return run((cli) => waiveCommand(cli, tokens, options));
  });
}

function readTokens(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  } catch (error) {
    throw new CommandFailed(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}

interface Waiver extends StaffDecision {
  /** Of one charge. Without it, all that is left. */
  cents?: number;
}

type WaiveDependencies = CorrectDependencies &
  Pick<CliDependencies, 'pool' | 'macs' | 'hasProjector' | 'approvalCents' | 'output'>;

const waiverTimeoutMs = 60_000;

/** Takes back the charges of downloads of one account, or a part of one charge. */
export async function waiveCommand(
  cli: WaiveDependencies,
  tokens: readonly string[],
  { cents, reference, ...decided }: Waiver,
): Promise<void> {
  const jobs = await findJobs(cli, tokens);
  const [first, ...others] = new Set(jobs.map(({ account_id: accountId }) => accountId));
  if (first === undefined || others.length > 0)
    throw new CommandFailed('the downloads are of several accounts: give back those of each account by themselves');
  const order = { accountId: first, reference, ...orderOf(cli, decided) };
  const [token] = tokens;
  const texts = refusalTexts({
    what: tokens.length === 1 ? `the charge for ${token ?? ''}` : 'these charges',
    reference,
  });
  const periods = [...Map.groupBy(jobs, ({ usage_stream: stream }) => stream)].map(([stream, ofPeriod]) => ({
    stream,
    charges: ofPeriod.map(chargeOf).sort((one, other) => one.revision - other.revision),
  }));
  for (const { stream, charges } of periods) {
    if (tokens.length > 1) {
      const refused = await giveBackCharges(cli, { ...order, stream, charges }).catch(explainUnknown);
      if (refused) unlessRefused(refused, texts);
      continue;
    }
    const correction = { kind: 'charges', stream, charges: charges.map((charge) => ({ ...charge, cents })) } as const;
    unlessRefused(await giveBack(cli, { ...order, correction }).catch(explainUnknown), texts);
  }
  const given = (await Promise.all(periods.map((period) => readGiven(cli, { ...order, ...period })))).flat();
  if (given.length === 0) unlessRefused({ refusal: 'nothing_to_give_back' }, texts);
  printGiven(cli, { account_id: first, reference }, { given, wanted: tokens.length });
}

/** The charge stands right before its DownloadQueued; whatever concerns it stands behind it. */
const chargeOf = ({ token, usage_revision: queued }: Pick<JobRow, 'token' | 'usage_revision'>) => ({
  token,
  revision: queued - 1,
});

const orderOf = ({ approvalCents }: WaiveDependencies, decided: Pick<StaffDecision, 'by' | 'reason'>) => ({
  operator: staffActor(decided),
  limitCents: approvalCents,
  timeoutMs: waiverTimeoutMs,
});

interface Given {
  token: string;
  stream: string;
  cents: number;
  /** Number of the credit note; null for a waiver. */
  credit_note: number | null;
}

/** What a reference has given back of charges: from the log alone, so that the same command prints the same when it is repeated. */
async function readGiven(
  { store }: WaiveDependencies,
  { accountId, stream, reference, charges }: Pick<ChargesToGiveBack, 'accountId' | 'stream' | 'reference' | 'charges'>,
): Promise<Given[]> {
  const [first] = charges;
  if (!first) return [];
  const { waivers, closed } = await readCharges(store, stream, first.revision);
  const { creditNotes } = closed ? (await load(store, accountInvoices(accountId))).state : { creditNotes: [] };
  const credited = creditNotes
    .filter((note) => note.reference === reference)
    .flatMap(({ number, charges: ofNote }) => ofNote.map((each) => ({ ...each, credit_note: number })));
  return charges.flatMap(({ token }) => {
    const waived = waivers.get(waiverName({ reference, token }));
    const of = waived ? { cents: waived.cents, credit_note: null } : credited.find((each) => each.token === token);
    return of ? [{ token, stream, cents: of.cents, credit_note: of.credit_note }] : [];
  });
}

function printGiven(
  { output }: WaiveDependencies,
  about: object,
  { given, wanted }: { given: readonly Given[]; wanted: number },
): void {
  const cents = given.reduce((sum, each) => sum + each.cents, 0);
  const others = wanted - given.length;
  const text = `${formatCents(cents)} is given back, of ${String(given.length)} ${given.length === 1 ? 'charge' : 'charges'}`;
  const rest = others > 0 ? `; ${String(others)} more had nothing left` : '';
  const rows = rowsText(
    output,
    { token: 'token', stream: 'stream', cents: 'cents', credit_note: 'credit_note' },
    given,
  );
  print(output, { ...about, cents, charges: given }, given.length === 0 ? text + rest : `${text}${rest}\n\n${rows}`);
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
  const charges = (await listFailedOverage(cli.pool, { stream, reason: failureReason })).map(chargeOf);
  const bar = createCountBar(cli.output, 'given back', charges.length);
  const order = { accountId: account, reference, stream, charges, ...orderOf(cli, decided) };
  const refused = await giveBackCharges(cli, order, bar.show).catch(explainUnknown).finally(bar.end);
  const about = { account_id: account, stream, reference, failed_charges: charges.length, behind };
  printGiven(cli, about, { given: await readGiven(cli, order), wanted: refused ? 0 : charges.length });
  if (refused) unlessRefused(refused, refusalTexts({ what: 'these charges', reference }));
  if (behind) throw new CommandFailed('more may have failed: the projector is behind or away', 2);
}

function explainUnknown(error: unknown): never {
  if (!(error instanceof OutcomeUnknown)) throw error;
  throw new CommandFailed(
    'the log has not answered in time: it may be given back; repeat the same command, which gives nothing back twice',
    2,
  );
}

async function findJobs(cli: WaiveDependencies, tokens: readonly string[]): Promise<JobRow[]> {
  const projected = await readJobs(cli.pool, tokens);
  if (projected.length === tokens.length) return projected;
  const behind = !(await caughtUp(cli, usageAndJobs));
  const jobs = await readJobs(cli.pool, tokens);
  const missing = tokens.find((token) => jobs.every((job) => job.token !== token));
  if (missing === undefined) return jobs;
  if (!behind) throw new CommandFailed(`there is no download ${missing}`);
  throw new CommandFailed(`there is no download ${missing} in the read model yet, because it is behind the log`, 2);
}

const refusalTexts = ({ what, reference }: Record<'what' | 'reference', string>): RefusalTexts => ({
  invoice_not_found:
    'the books of the period are closed, and its invoice is not issued yet: repeat the same command in a minute',
  nothing_to_give_back: `nothing is left to give back of ${what}: a credit, or given back before`,
  exceeds_charge: `the amount exceeds the rest of ${what}: see "jobs timeline"`,
  reference_reused: `the reference ${reference} has given something back of ${what} before: use another reference`,
});
