import { jobTimeline, readTimeline } from '../../projections/job-timeline.ts';
import type { TimelineRow } from '../../projections/job-timeline.ts';
import { readJob } from '../../projections/jobs.ts';
import { formatCents } from '../domain/money.ts';
import type { Actor } from '../domain/recorded-event.ts';
import type { CliDependencies } from './accounts.ts';
import { CommandFailed, facts, print, table } from './output.ts';
import { caughtUp } from './waiting.ts';

export async function showJobCommand(cli: CliDependencies, token: string): Promise<void> {
  const job = await readJob(cli.pool, token);
  if (!job) throw new CommandFailed(`the read model has no job ${token}; it may be behind: see "projections status"`);
  const known = Object.entries(job).filter(([, value]) => value !== null);
  print(cli.output, job, facts(Object.fromEntries(known)));
}

/** Every event of a download, of both its streams, in the order of the log. */
export async function timelineCommand(cli: CliDependencies, token: string): Promise<void> {
  const behind = !(await caughtUp(cli, jobTimeline));
  const events = await readTimeline(cli.pool, token);
  if (events.length === 0) {
    if (!behind) throw new CommandFailed(`there is no job ${token}`);
    throw new CommandFailed(`there is no job ${token} in the timeline yet, ${behindText}`, 2);
  }
  const rows = events.map((row, index) => timelineRow(row, events[index - 1]));
  const lines = rows.map((row) => [
    row.time,
    `+${row.gap_seconds.toFixed(3)} s`,
    row.type,
    row.stream,
    String(row.revision),
    actorText(row.actor),
    row.cents === undefined ? '' : formatCents(row.cents),
    JSON.stringify(row.data),
  ]);
  const head = ['time', 'gap', 'type', 'stream', 'revision', 'actor', 'charge', 'payload'];
  print(cli.output, { token, rows, behind }, table(head, lines));
  if (behind) cli.output.tell(`reeltally: events may be missing at the end of the timeline, ${behindText}\n`);
}

const behindText = 'which is behind the log: the projector is behind or away';

function timelineRow({ cents, ...row }: TimelineRow, previous: TimelineRow | undefined) {
  const gapMs = previous ? Date.parse(row.time) - Date.parse(previous.time) : 0;
  const { time, type, stream, revision, event_id, actor, data } = row;
  const charge = cents === null ? {} : { cents };
  return { time, gap_seconds: gapMs / 1000, type, stream, revision, event_id, actor, ...charge, data };
}

const actorText = (actor: Actor) => `${actor.type} ${actor.id}`;
