import { readJob } from '../../projections/jobs.ts';
import { readJobOrigin } from '../commands/record-job-progress.ts';
import type { JobMessage } from '../commands/ports.ts';
import { jobStream } from '../domain/download-job-events.ts';
import { formatCents } from '../domain/money.ts';
import { parseJobEvent, parseUsageEvent } from '../domain/recorded-event.ts';
import type { Actor, DomainEvent, ParsedEvent } from '../domain/recorded-event.ts';
import type { CliDependencies } from './accounts.ts';
import { CommandFailed, facts, print, table } from './output.ts';

export async function showJobCommand(cli: CliDependencies, token: string): Promise<void> {
  const job = await readJob(cli.pool, token);
  if (!job) throw new CommandFailed(`the read model has no job ${token}; "jobs timeline" looks into the log`);
  const known = Object.entries(job).filter(([, value]) => value !== null);
  print(cli.output, job, facts(Object.fromEntries(known)));
}

/** Every event of a download, of both its streams, in the order of the log. */
export async function timelineCommand(cli: CliDependencies, token: string): Promise<void> {
  const events = await readTimeline(cli, token);
  if (events.length === 0) throw new CommandFailed(`there is no job ${token}`);
  const rows = events.map((parsed, index) => timelineRow(parsed, events[index - 1]));
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
  print(cli.output, { token, rows }, table(head, lines));
}

async function readTimeline(cli: CliDependencies, token: string): Promise<ParsedEvent[]> {
  const job = (await cli.store.read(jobStream(token), 0)).map(parseJobEvent);
  const origin = await findOrigin(cli, token);
  // The charge stands right before the DownloadQueued that it pays for.
  const usage = origin
    ? (await cli.store.read(origin.usageStream, origin.usageRevision - 1, 2)).map(parseUsageEvent)
    : [];
  const own = usage.filter(({ event }) => 'token' in event.data && event.data.token === token);
  return [...own, ...job].sort((one, other) => (one.position < other.position ? -1 : 1));
}

async function findOrigin({ pool, store }: CliDependencies, token: string): Promise<JobMessage | undefined> {
  const row = await readJob(pool, token);
  if (!row) return await readJobOrigin(store, token);
  return { token, usageStream: row.usage_stream, usageRevision: row.usage_revision };
}

function timelineRow({ event, metadata, stream, revision, id }: ParsedEvent, previous: ParsedEvent | undefined) {
  const gapMs = previous ? Date.parse(metadata.time) - Date.parse(previous.metadata.time) : 0;
  const cents = centsOf(event);
  return {
    time: metadata.time,
    gap_seconds: gapMs / 1000,
    type: event.type,
    stream,
    revision,
    event_id: id,
    actor: metadata.actor,
    ...(cents !== undefined && { cents }),
    data: event.data,
  };
}

/** A download within the allowance is a charge too: of nothing. */
function centsOf(event: DomainEvent): number | undefined {
  if (event.type === 'DownloadCreditDebited') return 0;
  return event.type === 'OverageCharged' ? event.data.cents : undefined;
}

const actorText = (actor: Actor) => `${actor.type} ${actor.id}`;
