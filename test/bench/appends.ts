import { randomUUID } from 'node:crypto';
import type { EventStore, EventToAppend } from '../../src/ports/event-store.ts';
import { perSecond, progress, ratio, type Results, series } from './figures.ts';

const inFlight = 64;
const groupEvents = 100;

/** How fast the log takes events: one append after the other, many at a time, and many in one append. */
export async function benchAppends(store: EventStore, rounds: number): Promise<Results> {
  const [alone, together, grouped]: [number[], number[], number[]] = [[], [], []];
  for (let round = 1; round <= rounds; round += 1) {
    progress(`appends, round ${round} of ${rounds}`);
    alone.push(await perSecond(300, () => series(300, () => appendNew(store, 1))));
    together.push(
      await perSecond(4_000, () =>
        Promise.all(Array.from({ length: inFlight }, () => series(4_000 / inFlight, () => appendNew(store, 1)))),
      ),
    );
    grouped.push(await perSecond(10_000, () => series(10_000 / groupEvents, () => appendNew(store, groupEvents))));
  }
  return {
    ratios: [
      ratio(`appends, ${inFlight} at a time: to one after the other`, together, alone),
      ratio(`appends of ${groupEvents} events: to single events one after the other`, grouped, alone),
    ],
    figures: [
      { name: 'appends: one after the other', unit: 'events/s', values: alone },
      { name: `appends: ${inFlight} at a time`, unit: 'events/s', values: together },
      { name: `appends: ${groupEvents} events each, one after the other`, unit: 'events/s', values: grouped },
    ],
  };
}

async function appendNew(store: EventStore, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, number): EventToAppend => {
    const data = { token: randomUUID(), ordinal: number, note: 'about as long as a charge and what goes with it' };
    return { id: randomUUID(), type: 'Measured', data, metadata: { time: new Date().toISOString() } };
  });
  const outcome = await store.append(`bench-${randomUUID()}`, 'no_stream', events);
  if (outcome !== 'stored') throw new Error(`an append of the bench ended with ${outcome}`);
}
