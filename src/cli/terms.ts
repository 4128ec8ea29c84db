import { waitForHourlyLimit } from '../../projections/api-keys.ts';
import { changeTerms } from '../commands/change-terms.ts';
import type { TermsChange } from '../commands/change-terms.ts';
import { formatCents } from '../domain/money.ts';
import type { PlanTerms, Terms } from '../domain/plans.ts';
import type { UsageEvent } from '../domain/usage-events.ts';
import { comingTerms } from '../domain/usage-periods.ts';
import type { OpenUsage } from '../domain/usage.ts';
import { currentUsage, describeTerms, planNamed, snapshotOf } from './accounts.ts';
import type { CliDependencies } from './accounts.ts';
import { CommandFailed, print } from './output.ts';
import { commandTimeoutMs, untilShown } from './waiting.ts';

/** Changes of what an account pays for: in force from a moment on, or from the next billing period. */

/** As it is typed; the events say `next_period`. */
export type When = 'now' | 'next';

/** Fields that are not given stay as they are. */
export interface OwnTerms {
  downloads?: number;
  metadata?: number;
  /** `none`: the allowance is a hard cap. */
  overageCents?: number | 'none';
  feeCents?: number;
  hourly?: number;
}

/** @param effective without it, a plan whose fee is lower comes into force with the next period, any other one now */
export async function planCommand(
  cli: CliDependencies,
  accountId: string,
  { plan, effective }: { plan: string; effective?: When },
): Promise<void> {
  const terms = planNamed(cli.plans, plan);
  const { inForce } = await termsOf(cli, accountId);
  const when = effective ?? (terms.fee_cents < inForce.fee_cents ? 'next' : 'now');
  await changePlan(cli, accountId, { terms, when, says: `on ${plan}` });
}

/** Gives an account terms of its own, going on from those in force, or from those that come; the plan's name stays. */
export async function termsCommand(
  cli: CliDependencies,
  accountId: string,
  { effective, ...own }: OwnTerms & { effective?: When },
): Promise<void> {
  if (Object.keys(own).length === 0) {
    throw new CommandFailed(
      'nothing to change: give --downloads, --metadata, --overage-cents, --fee-cents or --hourly, or several of them',
    );
  }
  const { inForce, coming } = await termsOf(cli, accountId);
  const when = effective ?? ((own.feeCents ?? inForce.fee_cents) < inForce.fee_cents ? 'next' : 'now');
  const { overage_cap_cents: _cap, ...base } = when === 'now' ? inForce : coming;
  const { overageCents: price = base.overage_cents } = own;
  const overageCents = price === 'none' ? null : price;
  const terms: PlanTerms = {
    ...base,
    downloads_limit: own.downloads ?? base.downloads_limit,
    metadata_limit: own.metadata ?? base.metadata_limit,
    overage_cents: overageCents,
    // A price that stands in no price list is named by itself and the day on which it was agreed.
    rate_version: overageCents === base.overage_cents ? base.rate_version : ownVersion(cli.now(), overageCents),
    fee_cents: own.feeCents ?? base.fee_cents,
    hourly_limit: own.hourly ?? base.hourly_limit,
  };
  await changePlan(cli, accountId, { terms, when, says: `on terms of its own (${describeTerms(terms)})` });
}

export async function capCommand(
  cli: CliDependencies,
  accountId: string,
  { cap, effective = 'now' }: { cap: number | 'none'; effective?: When },
): Promise<void> {
  const capCents = cap === 'none' ? null : cap;
  const when = effectiveOf(effective);
  const change: TermsChange =
    capCents === null
      ? { kind: 'remove_overage_cap', effective: when }
      : { kind: 'set_overage_cap', overageCapCents: capCents, effective: when };
  const changed = await applyChange(cli, accountId, change);
  const text =
    capCents === null ? 'overage charges have no ceiling' : `overage charges stop at ${formatCents(capCents)}`;
  const from = effective === 'now' ? 'from now on' : `from ${changed.usage.period.end.slice(0, 10)} on`;
  print(
    cli.output,
    { account_id: accountId, overage_cap_cents: capCents, ...effectOf(changed, effective) },
    `${accountId}: ${text} ${from}`,
  );
}

