import { engineAgeDays, inspectEngine, oldEngineDays } from '../../downloader/yt-dlp/versions.ts';
import { observeEgress, showEngine, showGuards } from '../../adapters/telemetry/worker-observers.ts';
import type { Engine } from '../../downloader/yt-dlp/programs.ts';
import type { Connections } from '../connect.ts';
import { cellDirectoryOf, openContainment, requireGuards, requireSandbox, workDirectoryOf } from '../sandbox.ts';
import type { Containment, InstalledEngine } from '../sandbox.ts';

/**
 * What a worker holds its children in, tried before any work is taken. What this machine does not allow is said once.
 *
 * @throws {ConfigurationRefused} when a guard that should hold does not, or children would be held by too little
 */
export async function startContainment(
  { addresses, config, logger, metrics }: Connections,
  engine: InstalledEngine,
): Promise<Containment> {
  const observer = metrics.observer(observeEgress);
  let trying = true;
  const containment = await openContainment(
    {
      engine,
      workDirectory: workDirectoryOf(config),
      samplePlatformUrl: addresses.samplePlatformUrl,
    },
    {
      observer,
      onRefused: (refusal) => {
        // The guards are tried by what they must refuse.
        if (trying) return;
        observer.egressRefused(refusal.reason);
        logger.warn(refusal, 'the egress guard refused a destination');
      },
    },
  );
  trying = false;
  try {
    requireGuards(containment.guards);
    requireSandbox(containment, config);
  } catch (error) {
    await containment.close();
    throw error;
  }
  const { sandbox } = containment;
  logger.info({ sandbox }, 'the sandbox of child processes');
  for (const { guard, state, detail } of containment.guards) {
    if (state === 'missing') logger.warn({ guard, why: detail }, 'this machine does not allow a guard of the sandbox');
  }
  showGuards([metrics.registry], containment.guards);
  return containment;
}

/** Says which versions are at work. @returns what a person should know of an engine that is old */
export async function reportEngine(
  { clock, logger, metrics }: Connections,
  { engine, containment }: { engine: Engine; containment: Containment },
): Promise<string[]> {
  const { namespaces, reaper, workDirectory } = containment;
  const nowMs = clock.realNowMs();
  const inspection = { engine, directory: cellDirectoryOf(workDirectory), namespaces, reaper, nowMs };
  const { programs, ageDays } = await inspectEngine({ ...inspection, checksums: false });
  const version = programs.find(({ program }) => program === 'yt-dlp')?.version ?? null;
  showEngine([metrics.registry], programs, () => engineAgeDays(version, clock.realNowMs()));
  for (const { program, path, version: found } of programs) {
    if (found === null) logger.error({ program, path }, 'a program of the downloader does not start');
  }
  if (ageDays === null || ageDays <= oldEngineDays) return [];
  return [`yt-dlp is ${String(ageDays)} days old, and platforms change: set YTDLP_PATH to a newer one`];
}
