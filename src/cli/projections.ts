import { Argument, type Command } from 'commander';
import { projections } from '../../projections/all.ts';
import {
  checkpointAt,
  dispatchCheckpoint,
  readCheckpoint,
  writeCheckpoint,
} from '../../projections/runner/checkpoints.ts';
import { RebuildRefused, rebuildTogether, type Rebuilt } from '../../projections/runner/rebuild.ts';
import { admitReader, readRefusedAt } from '../../projections/runner/refused-readers.ts';
import { refusalOf } from '../../projections/runner/resume.ts';
import { measureProgress } from '../../projections/runner/wait-for-checkpoint.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import type { CliDependencies, RunCommand } from './dependencies.ts';
import { type Columns, CommandFailed, type Output, print, rowsText } from './output.ts';
import { createProgressBar } from './progress-bar.ts';

export function addProjectionStatus(group: Command, run: RunCommand): void {
  group
    .command('status')
    .description('show how far each read model is, and how fast it follows the log')
    .action(() => run(statusCommand));
}

export function addRebuild(group: Command, run: RunCommand): void {
  group
    .command('rebuild')
    .description('rebuild a read model from the log, compare, and swap, while the service runs')
    .addArgument(new Argument('<name>', 'name of the read model').choices(rebuildableNames))
    .option('--from-older-log', 'accept a log that was replaced, and drop rows of events that it does not have')
    .action((name: string, options: { fromOlderLog?: boolean }) =>
      run((cli) => rebuildCommand(cli, name, options), { wholeTables: true }),
    );
}

const measuredMs = 1_000;

/** How far each read model is behind the log, and how fast it follows. */
async function statusCommand(cli: CliDependencies): Promise<void> {
  const { head, projections: measured, dispatchRefusal } = await measureProgress(cli, projections, measuredMs);
  const away = !(await cli.hasProjector());
  const rows = measured.map(({ name, position, lag, eventsPerSecond, refusal }) => ({
    name,
    position: position?.toString() ?? null,
    lag: refusal === undefined ? Number(lag) : null,
    events_per_second: Math.round(eventsPerSecond),
    state: refusal !== undefined ? 'refused' : lag === 0n ? 'up to date' : away ? 'stands still' : 'behind',
  }));
  const data = {
    projector: away ? 'away' : 'running',
    head: head?.toString() ?? null,
    projections: rows,
    dispatcher: dispatchRefusal === undefined ? 'not refused' : 'refused',
  };
  const columns: Columns<(typeof rows)[number]> = {
    projection: 'name',
    position: ({ position }) => position ?? '-',
    lag: ({ lag }) => String(lag ?? '-'),
    'events/s': 'events_per_second',
    state: 'state',
  };
  const text = [
    `projector  ${away ? 'away: no process has the role, nothing is projected' : 'running'}`,
    `log head   ${data.head ?? '-'}`,
    '',
    rowsText(cli.output, columns, rows),
  ].join('\n');
  print(cli.output, data, text);
  const [refusal] = [...measured.map((each) => each.refusal), dispatchRefusal].filter((each) => each !== undefined);
  if (refusal !== undefined) throw new CommandFailed(refusal);
}

const everyName = 'all';
const rebuildableNames = [...projections.map(({ name }) => name), everyName];

/** @param name one of `rebuildableNames` */
async function rebuildCommand(
  cli: CliDependencies,
  name: string,
  { fromOlderLog = false }: { fromOlderLog?: boolean } = {},
): Promise<void> {
  const wanted = projections.filter((projection) => [projection.name, everyName].includes(name));
  const described: object[] = [];
  const startedMs = performance.now();
  const bar = createProgressBar(cli.output, name);
  try {
    for await (const rebuilt of rebuildTogether(wanted, { ...cli, fromOlderLog, progress: bar.show })) {
      bar.end();
      if (fromOlderLog && rebuilt.name === usageAndJobs.name) await putDispatcherBack(cli, rebuilt.position);
      const seconds = Number(((performance.now() - startedMs) / 1000).toFixed(3));
      const { data, text } = describeRebuilt(cli.output, { ...rebuilt, seconds });
      described.push(data);
      // A person sees each as soon as it is done; a program gets one document.
      if (!cli.output.json) print(cli.output, data, wanted.length > 1 ? `${text}\n` : text);
    }
  } catch (error) {
    throw error instanceof RebuildRefused ? new CommandFailed(error.message) : error;
  } finally {
    bar.end();
  }
  const [only] = described;
  if (cli.output.json && only) print(cli.output, name === everyName ? { projections: described } : only, '');
}

/**
 * The dispatcher refuses a replaced log too. It goes on from where the log ended when it was refused. What it may miss before
 * that, the sweeper finds among the jobs.
 */
async function putDispatcherBack({ store, pool }: CliDependencies, end: bigint): Promise<void> {
  const refusal = await refusalOf(store, dispatchCheckpoint, await readCheckpoint(pool, dispatchCheckpoint));
  if (!refusal) return;
  const position = (await readRefusedAt(pool, dispatchCheckpoint)) ?? end;
  await writeCheckpoint(pool, dispatchCheckpoint, checkpointAt(position));
  await admitReader(pool, dispatchCheckpoint);
}

function describeRebuilt(
  output: Output,
  { name, events, position, before, isLogReplaced, tables, seconds }: Rebuilt & { seconds: number },
): { data: object; text: string } {
  const differs = tables.some(({ missing, surplus }) => missing + surplus > 0);
  const data = {
    name,
    position: position.toString(),
    before: before.toString(),
    events,
    seconds,
    identical: !differs,
    tables,
  };
  const givenUp = isLogReplaced
    ? [`It was at position ${data.before} of another log: rows of events that this log does not have are dropped.`]
    : [];
  const decidedFrom = tables.some((each) => each.name === 'credits' && each.missing + each.surplus > 0);
  const text = [
    `${name} is rebuilt from ${String(events)} events in ${String(seconds)} s, up to position ${data.position}.`,
    ...givenUp,
    differs
      ? 'The old tables differed from the log; missing rows have been added, surplus rows are gone:'
      : 'The old tables were identical:',
    '',
    rowsText(output, { table: 'name', rows: 'rows', missing: 'missing', surplus: 'surplus' }, tables),
    ...(decidedFrom ? ['', 'Restart the API processes: their usage caches may come from wrong rows of credits.'] : []),
  ].join('\n');
  return { data, text };
}
