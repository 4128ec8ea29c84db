import { describe, expect, it } from 'vitest';
import { parseAccountEvent, parseJobEvent, parseUsageEvent } from '../../src/domain/parse-event.ts';
import {
  capReached,
  capSet,
  charge,
  credit,
  ended,
  lookedUp,
  lookupId,
  opened,
  planChanged,
  queued,
  voidOf,
  warned,
} from './usage-examples.ts';

const metadata = {
  $correlationId: 'req-1',
  $causationId: 'cmd-1',
  schema: 1,
  actor: { type: 'api_key', id: 'key_aaaaaaaaaaaaaaaa' },
  time: '2026-11-14T10:00:00.000Z',
  hash: 'c'.repeat(64),
};

const place = { stream: 'usage-acc_aaaaaaaaaaaaaaaa-20261101', revision: 4, id: 'an id', position: 99n };

const recorded = (type: string, data: unknown, changed: Record<string, unknown> = {}) => ({
  ...place,
  type,
  data,
  metadata: { ...metadata, ...changed },
});

describe('a stored event', () => {
  it('may have text that is no longer taken from people, and is read as it stands', () => {
    const [label, email, name] = ['a\u202egnp.exe', 'a\u200f@b', '\u2066Ada\u2069'];
    const [account_id, key_id] = ['acc_aaaaaaaaaaaaaaaa', 'key_aaaaaaaaaaaaaaaa'];
    const key = { account_id, key_id, key_hash: 'c'.repeat(64), key_prefix: 'rtk_1234', personal: { label } };
    const details = { name, address_lines: [name], country: null, tax_id: null };
    for (const [type, data] of [
      ['ApiKeyIssued', key],
      ['PersonInvited', { account_id, person_id: 'per_aaaaaaaaaaaaaaaa', personal: { email } }],
      ['BillingDetailsChanged', { account_id, personal: details }],
    ] as const)
      expect(parseAccountEvent(recorded(type, data)).event).toEqual({ type, data });
  });

  it.each([
    opened(),
    planChanged({}),
    capSet(0),
    credit(1),
    charge(3),
    queued(3, true),
    lookedUp(1, lookupId),
    voidOf(3, 25),
    warned('metadata', 80, 4, 5),
    capReached(25, 30),
    ended(),
  ])('of type $type comes back as it was stored', ({ type, data }) => {
    const stored: unknown = JSON.parse(JSON.stringify(data));
    expect(parseUsageEvent(recorded(type, stored))).toEqual({ ...place, event: { type, data }, metadata });
  });

  it('may name the span that it comes from, in the form of W3C Trace Context', () => {
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    const { type, data } = credit(1);
    expect(parseUsageEvent(recorded(type, data, { $traceparent: traceparent })).metadata).toEqual({
      ...metadata,
      $traceparent: traceparent,
    });
    for (const other of ['', `${traceparent}-more`, traceparent.toUpperCase().replace('00', 'FF')])
      expect(() => parseUsageEvent(recorded(type, data, { $traceparent: other }))).toThrow('$traceparent');
  });

  it('of a type that this version does not know stops whoever reads it, and is named', () => {
    expect(() => parseUsageEvent(recorded('DownloadTeleported', {}))).toThrow(
      /event 4 of usage-acc_aaaaaaaaaaaaaaaa-20261101 \(DownloadTeleported\) cannot be read/,
    );
    expect(() => parseUsageEvent(recorded('toString', {}))).toThrow('no event of this kind');
    // Each kind of stream has its own events.
    expect(() => parseUsageEvent(recorded('ApiKeyRevoked', {}))).toThrow('no event of this kind');
    expect(() => parseAccountEvent(recorded('OverageCharged', charge(1).data))).toThrow('no event of this kind');
    expect(() => parseJobEvent(recorded('OverageCharged', charge(1).data))).toThrow('no event of this kind');
  });

  it.each<[string, Record<string, unknown>]>([
    ['surprise', { surprise: 1 }],
    ['cents', { cents: 0.25 }],
    ['cents', { cents: '25' }],
    ['cents', { cents: -25 }],
    ['cents', { cents: undefined }],
    ['ordinal', { ordinal: 0 }],
    ['token', { token: 'short' }],
    ['token', { token: 'no/slashes/in/a/token' }],
    ['rate_version', { rate_version: '' }],
  ])('is refused for its field %s in %j', (field, changed) => {
    const data = { ...charge(3).data, ...changed };
    expect(() => parseUsageEvent(recorded('OverageCharged', data))).toThrow(field);
  });

  it.each(['2026-11-01', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00.000+01:00', '2026-02-30T00:00:00.000Z'])(
    'is refused for an instant written as %s',
    (instant) => {
      const data = { ...opened().data, period_start: instant };
      expect(() => parseUsageEvent(recorded('UsagePeriodOpened', data))).toThrow('period_start');
    },
  );

  it.each<[string, Record<string, unknown>]>([
    ['$correlationId', { $correlationId: undefined }],
    ['$causationId', { $causationId: '' }],
    ['schema', { schema: 0 }],
    ['actor', { actor: undefined }],
    ['actor', { actor: { type: 'somebody', id: 'x' } }],
    ['actor', { actor: { type: 'staff', id: 'x', role: 'support' } }],
    ['time', { time: 'yesterday' }],
    ['hash', { hash: 'C'.repeat(64) }],
    ['extra', { extra: true }],
  ])('is refused for its metadata, %s in %j', (field, changed) => {
    expect(() => parseUsageEvent(recorded('OverageCharged', charge(3).data, changed))).toThrow(field);
  });

  it.each([null, undefined, 'text', []])('is refused for data or metadata that is %j', (nothing) => {
    expect(() => parseUsageEvent(recorded('OverageCharged', nothing))).toThrow('cannot be read');
    const bare = { ...recorded('OverageCharged', charge(3).data), metadata: nothing };
    expect(() => parseUsageEvent(bare)).toThrow('cannot be read');
  });
});
