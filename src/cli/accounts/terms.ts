import { type Command, InvalidArgumentError, Option } from 'commander';
import { waitForHourlyLimit } from '../../../projections/api-keys.ts';
import type { TermsChange } from '../../commands/change-terms.ts';
import { formatCents } from '../../domain/cents.ts';
import { resultOfPlanChange, type TermsChanges } from '../../domain/change-plan.ts';
import { largestAllowance, largestHourlyLimit, largestMaxKeys } from '../../domain/plans.ts';
import type { Effective } from '../../domain/usage-events.ts';
import { accountIdArgument, centsArgument, centsOrNoneArgument, wholeArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed, print } from '../output.ts';
import { untilShown } from '../wait-for-read-models.ts';
import { applyChange } from './apply-change.ts';
import { describeTerms, planNamed } from './describe-terms.ts';

/** Changes of what an account pays for: in force from a moment on, or from the next billing period. */

/** The moments as they are typed, and as the events have them. */
const moments = { now: 'now', next: 'next_period' } as const;
type When = keyof typeof moments;

/** Fields that are not given stay as they are. */
interface OwnTerms {
  downloads?: number;
  metadata?: number;
  /** `none`: the allowance is a hard cap. */
  overageCents?: number | 'none';
  feeCents?: number;
  hourly?: number;
  keys?: number;
}

export function addAccountPlan(accounts: Command, run: RunCommand): void {
  accounts
    .command('plan')
    .description('move an account to another plan')
    .argument('<account>', 'account id', accountIdArgument)
    .argument('<plan>', 'a plan of the plan file')
    .addOption(effectiveOption('now, unless its fee is lower'))
    .action((account: string, plan: string, options: { effective?: When }) =>
      run((cli) => planCommand(cli, account, { plan, ...options })),
    );
}

export function addAccountTerms(accounts: Command, run: RunCommand): void {
  accounts
    .command('terms')
    .description('give an account terms of its own; omitted terms stay as they are, now and in a change that is due')
    .argument('<account>', 'account id', accountIdArgument)
    .option('--downloads <number>', 'downloads included in a period', wholeArgument(0, largestAllowance))
    .option('--metadata <number>', 'metadata requests included in a period', wholeArgument(0, largestAllowance))
    .option(
      '--overage-cents <cents>',
      'price of a download beyond the allowance, or none for a hard limit',
      overageArgument,
    )
    .option('--fee-cents <cents>', 'monthly fee', centsArgument)
    .option('--hourly <number>', 'requests an hour of each key', wholeArgument(1, largestHourlyLimit))
    .option('--keys <number>', 'API keys in force at a time', wholeArgument(1, largestMaxKeys))
    .addOption(effectiveOption('now, unless the fee is lower'))
    .action((account: string, options: OwnTerms & { effective?: When }) =>
      run((cli) => termsCommand(cli, account, options)),
    );
}

export function addAccountCap(accounts: Command, run: RunCommand): void {
  accounts
    .command('cap')
    .description('set or remove the cap on overage charges')
    .argument('<account>', 'account id', accountIdArgument)
    .argument('<cents>', 'whole cents per billing period, or none', centsOrNoneArgument)
    .addOption(effectiveOption('now'))
    .action((account: string, cap: number | 'none', options: { effective?: When }) =>
      run((cli) => capCommand(cli, account, { cap, ...options })),
    );
}

const effectiveOption = (usual: string): Option =>
  new Option('--effective <when>', `now, or with the next billing period (default: ${usual})`).choices(
    Object.keys(moments),
  );

function overageArgument(value: string): number | 'none' {
  const price = centsOrNoneArgument(value);
  if (price === 0)
    throw new InvalidArgumentError('a price is at least 1 cent; none means no downloads beyond the allowance');
  return price;
}

/** @param effective without it, a plan whose fee is lower comes into force with the next period, any other one now */
async function planCommand(
  cli: CliDependencies,
  accountId: string,
  { plan, effective }: { plan: string; effective?: When },
): Promise<void> {
  const terms = planNamed(await cli.plans(), plan);
  await changePlan(cli, accountId, { kind: 'change_plan', terms, effective: effective && moments[effective] });
}

/** Gives an account terms of its own, going on from those in force, or from those that come; the plan's name stays. */
async function termsCommand(
  cli: CliDependencies,
  accountId: string,
  { effective, ...own }: OwnTerms & { effective?: When },
): Promise<void> {
  if (Object.keys(own).length === 0) {
    throw new CommandFailed(
      'nothing to change: give --downloads, --metadata, --overage-cents, --fee-cents, --hourly or --keys, or several of them',
    );
  }
  const change = { kind: 'change_terms', changes: changesOf(own), agreedAt: cli.now() } as const;
  await changePlan(cli, accountId, { ...change, effective: effective && moments[effective] });
}

