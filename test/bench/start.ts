import { rmSync } from 'node:fs';
import { startProcess } from '../support/service.ts';
import { makeTemporaryDirectory } from '../support/temporary-directory.ts';
import { progress, type Results } from './figures.ts';

/** How long the whole service with all its servers takes until it is ready, as `npm start` does it. */
export async function benchStart(rounds: number): Promise<Results> {
  const [first, second]: [number[], number[]] = [[], []];
  // The first round brings the programs into memory, and is not kept.
  for (let round = 0; round <= rounds; round += 1) {
    progress(`round ${round} of ${rounds}: first and second start`);
    const directory = makeTemporaryDirectory();
    try {
      const seconds = [await secondsOfStart(directory), await secondsOfStart(directory)] as const;
      if (round === 0) continue;
      first.push(seconds[0]);
      second.push(seconds[1]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }
  return {
    ratios: [],
    figures: [
      { name: 'first start, with the story of the demo', unit: 's', values: first },
      { name: 'second start', unit: 's', values: second },
    ],
  };
}

async function secondsOfStart(directory: string): Promise<number> {
  const startedMs = performance.now();
  await using service = await startProcess('all', { REELTALLY_DATA: directory, PORT: '0' });
  const seconds = (performance.now() - startedMs) / 1000;
  if (!service.demo) throw new Error('the service started without its demo');
  return seconds;
}
