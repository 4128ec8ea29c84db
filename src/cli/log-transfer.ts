import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { type ConnectImport, importLog, ImportRefused, verifyImport } from '../transfer/import-log.ts';
import { checkLogFile, LogFileRefused, writeLogFile } from '../transfer/log-file.ts';
import { readWholeLog } from '../transfer/whole-log.ts';
import type { CliDependencies, RunCommand } from './dependencies.ts';
import { sayingDisk } from './disk-failure.ts';
import { CommandFailed, type Output, print } from './output.ts';
import { writeOutputFile } from './output-file.ts';
import { createCountBar, createProgressBar } from './progress-bar.ts';

/** Finds or starts the event store that a log is imported into, for as long as it is in use. One connection at a time. */
export type WithImportTarget = (use: (connect: ConnectImport) => Promise<void>) => Promise<void>;

export function addExportLog(log: Command, run: RunCommand, version: string): void {
  log
    .command('export')
    .description('write every event to a new file, in the order of the log; compressed if its name ends in .gz')
    .argument('<file>', 'file to write, which only you may read; personal data in it is encrypted')
    .option('--keys <file>', 'write the keys of the personal data to this new file, as statements for psql')
    .action((file: string, { keys }: { keys?: string }) =>
      run((cli) => saying(file, () => exportCommand(cli, file, { version, keysFile: keys }))),
    );
}

export function addImportLog(log: Command, output: Output, withTarget: WithImportTarget): void {
  log
    .command('import')
    .description(
      'append every event of an exported log to the empty event store at EVENTSTORE_URL or, without that, of the data ' +
        'folder; the same command continues an import that was interrupted',
    )
    .argument('<file>', 'file that log export has written')
    .action((file: string) => saying(file, () => importCommand(output, file, withTarget)));
}

async function exportCommand(
  cli: CliDependencies,
  file: string,
  { version, keysFile }: { version: string; keysFile: string | undefined },
): Promise<void> {
  if (keysFile !== undefined && existsSync(keysFile)) throw new LogFileRefused(`${keysFile} exists: name another file`);
  const { store, pool, output, now } = cli;
  const { rows: begun } = await pool.query<{ now: string }>('select clock_timestamp()::text as now');
  const target = (await store.headPosition()) ?? 0n;
  const bar = createProgressBar(output, 'export');
  const pages = async function* () {
    let events = 0;
    for await (const page of readWholeLog(store, target)) {
      yield page;
      events += page.length;
      bar.show({ events, position: page.at(-1)?.position ?? target, target });
    }
  };
  const about = { source: `reeltally ${version} on ${hostname()}`, exported: now() };
  const head = await writeLogFile(file, about, pages()).finally(bar.end);
  // After the log, which then has no event whose key is not among them.
  if (keysFile !== undefined) {
    const sql = await cli.personalKeysAsSql();
    await writeOutputFile(keysFile, (output) => output.handle.writeFile(sql));
  }
  const pendingVoids = await countPendingVoids(pool, begun[0]?.now);
  const data = { file, keys_file: keysFile ?? null, events: head.events, head: head.hash, pending_voids: pendingVoids };
  const waiting = `\n${String(pendingVoids)} pending voids are not in the file: before a move, let the dispatcher resolve them, and export again.`;
  const text = `${String(head.events)} events are in ${file}. Chain head ${head.hash}.`;
  print(output, data, pendingVoids > 0 ? text + waiting : text);
}

/** With those that were resolved meanwhile: their voids may be behind the end of the file. */
async function countPendingVoids(pool: CliDependencies['pool'], since: string | undefined): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::float8 as count from (
       select append_id from pending_voids union select append_id from resolved_voids where resolved_at >= $1
     ) either`,
    [since],
  );
  return rows[0]?.count ?? 0;
}

async function importCommand(output: Output, file: string, withTarget: WithImportTarget): Promise<void> {
  const checking = createProgressBar(output, 'check');
  const shareUnit = 1_000_000;
  const expected = await checkLogFile(file, (events, share) => {
    checking.show({ events, position: BigInt(Math.round(share * shareUnit)), target: BigInt(shareUnit) });
  }).finally(checking.end);
  await withTarget(async (connect) => {
    const importing = createCountBar(output, 'import', expected.events);
    const goesOn = (events: number) => {
      importing.end();
      if (!output.json) output.tell(`import  an append was not answered: goes on behind ${String(events)} events\n`);
    };
    const before = await importLog(connect, file, { progress: importing.show, goesOn }).finally(importing.end);
    const verifying = createCountBar(output, 'verify', expected.events);
    const store = connect(() => undefined);
    await verifyImport(store, expected, { progress: verifying.show })
      .finally(verifying.end)
      .finally(() => store.close());
    const continued = before > 0 ? ` ${String(before)} of them were there before.` : '';
    const text = `The event store has all ${String(expected.events)} events of ${file}, in order.${continued} Chain head ${expected.head}.`;
    print(output, { file, ...expected, were_there: before }, text);
  });
}

/** A failure that the person can mend is told in one sentence. */
const saying = (file: string, work: () => Promise<void>): Promise<void> =>
  sayingDisk(file, () =>
    work().catch((error: unknown) => {
      const isRefused = error instanceof LogFileRefused || error instanceof ImportRefused;
      throw isRefused ? new CommandFailed(error.message) : error;
    }),
  );
