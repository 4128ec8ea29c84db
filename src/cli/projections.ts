import { projections, rebuildableProjections } from '../../projections/all.ts';
import { measureProgress } from '../../projections/progress.ts';
import { RebuildRefused, rebuild } from '../../projections/rebuild.ts';
import type { RebuildProgress } from '../../projections/rebuild.ts';
import type { CliDependencies } from './accounts.ts';
import { CommandFailed, print, table } from './output.ts';
import type { Output } from './output.ts';

const measuredMs = 1_000;

/** How far each read model is behind the log, and how fast it follows. */
export async function statusCommand(cli: CliDependencies): Promise<void> {
  const { head, projections: measured } = await measureProgress(cli, projections, measuredMs);
  const away = !(await cli.hasProjector());
  const rows = measured.map(({ name, position, lag, eventsPerSecond }) => ({
    name,
    position: position?.toString() ?? null,
    lag: Number(lag),
    events_per_second: Math.round(eventsPerSecond),
  }));
  const data = { projector: away ? 'away' : 'running', head: head?.toString() ?? null, projections: rows };
  const lines = rows.map((row) => [
    row.name,
    row.position ?? '-',
    String(row.lag),
    String(row.events_per_second),
    row.lag === 0 ? 'up to date' : away ? 'stands still' : 'behind',
  ]);
  const text = [
    `projector  ${away ? 'away: no process has the role, nothing is projected' : 'running'}`,
    `log head   ${data.head ?? '-'}`,
    '',
    table(['projection', 'position', 'lag', 'events/s', 'state'], lines),
  ].join('\n');
  print(cli.output, data, text);
}

export const rebuildableNames = rebuildableProjections.map(({ name }) => name);

/** @param name one of `rebuildableNames` */
export async function rebuildCommand(cli: CliDependencies, name: string): Promise<void> {
  const projection = rebuildableProjections.find((each) => each.name === name);
  if (!projection) throw new CommandFailed(`${name} is none of ${rebuildableNames.join(', ')}`);
  const startedMs = performance.now();
  const bar = createProgressBar(cli.output);
  const rebuilt = await rebuild(projection, { ...cli, progress: bar.show }).catch((error: unknown) => {
    throw error instanceof RebuildRefused ? new CommandFailed(error.message) : error;
  });
  bar.end();
  const seconds = Number(((performance.now() - startedMs) / 1000).toFixed(3));
  const { events, position, tables } = rebuilt;
  const differs = tables.some(({ missing, surplus }) => missing + surplus > 0);
  const data = { name, position: position.toString(), events, seconds, identical: !differs, tables };
  const lines = tables.map((each) => [each.name, String(each.rows), String(each.missing), String(each.surplus)]);
  const text = [
    `${name} is rebuilt from ${String(events)} events in ${String(seconds)} s, up to position ${data.position}.`,
    differs
      ? 'The tables before it differed from the log; what was missing has been added, what was surplus is gone:'
      : 'The tables before it were identical:',
    '',
    table(['table', 'rows', 'missing', 'surplus'], lines),
  ].join('\n');
  print(cli.output, data, text);
}

const barWidth = 30;

/** On a terminal a bar that moves; elsewhere a line for every tenth of the way. */
function createProgressBar({ tell, terminal }: Output): { show: (progress: RebuildProgress) => void; end: () => void } {
  const startedMs = performance.now();
  let tenths = 0;
  let shown = false;
  return {
    show: ({ events, position, target }) => {
      const share = target === 0n ? 1 : Number(position) / Number(target);
      const rate = Math.round((events * 1000) / Math.max(performance.now() - startedMs, 1));
      const facts = `${String(Math.floor(share * 100)).padStart(3)} %  ${String(events)} events  ${String(rate)}/s`;
      if (terminal) {
        tell(`\r[${'#'.repeat(Math.floor(share * barWidth)).padEnd(barWidth, '.')}] ${facts}`);
        shown = true;
      } else if (Math.floor(share * 10) > tenths) {
        tenths = Math.floor(share * 10);
        tell(`${facts}\n`);
      }
    },
    end: () => {
      if (shown) tell('\n');
    },
  };
}
