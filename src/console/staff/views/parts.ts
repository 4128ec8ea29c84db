import { z } from 'zod';
import { partsOfService } from '../../parts-of-service.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { listOf } from '../view.ts';

/** The parts of the service, and what its workers say that they lack. */
export const shownParts = listOf('The servers, and what workers say that they lack.', {
  part: z.string(),
  state: z.string().describe('`ok`, or why it does not work.'),
  away_seconds: z.number().nullable().describe('For how long, as far as this process has noticed it.'),
  meanwhile: z.string().nullable().describe('What becomes of the service until it works.'),
});

/** @param workers those that beat now */
export async function readParts(
  dependencies: StaffDependencies,
  workers: readonly { host: string; notices: readonly string[] }[],
): Promise<z.infer<typeof shownParts>> {
  const parts = await partsOfService(dependencies);
  // In one process, what its worker lacks is among the parts already.
  const isNew = (notice: string) => !parts.some(({ state }) => state === notice);
  const noted = workers.flatMap(({ host, notices }) =>
    notices.filter(isNew).map((state) => ({ part: `a worker on ${host}`, state, away_seconds: null, meanwhile: null })),
  );
  const none = { part: 'workers', state: 'none is there', away_seconds: null, meanwhile: 'Downloads wait.' };
  return [...parts, ...(workers.length === 0 ? [none] : noted)];
}
