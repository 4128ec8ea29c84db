import type { Command } from 'commander';
import { waitForClosing } from '../../../projections/api-keys.ts';
import { closeAccount } from '../../commands/close-account.ts';
import { formatCents } from '../../domain/cents.ts';
import { accountIdArgument, addReasonOptions, operatorOf } from '../arguments.ts';
import { type CliDependencies, requestOf, type RunCommand } from '../dependencies.ts';
import { print } from '../output.ts';
import { notInForce, untilShown } from '../wait-for-read-models.ts';
import { accepted, applyChange, untilInForce } from './apply-change.ts';
import { requireAccount, snapshotOf } from './find-account-usage.ts';

/** An account is suspended, and that is lifted; or it is closed for good. */

interface Decided {
  by?: string;
  reason: string;
}

export function addSuspendAccount(accounts: Command, run: RunCommand): void {
  const command = accounts
    .command('suspend')
    .description('refuse the keys of an account and charge it nothing, until that is lifted')
    .argument('<account>', 'account id', accountIdArgument);
  addReasonOptions(command).action((account: string, decided: Decided) =>
    run((cli) => suspendCommand(cli, account, decided)),
  );
}

export function addLiftSuspension(accounts: Command, run: RunCommand): void {
  const command = accounts
    .command('lift-suspension')
    .description('admit the keys of a suspended account again')
    .argument('<account>', 'account id', accountIdArgument);
  addReasonOptions(command).action((account: string, decided: Decided) =>
    run((cli) => liftCommand(cli, account, decided)),
  );
}

export function addCloseAccount(accounts: Command, run: RunCommand): void {
  const command = accounts
    .command('close')
    .description('end the last period of an account, revoke its keys and sign its people out, for good')
    .argument('<account>', 'account id', accountIdArgument);
  addReasonOptions(command).action((account: string, decided: Decided) =>
    run((cli) => closeCommand(cli, account, decided)),
  );
}

async function suspendCommand(cli: CliDependencies, accountId: string, decided: Decided): Promise<void> {
  await requireAccount(cli, accountId);
  const suspend = { kind: 'suspend_account' } as const;
  const answer = await applyChange(cli, accountId, suspend, operatorOf(cli.actor, decided));
  await untilInForce(cli, answer, `the suspension of ${accountId}`);
  const { events, time } = answer;
  const changed = events.length > 0;
  print(
    cli.output,
    { account_id: accountId, suspended: true, changed, since: changed ? time : null },
    changed
      ? `${accountId} is suspended: its keys are refused, and nothing is charged`
      : `${accountId} was suspended already`,
  );
}

async function liftCommand(cli: CliDependencies, accountId: string, decided: Decided): Promise<void> {
  await requireAccount(cli, accountId);
  const lift = { kind: 'lift_suspension' } as const;
  const answer = await applyChange(cli, accountId, lift, operatorOf(cli.actor, decided));
  await untilInForce(cli, answer, `the end of the suspension of ${accountId}`);
  const { events } = answer;
  const cents = events.reduce(
    (sum, { type, data }) => sum + (type === 'SuspensionLifted' ? data.fee_difference_cents : 0),
    0,
  );
  const fee = cents > 0 ? `; the fee of this period, ${formatCents(cents)}, is due` : '';
  print(
    cli.output,
    { account_id: accountId, suspended: false, changed: events.length > 0, fee_difference_cents: cents },
    events.length > 0 ? `${accountId} is no longer suspended${fee}` : `${accountId} is not suspended`,
  );
}

async function closeCommand(cli: CliDependencies, accountId: string, decided: Decided): Promise<void> {
  await requireAccount(cli, accountId);
  const answer = await closeAccount(cli, {
    accountId,
    ...requestOf(cli),
    actor: operatorOf(cli.actor, decided),
    snapshot: await snapshotOf(cli, accountId),
  });
  const { events, usage } = accepted(answer);
  if (!(await untilShown(cli, (timeoutMs) => waitForClosing(cli.pool, accountId, timeoutMs))))
    throw notInForce(`the closing of ${accountId}`);
  print(
    cli.output,
    { account_id: accountId, closed: true, changed: events.length > 0, period_start: usage.period.start },
    events.length > 0
      ? `${accountId} is closed: its keys are revoked, and its last period, from ${usage.period.start.slice(0, 10)} on, is invoiced once the grace is over. What was not done yet stays charged unless it is given back (ledger show, ledger waive)`
      : `${accountId} was closed already`,
  );
}
