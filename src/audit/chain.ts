import { hash } from 'node:crypto';
import type { RecordedEvent } from '../commands/ports.ts';
import { forms, isUuid, metadataForm, wrongField } from './forms.ts';

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

type Split<Names extends string> = Names extends `${infer First} ${infer Rest}` ? First | Split<Rest> : Names;
type Texts =
  Split<'account_id token lookup_id charge_event_id warning_event_id reference pool period_start period_end rate_version key_id effective worker_id usage_stream reason covers not_before plan url format quality platform video_id file_name file_mime'>;
type Numbers =
  Split<'ordinal cents rate_cents credits overage_downloads threshold_percent overage_cap_cents fee_difference_cents attempt usage_revision claim_revision number invoice_number line total_cents anchor_day file_size_bytes'>;

/** What a period is billed by. */
export type Terms = Record<Split<'plan rate_version'>, string> &
  Record<Split<'downloads_limit metadata_limit fee_cents hourly_limit'>, number> &
  Record<'overage_cents' | 'overage_cap_cents', number | null> & { warning_percents: readonly number[] };

/** The fields of events, all types together: which of them an event has is checked before anything is read from it. */
type Fields = Record<Texts, string> &
  Record<Numbers, number> & {
    terms: Terms;
    overage: boolean;
    idempotency: Record<'key_hash' | 'fingerprint', string> | null;
    lines: unknown;
    next: { period_start: string; period_end: string; terms: Terms };
    previous_period_start: string | null;
  };

interface Metadata extends Pick<Link, 'time' | 'hash' | 'actor'> {
  $correlationId: string;
  $causationId: string;
}

/** An event whose form is right, at its place in its stream's chain. */
export interface Link extends Pick<RecordedEvent, 'stream' | 'revision' | 'id' | 'type' | 'position'> {
  data: Fields;
  time: string;
  hash: string;
  request: string;
  cause: string;
  actor: { type: string; id: string };
}

/** The end of a stream, as far as it was followed. */
export class Chain {
  readonly stream: string;
  revision = -1;
  hash: string;
  time = '';

  constructor(stream: string) {
    this.stream = stream;
    this.hash = hash('sha256', stream);
  }

  /** @throws {Divergence} unless the event is the next one, in the right form, no older than the last, and chained to it */
  follow(recorded: RecordedEvent): Link {
    const { stream, revision, id, type, data, position } = recorded;
    const require = (isRight: boolean, field: string, expected: unknown, found: unknown) => {
      if (!isRight) throw new Divergence(recorded, field, expected, found);
    };
    require(stream === this.stream && revision === this.revision + 1, 'revision', this.revision + 1, revision);
    require(isUuid(id), 'id', 'a UUID', id);
    const form = forms[stream.slice(0, stream.indexOf('-'))]?.[type];
    require(form !== undefined, 'type', 'one that this kind of stream has', type);
    const wrong = wrongField(recorded.metadata, metadataForm);
    require(wrong === undefined, `metadata.${wrong ?? ''}`, 'in its form', recorded.metadata);
    const { hash: found, ...metadata } = recorded.metadata as Metadata;
    const json = canonical({ stream, revision, id, type, data, metadata });
    const expected = hash('sha256', Buffer.concat([Buffer.from(this.hash, 'hex'), Buffer.from(json)]));
    require(found === expected, 'metadata.hash', expected, found);
    const wrongData = form && wrongField(data, form);
    require(wrongData === undefined, `data.${wrongData ?? ''}`, 'in its form', data);
    require(metadata.time >= this.time, 'metadata.time', `at or after ${this.time}`, metadata.time);
    Object.assign(this, { revision, hash: found, time: metadata.time });
    const { $correlationId: request, $causationId: cause, actor } = metadata;
    return {
      stream,
      revision,
      id,
      type,
      position,
      data: data as Fields,
      time: metadata.time,
      hash: found,
      request,
      cause,
      actor,
    };
  }
}

/** RFC 8785 for what was JSON: members in the order of their names' UTF-16 units, numbers and texts as ECMAScript writes them. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = value as Record<string, unknown>;
  let json = '';
  for (const name of Object.keys(members).sort())
    json += `${json && ','}${JSON.stringify(name)}:${canonical(members[name])}`;
  return `{${json}}`;
}

/** @throws {Divergence} at the first of these fields that is another one */
export function must(event: Link, expected: object, found: object = event.data, within = 'data.'): void {
  for (const [name, value] of Object.entries(expected)) {
    const actual = (found as Record<string, unknown>)[name];
    if (value !== actual && canonical(value) !== canonical(actual)) {
      throw new Divergence(event, `${within}${name}`, value, actual);
    }
  }
}
