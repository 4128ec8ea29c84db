import { type Command, Option } from 'commander';
import { readInvoices } from '../../projections/invoices.ts';
import { jobTimeline, readTimeline, type TimelineRow } from '../../projections/job-timeline.ts';
import { type JobFilter, type JobRow, listJobs, readJob } from '../../projections/jobs.ts';
import { type ChargeChange, chargeChanges, describeEvent, reasonText } from '../documents/job-story.ts';
import { facts } from '../documents/text.ts';
import { periodOfUsageStream } from '../domain/billing-period.ts';
import { formatCents } from '../domain/cents.ts';
import { jobStatuses } from '../domain/download-job.ts';
import { accountIdArgument, addPageOptions, instantArgument } from './arguments.ts';
import type { CliDependencies, RunCommand } from './dependencies.ts';
import { type Columns, CommandFailed, print, rowsText } from './output.ts';
import { type PageOptions, printPage, takePage } from './pagination.ts';
import { caughtUp } from './wait-for-read-models.ts';

export function addListJobs(jobs: Command, run: RunCommand): void {
  addPageOptions(jobs.command('list').description('list downloads, newest first'), 'token')
    .option('--account <account>', 'only downloads of this account', accountIdArgument)
    .addOption(new Option('--status <status>', 'only downloads with this status').choices(jobStatuses))
    .option('--since <day>', 'only downloads queued since this day or instant, YYYY-MM-DD', instantArgument)
    .action((options: JobFilter & PageOptions) => run((cli) => listJobsCommand(cli, options), { wholeTables: true }));
}

export function addShowJob(jobs: Command, run: RunCommand): void {
  jobs
    .command('show')
    .description('show the state of a download in the read model, and the corrections of its charge')
    .argument('<token>', 'request token')
    .action((token: string) => run((cli) => showJobCommand(cli, token)));
}

export function addTimeline(jobs: Command, run: RunCommand): void {
  jobs
    .command('timeline')
    .description('replay every event of a download, from both its streams, in order and with an explanation')
    .argument('<token>', 'request token')
    .action((token: string) => run((cli) => timelineCommand(cli, token)));
}

async function showJobCommand(cli: CliDependencies, token: string): Promise<void> {
  const job = await readJob(cli.pool, token);
  if (!job) throw new CommandFailed(`the read model has no job ${token}; it may be behind: see "projections status"`);
  const rows = await readTimeline(cli.pool, token);
  const corrections = await readCorrections(cli, job.account_id, rows);
  const { failure_reason: reason } = job;
  const added = {
    failure_message: reason === null ? null : reasonText(reason),
    charge_cents: rows.find(({ cents }) => cents !== null)?.cents ?? null,
  };
  const present = Object.entries({ ...job, ...added }).filter(([, value]) => value !== null);
  const text = [facts(Object.fromEntries(present)), ...correctionsText(corrections)].join('\n');
  print(cli.output, { ...job, ...added, corrections }, text);
}

async function readCorrections(
  { pool }: CliDependencies,
  accountId: string,
  rows: readonly TimelineRow[],
): Promise<ChargeChange[]> {
  const { creditNotes } = await readInvoices(pool, accountId);
  return chargeChanges(rows, creditNotes);
}

const correctionsText = (corrections: readonly ChargeChange[]): string[] =>
  corrections.length === 0 ? [] : ['', 'given back:', ...corrections.map(({ time, text }) => `  ${time}  ${text}`)];

/** Every event of a download, of both its streams, in the order of the log. */
async function timelineCommand(cli: CliDependencies, token: string): Promise<void> {
  const behind = !(await caughtUp(cli, jobTimeline));
  const events = await readTimeline(cli.pool, token);
  if (events.length === 0) {
    if (!behind) throw new CommandFailed(`there is no job ${token}`);
    throw new CommandFailed(`there is no job ${token} in the timeline yet, ${behindText}`, 2);
  }
  const rows = events.map((row, index) => timelineRow(row, events[index - 1]));
  const charged = events.find(({ stream }) => stream.startsWith('usage-'));
  const corrections = charged ? await readCorrections(cli, periodOfUsageStream(charged.stream).accountId, events) : [];
  const text = [rowsText(cli.output, timelineColumns, rows), ...correctionsText(corrections)].join('\n');
  print(cli.output, { token, rows, corrections, behind }, text);
  if (behind) cli.output.tell(`reeltally: events may be missing at the end of the timeline, ${behindText}\n`);
}

const behindText = 'which is behind the log: the projector is behind or away';

function timelineRow({ cents, ...row }: TimelineRow, previous: TimelineRow | undefined) {
  const gapMs = previous ? Date.parse(row.time) - Date.parse(previous.time) : 0;
  const { time, type, stream, revision, event_id, actor, data } = row;
  const charge = cents === null ? {} : { cents };
  const text = describeEvent(row);
  return { time, gap_seconds: gapMs / 1000, type, stream, revision, event_id, actor, ...charge, text, data };
}

const timelineColumns: Columns<ReturnType<typeof timelineRow>> = {
  time: 'time',
  gap: ({ gap_seconds: seconds }) => `+${seconds.toFixed(3)} s`,
  type: 'type',
  stream: 'stream',
  revision: 'revision',
  actor: ({ actor }) => `${actor.type} ${actor.id}`,
  charge: ({ cents }) => (cents === undefined ? '' : formatCents(cents)),
  'in words': 'text',
  payload: 'data',
};

/** Downloads, the newest first, as the read model has them. */
async function listJobsCommand(cli: CliDependencies, options: JobFilter & PageOptions): Promise<void> {
  const { after } = options;
  if (after !== undefined && !(await readJob(cli.pool, after))) throw new CommandFailed(`there is no job ${after}`);
  const page = takePage(
    await listJobs(cli.pool, { ...options, limit: options.limit + 1 }),
    options.limit,
    ({ token }) => token,
  );
  printPage(cli.output, { jobs: page.rows }, { ...page, text: rowsText(cli.output, jobColumns, page.rows) });
}

const jobColumns: Columns<JobRow> = {
  token: 'token',
  queued_at: 'queued_at',
  status: 'status',
  platform: 'platform',
  account: 'account_id',
  failure_reason: 'failure_reason',
};
