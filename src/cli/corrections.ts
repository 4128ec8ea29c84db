import { type Command, Option } from 'commander';
import { type CorrectionRow, listCorrections } from '../../projections/corrections.ts';
import { type actorFacts, correctionFacts } from '../documents/correction-facts.ts';
import { formatCents } from '../domain/cents.ts';
import { type CorrectionStatus, correctionStatuses } from '../domain/correction-requests.ts';
import { accountIdArgument, addPageOptions } from './arguments.ts';
import type { CliDependencies, RunCommand } from './dependencies.ts';
import { type Columns, CommandFailed, rowsText } from './output.ts';
import { type PageOptions, printPage, takePage } from './pagination.ts';

interface ListOptions extends PageOptions {
  account?: string;
  status?: CorrectionStatus;
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
  const corrections = rows.map((row) => ({ ...correctionFacts(row), correction: row.correction }));
  printPage(cli.output, { corrections }, { next, text: rowsText(cli.output, columns, corrections) });
}

const columns: Columns<ReturnType<typeof correctionFacts<CorrectionRow>>> = {
  asked_at: 'asked_at',
  account: 'account_id',
  status: 'status',
  kind: 'kind',
  amount: ({ made_cents: madeCents, cents }) => formatCents(madeCents ?? cents),
  reference: 'reference',
  asked_by: (correction) => nameOf(correction.asked_by),
  decided_by: (correction) => (correction.decided_by ? nameOf(correction.decided_by) : ''),
  why: 'why',
};

const nameOf = ({ type, id, role }: ReturnType<typeof actorFacts>): string =>
  type === 'staff' ? `${id} (${role})` : id;
