import type { EventStore, WholeLog } from '../ports/event-store.ts';
import type { RowMacs } from '../ports/row-macs.ts';
import type { Pool } from 'pg';
import { notBelieved } from '../../projections/credits-macs.ts';
import { readNewestCredits } from '../../projections/credits.ts';
import { waitForAccount } from '../../projections/api-keys.ts';
import { openAccount, openFirstPeriod, readAccount } from '../commands/accounts.ts';
import type { AccountDependencies } from '../commands/accounts.ts';
import { usageOrigin } from '../commands/usage/usage-cache.ts';
import type { WriterRegistry } from '../commands/usage/writer-registry.ts';
import { countActiveKeys } from '../domain/account.ts';
import { email as emailSchema } from '../domain/account-events.ts';
import { usageStream } from '../domain/billing-period.ts';
import { formatCents } from '../domain/money.ts';
import { maxKeysOf } from '../domain/plans.ts';
import type { PlanCatalogue, PlanTerms, Terms } from '../domain/plans.ts';
import type { Actor } from '../domain/recorded-event.ts';
import { isRefused } from '../domain/refusals.ts';
import { summariseUsage } from '../domain/usage-summary.ts';
import { comingTerms, isOverAt, termsAt } from '../domain/usage-periods.ts';
import type { UsagePeriod, UsageSnapshot } from '../domain/usage-state.ts';
import { CommandFailed, facts, print, requireText } from './output.ts';
import type { Output } from './output.ts';
import { commandTimeoutMs, untilShown } from './waiting.ts';

export interface CliDependencies extends AccountDependencies {
  store: EventStore & WholeLog;
  pool: Pool;
  macs: RowMacs;
  writers: WriterRegistry;
  plans: PlanCatalogue;
  actor: Actor;
  /** Whether some process has the projector's role now. */
  hasProjector: () => Promise<boolean>;
  output: Output;
}

export async function openCommand(
  cli: CliDependencies,
  { email, plan, reference }: { email: string; plan: string; reference?: string },
): Promise<void> {
  const terms = planNamed(cli.plans, plan);
  requireText(emailSchema, email, email);
  const opened = await openAccount(cli, { email, terms, reference, ...requestOf(cli) });
  if (isRefused(opened)) throw new CommandFailed(opened.refusal);
  const { accountId } = opened;
  const differing = [
    ...(opened.email === email ? [] : [`e-mail ${opened.email}`]),
    ...(opened.plan === plan ? [] : [`plan ${opened.plan}`]),
  ];
  if (differing.length > 0)
    throw new CommandFailed(`${reference ?? ''} has opened ${accountId} already, with ${differing.join(' and ')}`);
  const inForce = await untilShown(cli, (timeoutMs) => waitForAccount(cli.pool, accountId, timeoutMs));
  print(cli.output, { account_id: accountId, email, plan }, facts({ account_id: accountId, email, plan }));
  if (!inForce)
    throw new CommandFailed(`${accountId} is recorded, not yet in force: the projector is behind or away`, 2);
}

export async function showCommand(cli: CliDependencies, accountId: string): Promise<void> {
  const account = await readAccount(cli.store, accountId);
  const { opened } = account;
  if (!opened) throw new CommandFailed(`there is no account ${accountId}`);
  const usage = await currentUsage(cli, accountId);
  const { plan, downloads, metadata, overage, period } = summariseUsage(usage, cli.now());
  const active = countActiveKeys(account);
  const now = cli.now();
  const terms = termsAt(usage, now);
  const coming =
    isOverAt(usage, now) || usage.due === null ? null : { from: usage.period.end, terms: comingTerms(usage) };
  const data = {
    account_id: accountId,
    email: opened.personal.email,
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
  };
  const pool = ({ used, limit }: { used: number; limit: number }) => `${String(used)} of ${String(limit)}`;
  const text = facts({
    account_id: accountId,
    email: data.email,
    plan,
    downloads: pool(downloads),
    metadata: pool(metadata),
    overage: `${String(overage.downloads)} downloads, ${formatCents(overage.cents)}`,
    overage_cap: capText(terms),
    fee: formatCents(terms.fee_cents),
    period: `${period.start} to ${period.end}`,
    ...(coming && { coming: comingText(coming) }),
    active_keys: `${String(active)} of ${String(data.max_keys)}`,
  });
  print(cli.output, data, text);
}

/** One line of what an account has bought. */
export function describeTerms(terms: PlanTerms): string {
  const { downloads_limit, metadata_limit, overage_cents: rateCents, rate_version, fee_cents, hourly_limit } = terms;
  const overage =
    rateCents === null ? 'no downloads beyond' : `${formatCents(rateCents)} for each beyond (${rate_version})`;
  const included = `${String(downloads_limit)} downloads, ${overage}, ${String(metadata_limit)} lookups`;
  return `${included}, ${formatCents(fee_cents)} a month, ${String(hourly_limit)} requests an hour of each of ${String(maxKeysOf(terms))} keys`;
}

const capText = ({ overage_cap_cents: capCents }: Terms) => (capCents === null ? 'none' : formatCents(capCents));

const comingText = ({ from, terms }: { from: string; terms: Terms }) =>
  `from ${from.slice(0, 10)} on ${terms.plan}: ${describeTerms(terms)}, overage cap ${capText(terms)}`;

export const requestOf = ({ newUuid, actor }: CliDependencies) => ({
  correlationId: newUuid(),
  actor,
  timeoutMs: commandTimeoutMs,
});

/** The newest billing period, as the log has it now. */
export async function currentUsage(cli: CliDependencies, accountId: string): Promise<UsagePeriod> {
  const commandId = cli.newUuid();
  const answer = await cli.writers.ask(accountId, {
    command: { kind: 'query' },
    snapshot: await snapshotOf(cli, accountId),
    cause: { commandId, correlationId: commandId, causationId: commandId, actor: cli.actor },
    deadlineMs: performance.now() + commandTimeoutMs,
  });
  if (answer.outcome !== 'accepted') throw new CommandFailed('the log could not be read in time');
  return answer.usage;
}

/** Where to start from: the read model's row, or the account's first stream while there is none that is believed. */
export async function snapshotOf(cli: CliDependencies, accountId: string): Promise<UsageSnapshot> {
  const row = await readNewestCredits(cli.pool, accountId, cli.macs);
  if (row && row !== notBelieved) return row;
  const refused = await openFirstPeriod(cli, accountId, requestOf(cli));
  if (refused) throw new CommandFailed(`there is no account ${accountId}`);
  const { opened } = await readAccount(cli.store, accountId);
  return usageOrigin(usageStream(accountId, { start: opened?.period_start ?? '' }));
}

export function planNamed(plans: PlanCatalogue, plan: string): PlanTerms {
  const terms = plans.get(plan);
  if (!terms) throw new CommandFailed(`there is no plan ${plan}; the plan file has ${[...plans.keys()].join(', ')}`);
  return terms;
}
