import { readNewestCredits } from '../../../projections/credits.ts';
import { notBelieved } from '../../../projections/credits-macs.ts';
import { openFirstPeriod, readAccount } from '../../commands/accounts.ts';
import { ownCause } from '../../commands/handler/event-metadata.ts';
import { usageOrigin } from '../../commands/usage/usage-cache.ts';
import { usageStream } from '../../domain/billing-period.ts';
import type { UsagePeriod, UsageSnapshot } from '../../domain/usage-state.ts';
import { type CliDependencies, requestOf } from '../dependencies.ts';
import { CommandFailed } from '../output.ts';
import { commandTimeoutMs } from '../wait-for-read-models.ts';

/** @throws {CommandFailed} if the account was never opened */
export async function requireAccount({ store }: Pick<CliDependencies, 'store'>, accountId: string) {
  const account = await readAccount(store, accountId);
  const { opened } = account;
  if (!opened) throw new CommandFailed(`there is no account ${accountId}`);
  return { ...account, opened };
}

/** The newest billing period, as the log has it now. */
export async function currentUsage(cli: CliDependencies, accountId: string): Promise<UsagePeriod> {
  const answer = await cli.writers.ask(accountId, {
    command: { kind: 'query' },
    snapshot: await snapshotOf(cli, accountId),
    cause: ownCause(cli.newUuid(), cli.actor),
    deadlineMs: performance.now() + commandTimeoutMs,
  });
  if (answer.outcome !== 'accepted') throw new CommandFailed('the log could not be read in time');
  return answer.usage;
}

/** The usage to start from: the read model's row, or the account's first stream while there is no row with a valid MAC. */
export async function snapshotOf(cli: CliDependencies, accountId: string): Promise<UsageSnapshot> {
  const row = await readNewestCredits(cli.pool, accountId, cli.macs);
  if (row && row !== notBelieved) return row;
  const refused = await openFirstPeriod(cli, accountId, requestOf(cli));
  if (refused) throw new CommandFailed(`there is no account ${accountId}`);
  const { opened } = await requireAccount(cli, accountId);
  return usageOrigin(usageStream(accountId, { start: opened.period_start }));
}
