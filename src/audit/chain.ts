import { hash } from 'node:crypto';
import type { RecordedEvent } from '../commands/ports.ts';
import { must, mustEqual } from '../verify/divergence.ts';
import type { Link } from '../verify/forms.ts';

/** A stream, as far as it was followed: each event is hashed together with the hash of the one before it. */
export class Chain {
  readonly stream: string;
  revision = -1;
  position = -1n;
  lastHash: string | null = null;
  time = '';

  constructor(stream: string) {
    this.stream = stream;
  }

  /** @throws {Divergence} unless the event is the next one, chained to the last, and no older */
  follow(event: RecordedEvent): Link {
    mustEqual(event, { stream: this.stream, revision: this.revision + 1 }, '');
    const { stream, revision, id, type, data, position } = event;
    const { hash: found, ...metadata } = Object(event.metadata) as Link['metadata'];
    const link = Buffer.from(canonical({ stream, revision, id, type, data, metadata }));
    const previous = Buffer.from(this.lastHash ?? hash('sha256', stream), 'hex');
    mustEqual(event, { hash: hash('sha256', Buffer.concat([previous, link])) }, 'metadata.');
    must(metadata.time >= this.time, event, 'metadata.time', `at or after ${this.time}`);
    Object.assign(this, { revision, position, lastHash: found, time: metadata.time });
    return event as Link;
  }
}

/** RFC 8785 for what was JSON: members in the order of their names' UTF-16 units, numbers and texts as ECMAScript writes them. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = value as Record<string, unknown>;
  const names = Object.keys(members).sort();
  return `{${names.reduce((json, name) => `${json}${json && ','}${JSON.stringify(name)}:${canonical(members[name])}`, '')}}`;
}
