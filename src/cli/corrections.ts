import { type Command, Option } from 'commander';
import { type CorrectionRow, listCorrections } from '../../projections/corrections.ts';
import { table } from '../documents/text.ts';
import { formatCents } from '../domain/cents.ts';
import { type CorrectionStatus, correctionStatuses } from '../domain/correction-requests.ts';
import { accountIdArgument, addPageOptions } from './arguments.ts';
import type { CliDependencies, RunCommand } from './dependencies.ts';
import { CommandFailed } from './output.ts';
import { type PageOptions, printPage, takePage } from './pagination.ts';

interface ListOptions extends Omit<PageOptions, 'after'> {
  account?: string;
  status?: CorrectionStatus;
  after?: string;
}

export function addListCorrections(corrections: Command, run: RunCommand): void {
  addPageOptions(
    corrections.command('list').description('list what staff asked to give back in the console, the newest first'),
    'position',
  )
    .option('--account <account>', 'only of this account', accountIdArgument)
    .addOption(new Option('--status <status>', 'only those in this status').choices(correctionStatuses))
    .action((options: ListOptions) => run((cli) => listCommand(cli, options)));
}

async function listCommand(
  cli: CliDependencies,
  { account: accountId, status, limit, after }: ListOptions,
): Promise<void> {
  if (after !== undefined && !/^\d{1,19}$/.test(after))
    throw new CommandFailed('--after takes what the page before printed');
  const filter = { accountId, status };
  const found = await listCorrections(cli.pool, { filter, before: after, limit: limit + 1 });
  const { rows, next } = takePage(found, limit, ({ position }) => position);
  const corrections = rows.map(rowOf);
  const cells = corrections.map((each) => [
    ...[each.asked_at, each.account_id, each.status, each.kind, formatCents(each.made_cents ?? each.cents)],
    ...[each.reference, nameOf(each.asked_by), each.decided_by ? nameOf(each.decided_by) : '', each.why ?? ''],
  ]);
  const names = ['asked_at', 'account', 'status', 'kind', 'amount', 'reference', 'asked_by', 'decided_by', 'why'];
  printPage(cli.output, { corrections }, { next, text: table(cli.output, names, cells) });
}

const rowOf = ({ position: _position, revision: _revision, ...row }: CorrectionRow) => row;

const nameOf = (actor: CorrectionRow['asked_by']): string =>
  actor.type === 'staff' ? `${actor.id} (${actor.role})` : actor.id;
