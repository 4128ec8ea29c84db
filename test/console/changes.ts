import { expect } from 'vitest';
import type { WholeLog } from '../../src/ports/event-store.ts';

interface Watched {
  log: Pick<WholeLog, 'headPosition' | 'readAll'>;
  /** Ids and texts: an event with one of them in its stream, data or metadata is about what may not change. */
  names: () => readonly string[];
  /** Rows that may not change either. */
  rows: () => Promise<unknown>;
}

/** The dispatcher mails the documents of a test's account meanwhile. */
const ownWork = ['DocumentMailed'];

/** Expects that work changes nothing of what belongs to the caller, on a service that others change at the same time. */
export async function changesNothing({ log, names, rows }: Watched, work: () => Promise<void>): Promise<void> {
  const before = await rows();
  let after = (await log.headPosition()) ?? -1n;
  await work();
  expect(await rows()).toEqual(before);
  const found: string[] = [];
  for (;;) {
    const events = await log.readAll(after, 500);
    for (const { stream, type, data, metadata } of events) {
      const text = JSON.stringify([stream, data, metadata]);
      if (!ownWork.includes(type) && names().some((name) => text.includes(name))) found.push(`${stream} ${type}`);
    }
    const last = events.at(-1);
    if (!last) break;
    after = last.position;
  }
  expect(found).toEqual([]);
}
