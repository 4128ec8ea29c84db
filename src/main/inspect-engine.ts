import type { DownloaderReport } from '../cli/engine.ts';
import { prepareYtDlp } from '../downloader/yt-dlp/unpack.ts';
import { inspectDownloader, oldEngineDays } from '../downloader/yt-dlp/versions.ts';
import { realNowMs } from '../system/clock-and-chance.ts';
import { findDownloader, workDirectoryOf } from './downloader.ts';
import { openDownloaderSandbox, sandboxDirectoryOf } from './downloader-sandbox.ts';
import type { Config } from './settings/config.ts';

/** Tries yt-dlp and ffmpeg, and the guards of their sandbox, as a worker does at its start. */
export async function inspectThisDownloader(config: Config): Promise<DownloaderReport> {
  const downloader = await findDownloader(config);
  const opened = await openDownloaderSandbox(
    { downloader, workDirectory: workDirectoryOf(config), samplePlatformUrl: null },
    { onRefused: () => undefined },
  );
  try {
    const { guards, namespaces, reaper, sandbox, workDirectory } = opened;
    const ytDlp = await prepareYtDlp({
      ytDlpPath: downloader.ytDlpPath,
      directory: downloader.directory,
      reaper,
      onProblem: () => undefined,
    });
    const nowMs = realNowMs();
    const directory = sandboxDirectoryOf(workDirectory);
    const state = await inspectDownloader({
      programs: downloader,
      ytDlp,
      directory,
      namespaces,
      reaper,
      nowMs,
      checksums: true,
    });
    return { ...state, oldAfterDays: oldEngineDays, guards, sandbox };
  } finally {
    await opened.close();
  }
}
