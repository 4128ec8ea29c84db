import { observeEgress, showGuards } from '../../adapters/metrics-observers.ts';
import type { Engine } from '../../adapters/yt-dlp-engine.ts';
import type { Connections } from '../connect.ts';
import { openContainment, requireGuards } from '../containment.ts';
import type { Containment } from '../containment.ts';

/**
 * What a worker holds its children in, tried before any work is taken. What this machine does not allow is said once.
 *
 * @throws {ConfigurationRefused} when a guard that should hold does not
 */
export async function startContainment(
  { addresses, logger, metrics }: Connections,
  { engine, workDirectory }: { engine: Engine; workDirectory: string },
): Promise<Containment> {
  const observer = metrics.observer(observeEgress);
  let trying = true;
  const containment = await openContainment(
    { engine, workDirectory, samplePlatformUrl: addresses.samplePlatformUrl },
    {
      observer,
      onRefused: (refusal) => {
        // The guards are tried by what they must refuse.
        if (trying) return;
        observer.egressRefused(refusal.reason);
        logger.warn(refusal, 'a destination was refused');
      },
    },
  );
  trying = false;
  try {
    requireGuards(containment.guards);
  } catch (error) {
    await containment.close();
    throw error;
  }
  for (const { guard, state, detail } of containment.guards) {
    if (state === 'missing')
      logger.warn({ guard, why: detail }, 'this machine does not allow a guard of child processes');
  }
  showGuards([metrics.registry], containment.guards);
  return containment;
}
