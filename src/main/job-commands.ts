import { Option } from 'commander';
import type { Command } from 'commander';
import type { JobFilter } from '../../projections/jobs.ts';
import { listJobsCommand, showJobCommand, timelineCommand } from '../cli/jobs.ts';
import type { PageOptions } from '../cli/page.ts';
import { jobStatuses } from '../domain/download-job.ts';
import { accountIdArgument, addPageOptions, instantArgument, wholeTableMs } from './arguments.ts';
import type { RunCommand } from './run-command.ts';

/** `reeltally jobs …`. */
export function addJobCommands(program: Command, run: RunCommand): void {
  const jobs = program.command('jobs').description('look at downloads');
  addPageOptions(jobs.command('list').description('downloads, the newest first'), 'token')
    .option('--account <account>', 'only of this account', accountIdArgument)
    .addOption(new Option('--status <status>', 'only those that stand so').choices(jobStatuses))
    .option('--since <day>', 'only those queued since, YYYY-MM-DD or an instant', instantArgument)
    .action((options: JobFilter & PageOptions) =>
      run((cli) => listJobsCommand(cli, options), { queryTimeoutMs: wholeTableMs }),
    );
  jobs
    .command('show')
    .description('the state of a download, as the read model has it, and what was given back of its charge')
    .argument('<token>', 'request token')
    .action((token: string) => run((cli) => showJobCommand(cli, token)));
  jobs
    .command('timeline')
    .description('every event of a download, of both its streams, in order, and in words')
    .argument('<token>', 'request token')
    .action((token: string) => run((cli) => timelineCommand(cli, token)));
}
