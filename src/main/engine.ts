import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DownloaderReport, EngineInstallation } from '../cli/engine.ts';
import { CommandFailed } from '../cli/output.ts';
import { parseVideoUrl } from '../domain/parse-video-url.ts';
import { createVideoSource } from '../downloader/video-source.ts';
import { discardYtDlp, restoreYtDlp, stageYtDlp, useYtDlp } from '../downloader/yt-dlp/newer.ts';
import { bundledYtDlpSha256 } from '../downloader/yt-dlp/programs.ts';
import { prepareYtDlp } from '../downloader/yt-dlp/unpack.ts';
import { inspectDownloader, oldEngineDays } from '../downloader/yt-dlp/versions.ts';
import { startSamplePlatform } from '../embedded/sample-platform/sample-platform.ts';
import type { DownloadFailure, VideoReference, VideoSource, WantedFile } from '../ports/videos.ts';
import { realNowMs } from '../system/clock-and-chance.ts';
import { findDownloader, findTestedDownloader, type InstalledDownloader, workDirectoryOf } from './downloader.ts';
import { openDownloaderSandbox, requireGuards, sandboxDirectoryOf } from './downloader-sandbox.ts';
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

const mebibyte = 1024 * 1024;
const limits = {
  maxFileSizeBytes: 64 * mebibyte,
  maxDurationSeconds: 3_600,
  attemptTimeoutMs: 120_000,
  metadataTimeoutMs: 60_000,
  maxVideoSide: 1_080,
};

/**
 * Puts another yt-dlp in the place of the pinned one, if it passes the tests. Processes take it at their next start.
 *
 * @throws {CommandFailed} if it fails one; nothing is changed then
 */
export async function installEngine(config: Config, file: string): Promise<EngineInstallation> {
  refuseOwnPath(config);
  const tested = await findTestedDownloader(config);
  const { directory } = tested;
  const staged = await stageYtDlp(file, { directory, tested: tested.ytDlpPath }).catch((error: unknown) => {
    throw new CommandFailed(`${file} cannot be installed: ${error instanceof Error ? error.message : String(error)}`);
  });
  try {
    if (staged.sha256 === bundledYtDlpSha256)
      throw new CommandFailed('this is the yt-dlp that npm brings: "reeltally engine restore" goes back to it');
    const tests = await testEngine(config, { ...tested, ytDlpPath: staged.ytDlpPath });
    const failed = tests.filter(({ failure }) => failure !== undefined);
    if (failed.length > 0) {
      const faults = failed.map(({ test, failure }) => `\n  ${test}: ${failure ?? ''}`);
      throw new CommandFailed(`this yt-dlp does not serve, and nothing was changed:${faults.join('')}`);
    }
    await useYtDlp(directory, staged);
    return { path: staged.ytDlpPath, sha256: staged.sha256, tests };
  } finally {
    await discardYtDlp(directory, staged);
  }
}

/** Goes back to the pinned yt-dlp. @returns whether another one was in its place */
export async function restoreEngine(config: Config): Promise<boolean> {
  refuseOwnPath(config);
  return await restoreYtDlp((await findTestedDownloader(config)).directory);
}

function refuseOwnPath({ YTDLP_PATH }: Config): void {
  if (YTDLP_PATH !== undefined)
    throw new CommandFailed('YTDLP_PATH is set, and names the yt-dlp that is used: remove the setting first');
}

/** Tries a downloader on a sample platform of its own, in the sandbox of downloads. */
async function testEngine(config: Config, downloader: InstalledDownloader): Promise<EngineInstallation['tests']> {
  const platform = await startSamplePlatform({
    cacheDirectory: join(config.dataDirectory, 'sample-platform'),
    ffmpegPath: downloader.ffmpegPath,
  });
  try {
    const sandbox = await openDownloaderSandbox(
      { downloader, workDirectory: workDirectoryOf(config), samplePlatformUrl: platform.url },
      { onRefused: () => undefined },
    );
    try {
      requireGuards(sandbox.guards);
      const source = createVideoSource({
        ...downloader,
        ...sandbox,
        limits,
        extractorOf: () => 'sample',
        unpackedDirectory: downloader.directory,
      });
      return await runTests(source, { origin: platform.url, workDirectory: sandbox.workDirectory });
    } finally {
      await sandbox.close();
    }
  } finally {
    await platform.close();
  }
}

async function runTests(
  source: VideoSource,
  { origin, workDirectory }: { origin: string; workDirectory: string },
): Promise<EngineInstallation['tests']> {
  const item = (id: string): VideoReference => {
    const parsed = parseVideoUrl(`${origin}/watch/${id}`, { samplePlatformOrigin: origin });
    if (!parsed.ok || parsed.video === undefined) throw new Error(`the sample platform has no item ${id}`);
    return parsed.video;
  };
  const signal = new AbortController().signal;
  const download = async (id: string, output: WantedFile['output']) => {
    await mkdir(workDirectory, { recursive: true });
    const directory = await mkdtemp(join(workDirectory, 'probe-install-'));
    try {
      const wanted = { output, quality: '360', item: 1 } as const;
      const result = await source.download(item(id), wanted, { directory, signal, onProgress: () => undefined });
      return result.ok ? undefined : failureText(result);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  };
  const metadata = await source.probe(item('bars'), { signal });
  const refused = await source.probe(item('private'), { signal });
  const isRefused = !refused.ok && refused.reason === 'private_video';
  return [
    { test: 'metadata', failure: metadata.ok ? undefined : failureText(metadata) },
    { test: 'MP4', failure: await download('bars', 'mp4') },
    { test: 'MP3', failure: await download('bars', 'mp3') },
    { test: 'HLS', failure: await download('hls', 'mp4') },
    {
      test: 'a refusal',
      failure: isRefused ? undefined : refused.ok ? 'a private film was shown' : failureText(refused),
    },
  ];
}

const failureText = ({ reason, detail }: Pick<DownloadFailure, 'reason' | 'detail'>): string =>
  `${reason}: ${detail.slice(0, 300)}`;
