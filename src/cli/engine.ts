import type { Command } from 'commander';
import { table } from '../documents/text.ts';
import { CommandFailed, type Output, print } from './output.ts';

export interface DownloaderReport {
  programs: readonly {
    program: string;
    path: string;
    version: string | null;
    sha256: string | null;
    expected_sha256: string | null;
  }[];
  ageDays: number | null;
  oldAfterDays: number;
  /** The kind of sandbox that keeps the worker's files from children. */
  sandbox: string;
  guards: readonly { guard: string; state: 'on' | 'missing' | 'failed'; detail: string }[];
}

/** It asks no server of the service: it looks at this machine alone. */
export function addShowEngine(group: Command, output: Output, inspect: () => Promise<DownloaderReport>): void {
  group
    .command('show')
    .description(
      'show versions, age and checksums of yt-dlp, ffmpeg and ffprobe, and the guards of their sandbox on this machine',
    )
    .action(async () => {
      showEngineCommand(output, await inspect());
    });
}

export interface EngineInstallation {
  path: string;
  sha256: string;
  /** The failure of one that was passed is undefined. */
  tests: readonly { test: string; failure: string | undefined }[];
}

/** Neither asks a server of the service. */
export function addInstallEngine(
  group: Command,
  output: Output,
  engine: { install: (file: string) => Promise<EngineInstallation>; restore: () => Promise<boolean> },
): void {
  group
    .command('install')
    .description('put a newer yt-dlp in place of the tested one, if it passes its tests on the sample platform')
    .argument('<file>', 'yt-dlp for this machine, from a source that you trust')
    .action(async (file: string) => {
      const { path, sha256, tests } = await engine.install(file);
      const passed = tests.map(({ test }) => test);
      const text = `passed: ${passed.join(', ')}\ninstalled: ${path}\nWorkers use it from their next start on; "reeltally engine restore" goes back.`;
      print(output, { path, sha256, passed }, text);
    });
  group
    .command('restore')
    .description('go back to the yt-dlp that this version was tested with')
    .action(async () => {
      const restored = await engine.restore();
      const text = restored
        ? 'Workers use the tested yt-dlp from their next start on.'
        : 'The tested yt-dlp is in its place already.';
      print(output, { restored }, text);
    });
}

/** Compares the checksum of a program with the expected one. */
function checksumState({ sha256, expected_sha256: expected }: DownloaderReport['programs'][number]): string {
  if (expected === null) return 'not pinned';
  return sha256 === expected ? 'as tested' : 'differs';
}

function warnings({ programs, ageDays, oldAfterDays, guards, sandbox }: DownloaderReport): string[] {
  return [
    ...programs.flatMap(({ program, path, version }) =>
      version === null ? [`${program} does not start: ${path}`] : [],
    ),
    ...(ageDays !== null && ageDays > oldAfterDays
      ? [`yt-dlp is ${ageDays} days old, and platforms change: install a newer one (docs/operations.md)`]
      : []),
    ...(sandbox === 'weak' ? ['downloads are only taken with SANDBOX=weak (docs/containment.md)'] : []),
    ...guards.flatMap(({ guard, state, detail }) =>
      state === 'on'
        ? []
        : [`the guard ${guard} ${state === 'missing' ? 'is not available here' : 'DOES NOT HOLD'}: ${detail}`],
    ),
  ];
}

/**
 * Prints the programs that make downloads, and the guards that hold them.
 *
 * @throws {CommandFailed} after the answer, when a program does not start or a guard does not hold
 */
function showEngineCommand(output: Output, report: DownloaderReport): void {
  const { programs, ageDays, guards, sandbox } = report;
  const warned = warnings(report);
  const data = { programs, age_days: ageDays, sandbox, guards, warnings: warned };
  const text = [
    table(
      output,
      ['program', 'version', 'checksum', 'path'],
      programs.map((program) => [program.program, program.version ?? '-', checksumState(program), program.path]),
    ),
    '',
    `yt-dlp is of ${ageDays === null ? 'unknown age' : `${ageDays} days ago`}`,
    '',
    `sandbox: ${sandbox === 'weak' ? 'weak, nothing keeps files from downloads' : sandbox}`,
    '',
    table(
      output,
      ['guard', 'state'],
      guards.map(({ guard, state }) => [guard, state]),
    ),
    ...(warned.length > 0 ? ['', ...warned.map((warning) => `warning: ${warning}`)] : []),
  ].join('\n');
  print(output, data, text);
  const isUsable = programs.every(({ version }) => version !== null) && guards.every(({ state }) => state !== 'failed');
  if (!isUsable) throw new CommandFailed('Downloads would fail with these programs, or not be taken at all.');
}
