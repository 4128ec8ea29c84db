import type { Command } from 'commander';
import { type RecordedEvent, storedData } from '../ports/event-store.ts';
import { wholeArgument } from './arguments.ts';
import type { CliDependencies, RunCommand } from './dependencies.ts';
import { CommandFailed, print } from './output.ts';

export function addShowStream(log: Command, run: RunCommand): void {
  log
    .command('show')
    .description('show the stored events of a stream, including those that this version cannot read')
    .argument('<stream>', 'name of the stream, without EVENTSTORE_PREFIX')
    .option('--revision <number>', 'show only the event of this revision', wholeArgument(0, Number.MAX_SAFE_INTEGER))
    .action((stream: string, options: { revision?: number }) => run((cli) => showStreamCommand(cli, stream, options)));
}

/** The events of a stream as the log has them: not parsed, so that those which nobody can read are shown too. */
async function showStreamCommand(
  cli: CliDependencies,
  stream: string,
  { revision }: { revision?: number },
): Promise<void> {
  const events = revision === undefined ? await cli.store.read(stream, 0) : await cli.store.read(stream, revision, 1);
  const found = revision === undefined ? events : events.filter((event) => event.revision === revision);
  if (found.length === 0) {
    const what = revision === undefined ? `stream ${stream}` : `event ${String(revision)} in a stream ${stream}`;
    throw new CommandFailed(`the log has no ${what}`);
  }
  const printed = found.map(shownEvent);
  print(cli.output, { stream, events: printed }, printed.map(describe).join('\n\n'));
}

function shownEvent(event: RecordedEvent) {
  const { revision, id, type, created, position, metadata } = event;
  const place = { revision, position: position.toString(), created: created.toISOString() };
  return { ...place, id, type, data: shownContent(storedData(event)), metadata: shownContent(metadata) };
}

/** Data that is not JSON comes as bytes. */
const shownContent = (content: unknown): unknown =>
  content instanceof Uint8Array ? { base64: Buffer.from(content).toString('base64') } : (content ?? null);

function describe({ revision, type, id, position, created, data, metadata }: ReturnType<typeof shownEvent>): string {
  const head = `${String(revision)}  ${type}  ${id}  position ${position}  stored ${created}`;
  return [head, `data      ${JSON.stringify(data)}`, `metadata  ${JSON.stringify(metadata)}`].join('\n');
}
