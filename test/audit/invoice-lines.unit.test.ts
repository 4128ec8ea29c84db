import { expect, it } from 'vitest';
import { centsTaken } from '../../src/audit/rules/cents-taken.ts';
import type { Link } from '../../src/audit/rules/event-schemas.ts';
import { feeLine, rangesOf } from '../../src/audit/rules/invoice-lines.ts';

it.each<[string, number[], number, number[][]]>([
  ['nothing', [], 3, []],
  ['one', [2], 3, [[2, 2, 1]]],
  ['two', [2, 5], 3, [[2, 5, 3]]],
  [
    'steps of two, and one more',
    [1, 3, 5, 8],
    3,
    [
      [1, 5, 2],
      [8, 8, 1],
    ],
  ],
  [
    'a step that begins anew',
    [1, 2, 4, 6],
    3,
    [
      [1, 2, 1],
      [4, 6, 2],
    ],
  ],
  [
    'as many as a line may have',
    [1, 2, 4, 8],
    2,
    [
      [1, 2, 1],
      [4, 8, 4],
    ],
  ],
  ['more than a line may have', [1, 2, 4, 8, 9], 1, [[1, 9, 1]]],
])('an invoice line names revisions by ranges: %s', (_, revisions, most, ranges) => {
  expect(rangesOf(revisions, most)).toEqual(ranges);
});

it('a fee comes from the event that opens or announces its period', () => {
  const event = { stream: 'usage-1', revision: 3, id: 'an id', metadata: { hash: 'a hash' } } as Link;
  const period = { terms: { plan: 'dev_100', fee_cents: 1_900 }, period_start: 'start', period_end: 'end' };
  expect(feeLine(event, period as never)).toEqual({
    kind: 'fee',
    plan: 'dev_100',
    period_start: 'start',
    period_end: 'end',
    cents: 1_900,
    event: { stream: 'usage-1', revision: 3, id: 'an id', hash: 'a hash' },
  });
});

it.each<[string, object, number | undefined]>([
  ['DownloadCreditDebited', { token: 'a' }, 0],
  ['MetadataCreditDebited', { lookup_id: 'a' }, 0],
  ['OverageCharged', { token: 'a', cents: 25 }, 25],
  ['DownloadVoided', { charge_event_id: 'a', cents: 25 }, -25],
  ['MetadataCreditVoided', { charge_event_id: 'a' }, 0],
  ['ChargeWaived', { charge_event_id: 'a', cents: 10 }, -10],
  ['DownloadCreditReturned', { charge_event_id: 'a' }, 0],
  ['OverageCapReached', { cents: 25 }, undefined],
])('%s takes %j: %j', (type, data, cents) => {
  expect(centsTaken({ type, data } as unknown as Link)).toBe(cents);
});
