import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { runContained } from './contained-process.ts';
import type { ContainedProcess, ProcessResult } from './contained-process.ts';
import type { EgressUsage } from './egress-passes.ts';
import type { EngineContext } from './video-source.ts';

const maxOutputBytes = 64 * 1024 * 1024;
/** Beside the parts and the file merged from them: temporary files, and the reserve that is never used up. */
const spareDirectoryBytes = 384 * 1024 * 1024;
/** Beside the file, which may be fetched twice in part: pages, playlists and what they point at. */
const spareTrafficBytes = 64 * 1024 * 1024;

/** Where yt-dlp finds ffmpeg and ffprobe: stand-ins that start the real ones on local files only. */
export const localFfmpeg = fileURLToPath(new URL('local-ffmpeg', import.meta.url));

/** Read by all that may go out: yt-dlp, and the JavaScript runtime that it starts. */
export function proxyVariables(proxyUrl: string): Record<string, string> {
  return { http_proxy: proxyUrl, https_proxy: proxyUrl, all_proxy: proxyUrl };
}

/** Runs yt-dlp once, contained, with a leave to use the proxy that ends with it. */
export async function runYtDlp(
  { options, keeper, ytDlp }: EngineContext,
  run: Pick<ContainedProcess, 'arguments' | 'directory' | 'timeoutMs' | 'signal' | 'onLine'>,
): Promise<ProcessResult> {
  const { command, prefix, environment } = await ytDlp();
  const pass = options.egress.admit({ maxBytes: 2 * options.limits.maxFileSizeBytes + spareTrafficBytes });
  let usage: EgressUsage | undefined;
  const result = await runContained({
    ...run,
    command,
    arguments: [...prefix, ...run.arguments],
    environment: {
      ...environment,
      ...proxyVariables(pass.proxyUrl),
      REELTALLY_FFMPEG: options.ffmpegPath,
      REELTALLY_FFPROBE: options.ffprobePath,
    },
    namespaces: options.namespaces,
    // The directory of yt-dlp also holds the JavaScript runtime that it needs for some platforms.
    searchPath: [dirname(options.ytDlpPath)],
    maxDirectoryBytes: 2 * options.limits.maxFileSizeBytes + spareDirectoryBytes,
    maxOutputBytes,
    keeper,
    observer: options.observer,
  }).finally(() => (usage = pass.close()));
  return usage?.exhausted === true && result.exitCode !== 0 ? { ...result, ending: 'traffic_spent' } : result;
}
