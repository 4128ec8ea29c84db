import { dirname } from 'node:path';
import { unlessAborted } from '../../async/deadline.ts';
import type { Egress, EgressUsage } from '../egress/credentials.ts';
import type { Forker } from '../sandbox/hand-over.ts';
import { type ProcessResult, runSandboxed, type SandboxedProcess } from '../sandbox/run-sandboxed.ts';
import type { DownloaderPrograms } from './programs.ts';
import type { YtDlpCommand } from './unpack.ts';

const mebibyte = 1024 * 1024;
const maxOutputBytes = 64 * mebibyte;
/** Disk space besides the parts and the merged file: temporary files, and the reserve that is never used up. */
const spareDirectoryBytes = 384 * mebibyte;
/** Traffic besides the file, parts of which may be fetched twice: pages, playlists and other resources. */
const spareTrafficBytes = 64 * mebibyte;

/** Read by both programs that may use the network: yt-dlp, and the JavaScript runtime that it starts. */
export function proxyVariables(proxyUrl: string): Record<string, string> {
  return { http_proxy: proxyUrl, https_proxy: proxyUrl, all_proxy: proxyUrl };
}

export interface YtDlpContext {
  options: DownloaderPrograms &
    Pick<SandboxedProcess, 'namespaces' | 'reaper' | 'observer'> & {
      egress: Egress;
      limits: { maxFileSizeBytes: number };
    };
  /** The command that starts yt-dlp, prepared at first use. */
  ytDlp: () => Promise<YtDlpCommand>;
  /** Gives the process that forks yt-dlp instead; undefined where each run starts it. */
  forker: () => Promise<Forker | undefined>;
}

type Run = Pick<SandboxedProcess, 'arguments' | 'directory' | 'timeoutMs' | 'signal' | 'onLine'>;

/**
 * Runs yt-dlp once, in a sandbox, with an egress credential that is revoked at its end.
 *
 * @param run.fetches whether it fetches a file; otherwise its traffic and disk space are only enough for pages
 * @param run.platform the one whose route its connections take
 */
export async function runYtDlp(
  { options, ytDlp, forker }: YtDlpContext,
  { fetches, platform, ...run }: Run & { fetches: boolean; platform: string },
): Promise<ProcessResult> {
  const { command, prefix, environment } = await ytDlp();
  const forks = await unlessAborted(forker(), run.signal, () => undefined);
  const fileBytes = fetches ? 2 * options.limits.maxFileSizeBytes : 0;
  const credential = options.egress.admit({ maxBytes: fileBytes + spareTrafficBytes, platform });
  let usage: EgressUsage | undefined;
  const start = (started: Pick<SandboxedProcess, 'command' | 'arguments' | 'environment'>) =>
    runSandboxed({
      ...run,
      ...started,
      environment: {
        ...started.environment,
        ...proxyVariables(credential.proxyUrl),
      },
      namespaces: options.namespaces,
      // The directory of yt-dlp also holds the JavaScript runtime that it needs for some platforms.
      searchPath: [dirname(options.ytDlpPath)],
      maxDirectoryBytes: fileBytes + spareDirectoryBytes,
      maxOutputBytes,
      reaper: options.reaper,
      observer: options.observer,
    });
  const anew = { command, arguments: [...prefix, ...run.arguments], environment };
  const ended = async (): Promise<ProcessResult> => {
    if (forks === undefined) return await start(anew);
    const forked = await start({ command: forks, arguments: run.arguments });
    // What it was to be forked from may end or be replaced just then.
    return forked.ending === 'not_started' ? await start(anew) : forked;
  };
  const result = await ended().finally(() => (usage = credential.close()));
  if (result.exitCode === 0 || usage === undefined) return result;
  if (usage.exhausted) return { ...result, ending: 'traffic_spent' };
  return usage.routeFailures > 0 && result.ending === 'exited' ? { ...result, ending: 'route_failed' } : result;
}
