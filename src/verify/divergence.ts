import { isDeepStrictEqual } from 'node:util';
import type { RecordedEvent } from '../commands/ports.ts';

/** Where the log, or what stands in Postgres, is not what the rules make of it. */
export class Divergence extends Error {
  override readonly name = 'Divergence';
  readonly facts: { stream: string; revision: number; field: string; expected: unknown; found: unknown };

  /** @param field of the event, such as `data.cents`, or of a row, such as `credits.last_hash` */
  constructor(at: { stream: string; revision: number }, field: string, expected: unknown, found: unknown) {
    const show = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value ?? null));
    super(`event ${String(at.revision)} of ${at.stream}: ${field} should be ${show(expected)}, and is ${show(found)}`);
    this.facts = { stream: at.stream, revision: at.revision, field, expected, found };
  }
}

/**
 * @param field whose value is shown as what was found
 * @throws {Divergence} unless it is right
 */
export function must(isRight: boolean, event: RecordedEvent, field: string, expected: unknown): asserts isRight {
  if (!isRight) throw new Divergence(event, field, expected, valueAt(event, field));
}

/**
 * @param within which part of the event the fields stand, with a dot behind it
 * @throws {Divergence} at the first of the fields that is another one
 */
export function mustEqual(event: RecordedEvent, expected: object, within = 'data.'): void {
  for (const name in expected) {
    const value = (expected as Record<string, unknown>)[name];
    const found = valueAt(event, within + name);
    if (found !== value) must(isDeepStrictEqual(found, value), event, within + name, value);
  }
}

/** A few dozen paths are asked for, for every event. */
const paths = new Map<string, readonly string[]>();

/** @param field its name, with those of the parts that it stands in before it, and dots between */
export function valueAt(whole: object, field: string): unknown {
  let names = paths.get(field);
  if (!names) paths.set(field, (names = field.split('.')));
  let value: unknown = whole;
  for (const name of names) value = (Object(value) as Record<string, unknown>)[name];
  return value;
}
