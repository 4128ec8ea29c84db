import type { Pool } from 'pg';
import { readNewestCredits } from '../../projections/credits.ts';
import { waitForHourlyLimit } from '../../projections/api-keys.ts';
import { openAccount, openFirstPeriod, readAccount } from '../commands/accounts.ts';
import type { AccountDependencies } from '../commands/accounts.ts';
import { changeTerms } from '../commands/change-terms.ts';
import type { TermsChange } from '../commands/change-terms.ts';
import { usageOrigin } from '../commands/known-usage.ts';
import type { UsageLanes } from '../commands/usage-lanes.ts';
import { email as emailSchema } from '../domain/account-events.ts';
import { usageStream } from '../domain/billing-period.ts';
import { formatCents } from '../domain/money.ts';
import type { PlanCatalogue, PlanTerms } from '../domain/plans.ts';
import type { Actor } from '../domain/recorded-event.ts';
import { isRefused } from '../domain/refusals.ts';
import { summariseUsage } from '../domain/usage-summary.ts';
import type { OpenUsage, UsageSnapshot } from '../domain/usage.ts';
import { CommandFailed, facts, print, requireText } from './output.ts';
import type { Output } from './output.ts';

export interface CliDependencies extends AccountDependencies {
  pool: Pool;
  lanes: UsageLanes;
  plans: PlanCatalogue;
  actor: Actor;
  /** Whether some process has the projector's role now. */
  hasProjector: () => Promise<boolean>;
  output: Output;
}

export const commandTimeoutMs = 10_000;
/** How long a command waits for the read models to follow. */
export const projectionTimeoutMs = 5_000;

export async function openCommand(
  cli: CliDependencies,
  { email, plan }: { email: string; plan: string },
): Promise<void> {
  const terms = planNamed(cli.plans, plan);
  requireText(emailSchema, email, email);
  const opened = await openAccount(cli, { email, terms, ...requestOf(cli) });
  if (isRefused(opened)) throw new CommandFailed(opened.refusal);
  const { accountId } = opened;
  const inForce = await waitForHourlyLimit(cli.pool, accountId, {
    hourlyLimit: terms.hourly_limit,
    timeoutMs: projectionTimeoutMs,
  });
  print(cli.output, { account_id: accountId, email, plan }, facts({ account_id: accountId, email, plan }));
  if (!inForce)
    throw new CommandFailed(`${accountId} is recorded, not yet in force: the projector is behind or away`, 2);
}

export async function showCommand(cli: CliDependencies, accountId: string): Promise<void> {
  const { opened, keys } = await readAccount(cli.store, accountId);
  if (!opened) throw new CommandFailed(`there is no account ${accountId}`);
  const usage = await currentUsage(cli, accountId);
  const { plan, downloads, metadata, overage, period } = summariseUsage(usage, cli.now());
  const active = [...keys.values()].filter(({ revoked }) => !revoked).length;
  const terms = usage.next?.terms ?? usage.terms;
  const data = {
    account_id: accountId,
    email: opened.personal.email,
    plan,
    downloads,
    metadata,
    overage,
    overage_cap_cents: terms.overage_cap_cents,
    period_start: period.start,
    period_end: period.end,
    active_keys: active,
  };
  const pool = ({ used, limit }: { used: number; limit: number }) => `${String(used)} of ${String(limit)}`;
  const text = facts({
    account_id: accountId,
    email: data.email,
    plan,
    downloads: pool(downloads),
    metadata: pool(metadata),
    overage: `${String(overage.downloads)} downloads, ${formatCents(overage.cents)}`,
    overage_cap: terms.overage_cap_cents === null ? 'none' : formatCents(terms.overage_cap_cents),
    period: `${period.start} to ${period.end}`,
    active_keys: active,
  });
  print(cli.output, data, text);
}

export async function planCommand(cli: CliDependencies, accountId: string, plan: string): Promise<void> {
  const terms = planNamed(cli.plans, plan);
  await change(cli, accountId, { kind: 'change_plan', terms, effective: 'now' });
  print(cli.output, { account_id: accountId, plan }, `${accountId} is on ${plan} from now on`);
  const { hourly_limit: hourlyLimit } = terms;
  if (!(await waitForHourlyLimit(cli.pool, accountId, { hourlyLimit, timeoutMs: projectionTimeoutMs }))) {
    throw new CommandFailed('the plan is in force, but its hourly limit not yet: the projector is behind or away', 2);
  }
}

/** @param ceiling whole cents, or `none` */
export async function capCommand(cli: CliDependencies, accountId: string, ceiling: string): Promise<void> {
  if (ceiling !== 'none' && !/^\d{1,12}$/.test(ceiling)) {
    throw new CommandFailed(`${ceiling} is not a number of cents: give a whole number such as 5000, or none`);
  }
  const cents = ceiling === 'none' ? null : Number(ceiling);
  await change(
    cli,
    accountId,
    cents === null
      ? { kind: 'remove_overage_cap', effective: 'now' }
      : { kind: 'set_overage_cap', overageCapCents: cents, effective: 'now' },
  );
  const text = cents === null ? 'overage charges have no ceiling' : `overage charges stop at ${formatCents(cents)}`;
  print(cli.output, { account_id: accountId, overage_cap_cents: cents }, `${accountId}: ${text} from now on`);
}

export const requestOf = ({ newUuid, actor }: CliDependencies) => ({
  correlationId: newUuid(),
  actor,
  timeoutMs: commandTimeoutMs,
});

async function change(cli: CliDependencies, accountId: string, terms: TermsChange): Promise<void> {
  const commandId = cli.newUuid();
  const answer = await changeTerms(cli.lanes, {
    accountId,
    change: terms,
    snapshot: await snapshotOf(cli, accountId),
    cause: { commandId, correlationId: commandId, causationId: commandId, actor: cli.actor },
    timeoutMs: commandTimeoutMs,
  });
  if (answer.outcome === 'refused') throw new CommandFailed(answer.refusal);
  if (answer.outcome === 'not_stored')
    throw new CommandFailed('nothing was changed: the log could not be written in time');
  if (answer.outcome === 'unknown') {
    throw new CommandFailed(
      'the log has not answered in time: the change may be in force; look with "accounts show"',
      2,
    );
  }
}

async function currentUsage(cli: CliDependencies, accountId: string): Promise<OpenUsage> {
  const commandId = cli.newUuid();
  const answer = await cli.lanes.ask(accountId, {
    command: { kind: 'observe' },
    snapshot: await snapshotOf(cli, accountId),
    cause: { commandId, correlationId: commandId, causationId: commandId, actor: cli.actor },
    deadlineMs: performance.now() + commandTimeoutMs,
  });
  if (answer.outcome !== 'accepted') throw new CommandFailed('the log could not be read in time');
  return answer.usage;
}

/** Where to start from: the read model's row, or the account's first stream while there is none. */
async function snapshotOf(cli: CliDependencies, accountId: string): Promise<UsageSnapshot> {
  const row = await readNewestCredits(cli.pool, accountId);
  if (row) return row;
  const refused = await openFirstPeriod(cli, accountId, requestOf(cli));
  if (refused) throw new CommandFailed(`there is no account ${accountId}`);
  const { opened } = await readAccount(cli.store, accountId);
  return usageOrigin(usageStream(accountId, { start: opened?.period_start ?? '' }));
}

function planNamed(plans: PlanCatalogue, plan: string): PlanTerms {
  const terms = plans.get(plan);
  if (!terms) throw new CommandFailed(`there is no plan ${plan}; the plan file has ${[...plans.keys()].join(', ')}`);
  return terms;
}
