import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { RecordedEvent } from '../../src/ports/event-store.ts';

/** The hash chain, told a second time: nothing here is shared with the code that writes it. */

/** RFC 8785 for what events hold: texts, whole numbers, truth values, null, lists and objects. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/** Recomputes every hash of a stream from its first event, and checks that no revision is missing and time never goes back. */
export function expectUnbrokenChain(events: readonly RecordedEvent[]): void {
  let previous = createHash('sha256')
    .update(events[0]?.stream ?? '')
    .digest();
  let time = '';
  events.forEach(({ stream, revision, id, type, data, metadata }, index) => {
    const { hash, ...unchained } = metadata as Record<string, unknown>;
    expect(revision, stream).toBe(index);
    const link = canonicalJson({ stream, revision, id, type, data, metadata: unchained });
    previous = createHash('sha256').update(previous).update(link, 'utf8').digest();
    expect(hash, `${stream} at ${index}`).toBe(previous.toString('hex'));
    expect(String(unchained['time']) >= time, `${stream} at ${index} is older than the event before`).toBe(true);
    time = String(unchained['time']);
  });
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
}
