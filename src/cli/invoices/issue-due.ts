import type { Command } from 'commander';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { listPeriodsInGrace } from '../../../projections/work-lists/due-periods.ts';
import type { InvoiceIssued } from '../../domain/invoice-events.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed, print, rowsText } from '../output.ts';
import { caughtUp } from '../wait-for-read-models.ts';

export function addIssueDueInvoices(invoices: Command, run: RunCommand): void {
  invoices
    .command('issue-due')
    .description('end, open, close and invoice all due periods now, as the dispatcher does by the clock')
    .action(() => run(issueDueCommand));
}

/** Does now what the dispatcher's clock would do, until there is nothing left to do. */
async function issueDueCommand(cli: CliDependencies): Promise<void> {
  const [rolledOver, closed, heldUp] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const failed = new Map<string, string>();
  const inGrace = new Map<string, string>();
  const issued: InvoiceIssued[] = [];
  const doneSoFar = () => rolledOver.size + closed.size + issued.length;
  let behind = false;
  for (let done = -1; done < doneSoFar() && !behind;) {
    done = doneSoFar();
    // The read model must have the results of one round before the next one starts.
    behind = !(await caughtUp(cli, usageAndJobs));
    const round = await cli.closePeriods();
    for (const stream of round.rolledOver) rolledOver.add(stream);
    for (const stream of round.closed) closed.add(stream);
    for (const stream of round.heldUp) heldUp.add(stream);
    for (const { stream, until } of round.inGrace) inGrace.set(stream, until);
    for (const { stream, error } of round.failed) failed.set(stream, String(error));
    issued.push(...round.issued);
    if (doneSoFar() > done && !cli.output.json) {
      cli.output.tell(`${String(closed.size)} periods closed, ${String(issued.length)} invoices issued so far\n`);
    }
  }
  const young = await listPeriodsInGrace(cli.pool, { now: cli.now(), graceSeconds: await cli.graceSeconds() });
  for (const { stream, until } of young) inGrace.set(stream, until);
  const data = {
    issued: issued.map(({ account_id, number, covers, period_start, period_end, total_cents }) => {
      return { account_id, number, covers, period_start, period_end, total_cents };
    }),
    rolled_over: [...rolledOver],
    closed: [...closed],
    held_up: [...heldUp],
    in_grace: Object.fromEntries(inGrace),
    behind,
    failed: Object.fromEntries(failed),
  };
  const text = rowsText(
    cli.output,
    {
      account: 'account_id',
      invoice: 'number',
      covers: 'covers',
      from: ({ period_start: start }) => start.slice(0, 10),
      total: 'total_cents',
    },
    data.issued,
  );
  const counts = `${String(rolledOver.size)} periods ended, ${String(closed.size)} closed, ${String(issued.length)} invoices issued`;
  print(cli.output, data, `${text}\n\n${counts}`);
  if (doneSoFar() + heldUp.size + inGrace.size + failed.size === 0 && !behind)
    cli.output.tell('reeltally: nothing is due: no period is past its end, and everything closed is invoiced\n');
  for (const [stream, until] of inGrace)
    cli.output.tell(`reeltally: ${stream} is not closed: it takes corrections until ${until}, or a little longer\n`);
  for (const stream of heldUp)
    cli.output.tell(`reeltally: ${stream} is not closed: a pending void holds it up; try again later\n`);
  for (const [stream, error] of failed) cli.output.tell(`reeltally: ${stream} could not be advanced: ${error}\n`);
  if (failed.size > 0) throw new CommandFailed('some due work was not done; the dispatcher will try it again');
  if (behind) throw new CommandFailed('more may be due: the projector is behind or away', 2);
}
