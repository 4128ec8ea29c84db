import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openCell } from '../adapters/contained-cell.ts';
import type { Namespaces } from '../adapters/contained-launch.ts';
import { startKeeper } from '../adapters/contained-process-keeper.ts';
import type { Keeper } from '../adapters/contained-process-keeper.ts';
import { testContainment } from '../adapters/containment-self-test.ts';
import type { GuardReport } from '../adapters/containment-self-test.ts';
import { createEgressGuard } from '../adapters/egress-guard.ts';
import type { Destination, EgressGuard, EgressGuardOptions } from '../adapters/egress-guard.ts';
import { startEgressProxy } from '../adapters/egress-proxy.ts';
import type { Egress } from '../adapters/egress-passes.ts';
import { locateEngine } from '../adapters/yt-dlp-engine.ts';
import type { Engine } from '../adapters/yt-dlp-engine.ts';
import { localFfmpeg } from '../adapters/yt-dlp-run.ts';
import type { EgressObserver } from '../commands/observers.ts';
import { ConfigurationRefused, projectDirectory } from './config.ts';
import type { Config } from './config.ts';

/** The folder of plugin packages. */
export const pluginsDirectory = join(projectDirectory, 'src/embedded/plugins');

export const workDirectoryOf = ({ WORK_DIRECTORY, dataDirectory }: Config): string =>
  WORK_DIRECTORY ?? join(dataDirectory, 'work');

/** @throws {EngineUnusable} where a program is missing, or not the one that it should be */
export const findEngine = ({ YTDLP_PATH, FFMPEG_PATH, FFPROBE_PATH, PATH }: Config): Promise<Engine> =>
  locateEngine({ ytDlpPath: YTDLP_PATH, ffmpegPath: FFMPEG_PATH, ffprobePath: FFPROBE_PATH }, PATH);

/** Where yt-dlp lies unpacked, for all processes on this folder. */
export const unpackedDirectoryOf = (workDirectory: string): string => join(workDirectory, 'engine');

/** What children see of this machine, and where they are tried. */
export const cellDirectoryOf = (workDirectory: string): string => join(workDirectory, 'cell');

/** What children are held in. */
export interface Containment {
  /** For whatever else a worker fetches because a client or a platform named it. */
  guard: EgressGuard;
  egress: Egress;
  namespaces: Namespaces;
  /** Closed by itself, it ends the children that still run. */
  keeper: Keeper;
  /** Each guard, as it was found by real children. */
  guards: readonly GuardReport[];
  close(): Promise<void>;
}

/**
 * Makes the namespaces that this machine allows, starts the one way out of them, and tries every guard.
 *
 * @param samplePlatformUrl in demo and test mode: reached besides the public internet, by this host and port alone
 */
export async function openContainment(
  {
    engine,
    workDirectory,
    samplePlatformUrl,
  }: { engine: Engine; workDirectory: string; samplePlatformUrl: string | null },
  { onRefused, observer }: { onRefused: EgressGuardOptions['onRefused']; observer?: EgressObserver },
): Promise<Containment> {
  const [unpacked, directory] = [unpackedDirectoryOf(workDirectory), cellDirectoryOf(workDirectory)];
  await mkdir(unpacked, { recursive: true, mode: 0o700 });
  const cell = await openCell({
    directory,
    programs: [engine.ytDlpPath, engine.ffmpegPath, engine.ffprobePath],
    readable: [pluginsDirectory, localFfmpeg, unpacked],
  });
  const guard = createEgressGuard({ allowed: destinationsOf(samplePlatformUrl), onRefused });
  const proxy = await startEgressProxy({
    guard,
    ...(observer && { observer }),
    ...(cell.listener && { listener: cell.listener }),
  });
  const keeper = startKeeper();
  const close = async () => {
    keeper.close();
    await proxy.close();
    await cell.close();
  };
  try {
    const guards = await testContainment({ cell, egress: proxy, directory, keeper });
    return { guard, egress: proxy, namespaces: cell.namespaces, keeper, guards, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws {ConfigurationRefused} when a guard that should hold does not */
export function requireGuards(guards: readonly GuardReport[]): void {
  const failed = guards.filter(({ state }) => state === 'failed');
  if (failed.length === 0) return;
  const faults = failed.map(({ guard, detail }) => `  ${guard}: ${detail.slice(0, 300)}`);
  throw new ConfigurationRefused(
    `No downloads are taken: a guard that should hold child processes does not.\n${faults.join('\n')}\n` +
      'docs/containment.md says what each guard needs; "reeltally engine show" tries them again.',
  );
}

function destinationsOf(url: string | null): Destination[] {
  if (url === null) return [];
  const { hostname, port, protocol } = new URL(url);
  return [{ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || (protocol === 'https:' ? 443 : 80)) }];
}
