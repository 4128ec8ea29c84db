import { hash } from 'node:crypto';
import type { RecordedEvent } from './audited-log.ts';
import { differingFields, type Report, valueAt } from './divergence.ts';
import type { Link } from './event-schemas.ts';
import type { Rule } from './rules.ts';

/**
 * A stream and its hash chain, as far as it was read. The hash of each event covers the hash of the event before it.
 *
 * After a divergence the rules go on with the event as it is stored. One change is thus reported where it was made, and not
 * again at each event behind it.
 */
export class Chain<Owner extends string | null = string | null> {
  readonly stream: string;
  /** Null for a stream that belongs to no account. */
  readonly accountId: Owner;
  revision = -1;
  position = -1n;
  lastHash: string | null = null;
  time = '';
  readonly #report: Report;
  #givenUp: Set<Rule> | undefined;

  constructor(stream: string, accountId: Owner, report: Report) {
    this.stream = stream;
    this.accountId = accountId;
    this.#report = report;
  }

  /** Checks that the event is the next one of the stream, chained to the last one, and no older. */
  follow(event: RecordedEvent): Link {
    const { stream, revision, id, type, position } = event;
    const data = event.stored ?? event.data;
    const { hash: found, ...metadata } = Object(event.metadata) as Link['metadata'];
    this.mustEqual('chain_revision', event, { revision: this.revision + 1 }, '');
    const link = Buffer.from(canonical({ stream, revision, id, type, data, metadata }));
    const previous = Buffer.from(this.lastHash ?? hash('sha256', stream), 'hex');
    const computed = hash('sha256', Buffer.concat([previous, link]));
    this.must('chain_hash', found === computed, event, 'metadata.hash', computed);
    this.must('chain_time', metadata.time >= this.time, event, 'metadata.time', `at or after ${this.time}`);
    this.revision = revision;
    this.position = position;
    this.lastHash = found;
    this.time = metadata.time;
    return event as Link;
  }

  /** Reports a divergence. @param field the field whose value is wrong */
  wrong(rule: Rule, event: RecordedEvent, field: string, expected: unknown): void {
    const { stream, revision } = event;
    this.#report({ rule, account_id: this.accountId, stream, revision, field, expected, found: valueAt(event, field) });
  }

  /** Reports the absence of something that an event requires. @param field the field of the event that requires it */
  missing(
    rule: Rule,
    { stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>,
    field: string,
    expected: unknown,
  ): void {
    this.#report({ rule, account_id: this.accountId, stream, revision, field, expected, found: 'none' });
  }

  /** Reports something that the rules cannot go on without, once for each stream and not at each of its events. */
  giveUp(rule: Rule, event: RecordedEvent, field: string, expected: unknown): void {
    if (!this.#givenUp?.has(rule)) this.wrong(rule, event, field, expected);
    (this.#givenUp ??= new Set()).add(rule);
  }

  /** Reports a divergence unless `isRight`. @returns `isRight` */
  must(rule: Rule, isRight: boolean, event: RecordedEvent, field: string, expected: unknown): boolean {
    if (!isRight) this.wrong(rule, event, field, expected);
    return isRight;
  }

  /**
   * Reports each field whose value differs from the expected one.
   *
   * @param within the part of the event that has the fields, with a dot behind it
   * @returns whether all are equal
   */
  mustEqual(rule: Rule, event: RecordedEvent, expected: object, within = 'data.'): boolean {
    const differing = differingFields(event, expected, within);
    for (const name of differing ?? [])
      this.wrong(rule, event, within + name, (expected as Record<string, unknown>)[name]);
    return differing === undefined;
  }
}

/** RFC 8785 for parsed JSON: members in the order of their names' UTF-16 units, numbers and texts as ECMAScript writes them. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = value as Record<string, unknown>;
  const names = Object.keys(members).sort();
  return `{${names.reduce((json, name) => `${json}${json && ','}${JSON.stringify(name)}:${canonical(members[name])}`, '')}}`;
}
