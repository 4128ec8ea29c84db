/** The program of the process that shared-event-stores.ts speaks to: event stores by the names of their folders. */

import type { EndOfCatchUp } from '../../src/embedded/event-store/checkpoints.ts';
import { openDatabase } from '../../src/embedded/event-store/database.ts';
import { startServer } from '../../src/embedded/event-store/server.ts';

export interface Start {
  directory: string;
  endOfCatchUp: EndOfCatchUp;
}

export interface Stop {
  ended: string;
}

const stops = new Map<string, () => Promise<void>>();

/** @returns its port */
async function start({ directory, endOfCatchUp }: Start): Promise<number> {
  const database = openDatabase(directory);
  const onFailure = (error: unknown) => {
    throw error;
  };
  const server = await startServer({ database, port: 0, endOfCatchUp, onFailure });
  stops.set(directory, async () => {
    await server.stop();
    database.close();
  });
  return server.port;
}

/** @returns 0, since each question is answered with a number */
async function stop({ ended }: Stop): Promise<number> {
  await stops.get(ended)?.();
  stops.delete(ended);
  return 0;
}

let underWay: Promise<unknown> = Promise.resolve();
process.on('message', (question: Start | Stop) => {
  underWay = underWay.then(async () => process.send?.(await ('ended' in question ? stop(question) : start(question))));
});
