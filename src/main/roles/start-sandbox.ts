import { observeEgress, showEngine, showGuards } from '../../adapters/telemetry/worker-observers.ts';
import { chooseRoute } from '../../downloader/egress/choose-route.ts';
import type { DownloaderPrograms } from '../../downloader/yt-dlp/programs.ts';
import { downloaderAgeDays, inspectDownloader, oldEngineDays } from '../../downloader/yt-dlp/versions.ts';
import type { Connections } from '../connect.ts';
import { type InstalledDownloader, workDirectoryOf } from '../downloader.ts';
import {
  type DownloaderSandbox,
  openDownloaderSandbox,
  requireGuards,
  requireSandbox,
  sandboxDirectoryOf,
} from '../downloader-sandbox.ts';
import type { DownloadRules } from '../settings/platform-rules.ts';

/**
 * Opens and tries the sandbox of a worker before it takes work. Guards that this machine does not allow are logged.
 *
 * @throws {ConfigurationRefused} if a guard that should hold does not, or the sandbox is weak and not allowed to be
 */
export async function startSandbox(
  { addresses, config, logger, metrics }: Connections,
  { downloader, rules }: { downloader: InstalledDownloader; rules: DownloadRules },
): Promise<DownloaderSandbox> {
  const observer = metrics.observer(observeEgress);
  let trying = true;
  const opened = await openDownloaderSandbox(
    {
      downloader,
      workDirectory: workDirectoryOf(config),
      samplePlatformUrl: addresses.samplePlatformUrl,
    },
    {
      observer,
      routeTo: chooseRoute({
        general: { proxy: config.EGRESS_PROXY, sourceAddress: config.EGRESS_SOURCE_ADDRESS },
        routeOf: rules.routeOf,
      }),
      onRouteFailed: (failure) => logger.error(failure, 'the outgoing proxy or source address cannot be used'),
      onRefused: (refusal) => {
        // The self-test provokes refusals.
        if (trying) return;
        observer.egressRefused(refusal.reason);
        logger.warn(refusal, 'the egress guard refused a destination');
      },
    },
  );
  trying = false;
  try {
    requireGuards(opened.guards);
    requireSandbox(opened, config);
  } catch (error) {
    await opened.close();
    throw error;
  }
  const { sandbox } = opened;
  logger.info({ sandbox }, 'the sandbox of child processes');
  for (const { guard, state, detail } of opened.guards) {
    if (state === 'missing') logger.warn({ guard, why: detail }, 'this machine does not allow a guard of the sandbox');
  }
  showGuards([metrics.registry], opened.guards);
  return opened;
}

/** Logs and counts the versions of the programs. @returns these, and notices for the operator, such as that yt-dlp is old */
export async function reportDownloader(
  { clock, logger, metrics }: Connections,
  { downloader, opened }: { downloader: DownloaderPrograms; opened: DownloaderSandbox },
): Promise<{ versions: Record<string, string | null>; notices: string[] }> {
  const { namespaces, reaper, workDirectory } = opened;
  const nowMs = clock.realNowMs();
  const inspection = { programs: downloader, directory: sandboxDirectoryOf(workDirectory), namespaces, reaper, nowMs };
  const { programs } = await inspectDownloader({ ...inspection, checksums: false });
  const version = programs.find(({ program }) => program === 'yt-dlp')?.version ?? null;
  showEngine([metrics.registry], programs, () => downloaderAgeDays(version, clock.realNowMs()));
  for (const { program, path, version: found } of programs) {
    if (found === null) logger.error({ program, path }, 'a program of the downloader does not start');
  }
  const versions = Object.fromEntries(programs.map(({ program, version: found }) => [program, found]));
  const old = oldEngineNotice(versions, nowMs);
  return { versions, notices: old === undefined ? [] : [old] };
}

/** @returns undefined for a yt-dlp that is new enough, or of unknown age */
export function oldEngineNotice(versions: Readonly<Record<string, string | null>>, nowMs: number): string | undefined {
  const ageDays = downloaderAgeDays(versions['yt-dlp'] ?? null, nowMs);
  if (ageDays === null || ageDays <= oldEngineDays) return undefined;
  return `yt-dlp is ${String(ageDays)} days old, and platforms change: see "engine install"`;
}
