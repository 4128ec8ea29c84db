import { waitForCredits } from '../../../projections/credits.ts';
import { changeTerms, type TermsAnswer, type TermsChange } from '../../commands/change-terms.ts';
import { ownCause } from '../../commands/handler/event-metadata.ts';
import { usageStream } from '../../domain/billing-period.ts';
import { maxPlanChanges } from '../../domain/change-plan.ts';
import type { TermsRefusal } from '../../domain/decide-usage.ts';
import { maxKeyLimits } from '../../domain/key-limits.ts';
import { isRefused, type Refused } from '../../domain/refusals.ts';
import type { UsagePeriod } from '../../domain/usage-state.ts';
import type { CliDependencies } from '../dependencies.ts';
import { CommandFailed, type RefusalTexts } from '../output.ts';
import { commandTimeoutMs, notInForce, untilShown } from '../wait-for-read-models.ts';
import { currentUsage, snapshotOf } from './find-account-usage.ts';

/** What commands that change an account's terms have in common. */

const whyNot: Record<TermsRefusal, string> = {
  too_many_plan_changes:
    `nothing was changed: plan and terms have changed ${String(maxPlanChanges)} times in this billing period, ` +
    'the most that an invoice can show; change them again once the next period has begun',
  plan_not_in_force: 'nothing was changed: the account is on another plan by now',
  change_not_of_owner: 'nothing was changed: staff have scheduled the change',
  account_suspended:
    'nothing was changed: the account is suspended, so that it is charged nothing; lift that first with "accounts lift-suspension"',
  account_closed: 'nothing was changed: the account is closed',
  too_many_key_limits: `nothing was changed: ${String(maxKeyLimits)} keys of the account have a limit, the most that there may be; remove others with none, such as those of revoked keys`,
};

/** @param actor default: the user of this machine @returns no events where it was so already; the period before and after */
export async function applyChange(cli: CliDependencies, accountId: string, change: TermsChange, actor = cli.actor) {
  const before = await currentUsage(cli, accountId);
  const answer = await changeTerms(cli.writers, {
    accountId,
    change,
    snapshot: await snapshotOf(cli, accountId),
    timeoutMs: commandTimeoutMs,
    cause: ownCause(cli.newUuid(), actor),
  });
  const { events, time, usage, revision } = accepted(answer);
  return { events, time, before, usage, revision };
}

/** Waits until requests are answered by a change, whose row is then there. @throws {CommandFailed} if that takes too long */
export async function untilInForce(
  cli: CliDependencies,
  { usage, revision }: { usage: UsagePeriod; revision: number },
  what: string,
): Promise<void> {
  const stream = usageStream(usage.accountId, usage.period);
  const isShown = (timeoutMs: number) => waitForCredits(cli.pool, { stream, revision, timeoutMs });
  if (!(await untilShown(cli, isShown))) throw notInForce(what);
}

/** @throws {CommandFailed} for an answer that is no change */
export function accepted(
  answer: TermsAnswer | Refused,
  texts: RefusalTexts = {},
): Extract<TermsAnswer, { outcome: 'accepted' }> {
  if (isRefused(answer)) {
    const { refusal } = answer;
    const all: RefusalTexts = { ...whyNot, ...texts };
    throw new CommandFailed(all[refusal] ?? refusal);
  }
  if (answer.outcome === 'not_stored') {
    throw new CommandFailed('nothing was changed: the log could not be written in time');
  }
  if (answer.outcome === 'unknown') {
    throw new CommandFailed('the log has not answered in time: the change may be in force; see "accounts show"', 2);
  }
  return answer;
}
