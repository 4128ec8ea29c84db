import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { runSandboxed } from '../sandbox/process.ts';
import type { SandboxedProcess, ProcessResult } from '../sandbox/process.ts';
import type { Egress, EgressUsage } from '../egress/credentials.ts';
import type { Engine } from './programs.ts';
import type { YtDlpCommand } from './unpacked.ts';

const mebibyte = 1024 * 1024;
const maxOutputBytes = 64 * mebibyte;
/** Beside the parts and the file merged from them: temporary files, and the reserve that is never used up. */
const spareDirectoryBytes = 384 * mebibyte;
/** Beside the file, which may be fetched twice in part: pages, playlists and what they point at. */
const spareTrafficBytes = 64 * mebibyte;

/** Where yt-dlp finds ffmpeg and ffprobe: stand-ins that start the real ones on local files only. */
export const localFfmpeg = fileURLToPath(new URL('local-ffmpeg', import.meta.url));

/** Read by all that may go out: yt-dlp, and the JavaScript runtime that it starts. */
export function proxyVariables(proxyUrl: string): Record<string, string> {
  return { http_proxy: proxyUrl, https_proxy: proxyUrl, all_proxy: proxyUrl };
}

export interface YtDlpContext {
  options: Engine &
    Pick<SandboxedProcess, 'namespaces' | 'reaper' | 'observer'> & {
      egress: Egress;
      limits: { maxFileSizeBytes: number };
    };
  /** How to start yt-dlp; found out at first use. */
  ytDlp: () => Promise<YtDlpCommand>;
}

/**
 * Runs yt-dlp once, contained, with a leave to use the proxy that ends with it.
 *
 * @param fetches whether it fetches a file: else it gets room for pages alone
 */
export async function runYtDlp(
  { options, ytDlp }: YtDlpContext,
  {
    fetches,
    ...run
  }: Pick<SandboxedProcess, 'arguments' | 'directory' | 'timeoutMs' | 'signal' | 'onLine'> & { fetches: boolean },
): Promise<ProcessResult> {
  const { command, prefix, environment } = await ytDlp();
  const fileBytes = fetches ? 2 * options.limits.maxFileSizeBytes : 0;
  const credential = options.egress.admit({ maxBytes: fileBytes + spareTrafficBytes });
  let usage: EgressUsage | undefined;
  const result = await runSandboxed({
    ...run,
    command,
    arguments: [...prefix, ...run.arguments],
    environment: {
      ...environment,
      ...proxyVariables(credential.proxyUrl),
      REELTALLY_FFMPEG: options.ffmpegPath,
      REELTALLY_FFPROBE: options.ffprobePath,
    },
    namespaces: options.namespaces,
    // The directory of yt-dlp also holds the JavaScript runtime that it needs for some platforms.
    searchPath: [dirname(options.ytDlpPath)],
    maxDirectoryBytes: fileBytes + spareDirectoryBytes,
    maxOutputBytes,
    reaper: options.reaper,
    observer: options.observer,
  }).finally(() => (usage = credential.close()));
  return usage?.exhausted === true && result.exitCode !== 0 ? { ...result, ending: 'traffic_spent' } : result;
}
