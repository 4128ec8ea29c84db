import { inspectEngine, oldEngineDays } from '../downloader/yt-dlp/versions.ts';
import { realNowMs } from '../system/clock-and-chance.ts';
import { prepareYtDlp } from '../downloader/yt-dlp/unpacked.ts';
import type { EngineReport } from '../cli/engine.ts';
import type { Config } from './settings/config.ts';
import { cellDirectoryOf, findEngine, openContainment, workDirectoryOf } from './sandbox.ts';

/** Tries yt-dlp and ffmpeg, and the guards of their sandbox, as a worker does at its start. */
export async function inspectThisEngine(config: Config): Promise<EngineReport> {
  const engine = await findEngine(config);
  const containment = await openContainment(
    { engine, workDirectory: workDirectoryOf(config), samplePlatformUrl: null },
    { onRefused: () => undefined },
  );
  try {
    const { guards, namespaces, reaper, sandbox, workDirectory } = containment;
    const ytDlp = await prepareYtDlp({
      ytDlpPath: engine.ytDlpPath,
      directory: engine.directory,
      trialDirectory: workDirectory,
      reaper,
      namespaces,
      onProblem: () => undefined,
    });
    const nowMs = realNowMs();
    const directory = cellDirectoryOf(workDirectory);
    const state = await inspectEngine({ engine, ytDlp, directory, namespaces, reaper, nowMs, checksums: true });
    return { ...state, oldAfterDays: oldEngineDays, guards, sandbox };
  } finally {
    await containment.close();
  }
}
