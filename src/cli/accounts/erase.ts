import type { Command } from 'commander';
import { waitForErasure } from '../../../projections/api-keys.ts';
import { eraseAccount } from '../../commands/erase-account.ts';
import { accountIdArgument, addReasonOptions, operatorOf } from '../arguments.ts';
import { type CliDependencies, requestOf, type RunCommand } from '../dependencies.ts';
import { print, unlessRefused } from '../output.ts';
import { notInForce, untilShown } from '../wait-for-read-models.ts';
import { requireAccount } from './find-account-usage.ts';

export function addEraseAccount(accounts: Command, run: RunCommand): void {
  const command = accounts
    .command('erase')
    .description(
      'make the personal data of a closed account unreadable for ever, in log, read models, exports and later backups',
    )
    .argument('<account>', 'account id', accountIdArgument);
  addReasonOptions(command).action((account: string, decided: { by?: string; reason: string }) =>
    run((cli) => eraseCommand(cli, account, decided)),
  );
}

async function eraseCommand(
  cli: CliDependencies,
  accountId: string,
  decided: { by?: string; reason: string },
): Promise<void> {
  await requireAccount(cli, accountId);
  const answer = await eraseAccount(cli, { accountId, ...requestOf(cli), actor: operatorOf(cli.actor, decided) });
  const { erasedAt, documentsUntil, changed, eventsInClear } = unlessRefused(answer, refusalTexts(accountId));
  if (!(await untilShown(cli, (timeoutMs) => waitForErasure(cli.pool, accountId, timeoutMs))))
    throw notInForce(`the erasure of ${accountId}`);
  const kept =
    documentsUntil === null
      ? 'nothing of it is kept'
      : `its invoices and credit notes show the billing details until ${documentsUntil.slice(0, 10)}`;
  const inClear =
    eventsInClear === 0
      ? ''
      : `. ${String(eventsInClear)} of its events are of an older version, and have personal data in the clear: the log cannot erase it`;
  print(
    cli.output,
    {
      account_id: accountId,
      erased: true,
      changed,
      erased_at: erasedAt,
      documents_until: documentsUntil,
      events_in_clear: eventsInClear,
    },
    `The personal data of ${accountId} ${changed ? 'is' : 'was'} erased${changed ? '' : ' already'}; ${kept}${inClear}. Processes that have read it forget it within a minute`,
  );
}

const refusalTexts = (accountId: string) => ({
  account_not_found: `there is no account ${accountId}`,
  account_not_closed: `nothing was erased: ${accountId} is not closed. Close it first with "accounts close"`,
  periods_not_invoiced: `nothing was erased: a period of ${accountId} is not invoiced yet. Its last one is closed once the grace is over; see "invoices issue-due"`,
});