/** Names the fields that change, and no others: of two commands at once, neither undoes what the other one says. */
function changesOf({ downloads, metadata, overageCents, feeCents, hourly, keys }: OwnTerms): TermsChanges {
  return {
    ...(downloads !== undefined && { downloads_limit: downloads }),
    ...(metadata !== undefined && { metadata_limit: metadata }),
    ...(overageCents !== undefined && { overage_cents: overageCents === 'none' ? null : overageCents }),
    ...(feeCents !== undefined && { fee_cents: feeCents }),
    ...(hourly !== undefined && { hourly_limit: hourly }),
    ...(keys !== undefined && { max_keys: keys }),
  };
}

async function capCommand(
  cli: CliDependencies,
  accountId: string,
  { cap, effective = 'now' }: { cap: number | 'none'; effective?: When },
): Promise<void> {
  const capCents = cap === 'none' ? null : cap;
  const when = moments[effective];
  const change: TermsChange =
    capCents === null
      ? { kind: 'remove_overage_cap', effective: when }
      : { kind: 'set_overage_cap', overageCapCents: capCents, effective: when };
  const changed = await applyChange(cli, accountId, change);
  const text = capCents === null ? 'overage charges have no cap' : `overage charges stop at ${formatCents(capCents)}`;
  const from = effective === 'now' ? 'from now on' : `from ${changed.usage.period.end.slice(0, 10)} on`;
  print(
    cli.output,
    { account_id: accountId, overage_cap_cents: capCents, ...effectOf(changed, when) },
    `${accountId}: ${text} ${from}`,
  );
}

async function changePlan(
  cli: CliDependencies,
  accountId: string,
  change: Extract<TermsChange, { kind: 'change_plan' | 'change_terms' }>,
): Promise<void> {
  const changed = await applyChange(cli, accountId, change);
  const { events, usage, before } = changed;
  const planChanges = events.filter((event) => event.type === 'PlanChanged');
  // Also on the state after the change, and where nothing changed.
  const { terms, effective } = resultOfPlanChange(usage, change);
  const differenceCents = planChanges.reduce((cents, { data }) => cents + data.fee_difference_cents, 0);
  const { plan: _name, ...bought } = terms;
  const waitingPlan = change.kind === 'change_terms' && effective === 'now' ? usage.due?.plan : undefined;
  const replaced = planChanges.length > 0 && !waitingPlan && before.due?.plan ? before.due.plan.plan : null;
  const data = {
    account_id: accountId,
    plan: terms.plan,
    ...effectOf(changed, effective),
    fee_difference_cents: differenceCents,
    replaced_plan: replaced,
    kept_plan: waitingPlan ? { ...waitingPlan, from: usage.period.end } : null,
    terms: bought,
  };
  const start = usage.period.end.slice(0, 10);
  const says = change.kind === 'change_plan' ? `on ${terms.plan}` : `on terms of its own (${describeTerms(terms)})`;
  const text = [
    `${accountId} ${effective === 'now' ? `is ${says} from now on` : `will be ${says} from ${start} on`}`,
    differenceCents > 0 ? `${formatCents(differenceCents)} is added to the fee of this period` : '',
    replaced === null ? '' : `the change to ${replaced} that was due from ${start} on is replaced`,
    waitingPlan
      ? `what is due from ${start} on stays, with the same changes: ${waitingPlan.plan} (${describeTerms(waitingPlan)})`
      : '',
  ];
  print(cli.output, data, text.filter((part) => part !== '').join('; '));
  if (effective === 'next_period') return;
  const { hourly_limit: hourlyLimit } = terms;
  const isShown = (timeoutMs: number) => waitForHourlyLimit(cli.pool, accountId, { hourlyLimit, timeoutMs });
  if (!(await untilShown(cli, isShown))) {
    throw new CommandFailed('the plan is in force, but its hourly limit not yet: the projector is behind or away', 2);
  }
}

/** When a change takes effect; null if nothing changed. */
function effectOf({ events, time, usage }: Awaited<ReturnType<typeof applyChange>>, effective: Effective) {
  const from = effective === 'next_period' ? usage.period.end : events.length > 0 ? time : null;
  return { effective, in_force_from: from, changed: events.length > 0 };
}
