import type { Command } from 'commander';
import { inspectEngine, oldEngineDays } from '../adapters/engine-versions.ts';
import { systemClock } from '../adapters/system.ts';
import { prepareYtDlp } from '../adapters/yt-dlp-unpacked.ts';
import { showEngineCommand } from '../cli/engine.ts';
import type { Output } from '../cli/output.ts';
import { readConfig } from './config.ts';
import { cellDirectoryOf, findEngine, openContainment, unpackedDirectoryOf, workDirectoryOf } from './containment.ts';

/** They need no engine of the service: they look at this machine alone. */
export function addEngineCommands(program: Command, output: () => Output): void {
  program
    .command('engine')
    .description('what downloads are made with')
    .command('show')
    .description(
      'versions, age and checksums of yt-dlp, ffmpeg and ffprobe, and which guards hold them on this machine',
    )
    .action(async () => {
      const config = readConfig();
      const engine = await findEngine(config);
      const workDirectory = workDirectoryOf(config);
      const containment = await openContainment(
        { engine, workDirectory, samplePlatformUrl: null },
        { onRefused: () => undefined },
      );
      try {
        const { guards, namespaces, keeper } = containment;
        const ytDlp = await prepareYtDlp({
          ...{ ytDlpPath: engine.ytDlpPath, directory: unpackedDirectoryOf(workDirectory), keeper },
          onProblem: () => undefined,
        });
        const nowMs = systemClock().realNowMs();
        const directory = cellDirectoryOf(workDirectory);
        const inspection = { engine, ytDlp, directory, namespaces, keeper, nowMs, checksums: true };
        const state = await inspectEngine(inspection);
        showEngineCommand(output(), { ...state, oldAfterDays: oldEngineDays, guards });
      } finally {
        await containment.close();
      }
    });
}