async function changePlan(
  cli: CliDependencies,
  accountId: string,
  { terms, when, says }: { terms: PlanTerms; when: When; says: string },
): Promise<void> {
  const changed = await applyChange(cli, accountId, { kind: 'change_plan', terms, effective: effectiveOf(when) });
  const { events, usage, before } = changed;
  const planChanged = events.find((event) => event.type === 'PlanChanged');
  const differenceCents = planChanged?.data.fee_difference_cents ?? 0;
  const { plan: _name, ...bought } = terms;
  const replaced = planChanged && before.due?.plan ? before.due.plan.plan : null;
  const data = {
    ...{ account_id: accountId, plan: terms.plan, ...effectOf(changed, when) },
    ...{ fee_difference_cents: differenceCents, replaced_plan: replaced, terms: bought },
  };
  const start = usage.period.end.slice(0, 10);
  const text = [
    `${accountId} ${when === 'now' ? `is ${says} from now on` : `will be ${says} from ${start} on`}`,
    differenceCents > 0 ? `${formatCents(differenceCents)} is added to the fee of this period` : '',
    replaced === null ? '' : `the change to ${replaced} that was due from ${start} on is replaced`,
  ];
  print(cli.output, data, text.filter((part) => part !== '').join('; '));
  if (when === 'next') return;
  const { hourly_limit: hourlyLimit } = terms;
  const isShown = (timeoutMs: number) => waitForHourlyLimit(cli.pool, accountId, { hourlyLimit, timeoutMs });
  if (!(await untilShown(cli, isShown))) {
    throw new CommandFailed('the plan is in force, but its hourly limit not yet: the projector is behind or away', 2);
  }
}

const effectiveOf = (when: When) => (when === 'now' ? 'now' : 'next_period');

interface Changed {
  /** None where it was so already. */
  events: readonly UsageEvent[];
  time: string;
  /** The period before and after. */
  before: OpenUsage;
  usage: OpenUsage;
}

/** From when on a change is in force; null for one that was so already. */
function effectOf({ events, time, usage }: Changed, when: When) {
  const from = when === 'next' ? usage.period.end : events.length > 0 ? time : null;
  return { effective: effectiveOf(when), in_force_from: from, changed: events.length > 0 };
}

/** What is in force for now's period, and what comes with the next. */
async function termsOf(cli: CliDependencies, accountId: string): Promise<{ inForce: Terms; coming: Terms }> {
  const usage = await currentUsage(cli, accountId);
  const coming = comingTerms(usage);
  const isOver = usage.phase !== 'open' || cli.now() >= usage.period.end;
  return { inForce: isOver ? coming : usage.terms, coming };
}

async function applyChange(cli: CliDependencies, accountId: string, change: TermsChange): Promise<Changed> {
  const before = await currentUsage(cli, accountId);
  const commandId = cli.newUuid();
  const answer = await changeTerms(cli.lanes, {
    ...{ accountId, change, snapshot: await snapshotOf(cli, accountId), timeoutMs: commandTimeoutMs },
    cause: { commandId, correlationId: commandId, causationId: commandId, actor: cli.actor },
  });
  if (answer.outcome === 'refused') throw new CommandFailed(answer.refusal);
  if (answer.outcome === 'not_stored') {
    throw new CommandFailed('nothing was changed: the log could not be written in time');
  }
  if (answer.outcome === 'unknown') {
    throw new CommandFailed(
      'the log has not answered in time: the change may be in force; look with "accounts show"',
      2,
    );
  }
  if (answer.outcome !== 'accepted') throw new Error('only downloads have idempotency keys');
  const { events, time, usage } = answer;
  return { events, time, before, usage };
}

const ownVersion = (now: string, overageCents: number | null): string =>
  `own-${now.slice(0, 10)}-${overageCents === null ? 'none' : String(overageCents)}`;
