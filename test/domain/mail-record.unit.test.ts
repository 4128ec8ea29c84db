import { describe, expect, it } from 'vitest';
import { decideMailRecord, evolveMailRecord, newMailRecord } from '../../src/domain/mail-record.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { closed, ended, idOf, used, voidOf, warned } from './usage-examples.ts';

const mail = { eventIds: [idOf(6)], messageId: '<a@example.com>' };

/** @param first revision of the period at which the fold begins */
function decide(events: UsageEvent[], first = 0) {
  const record = newMailRecord();
  for (const [revision, event] of events.entries())
    if (revision >= first)
      evolveMailRecord(record, event, { revision, id: idOf(revision), time: '2026-11-14T12:00:00.000Z' });
  return decideMailRecord(record, mail);
}

describe('a warning', () => {
  const reached = [...used, warned('downloads', 80, 2, 2)];
  const mailed: UsageEvent = {
    type: 'UsageWarningMailed',
    data: { warning_event_id: idOf(6), pool: 'downloads', threshold_percent: 80, message_id: '<a@example.com>' },
  };

  it('is recorded as mailed once, even when its period is closed by then', () => {
    expect(decide(reached)).toEqual([mailed]);
    expect(decide([...reached, mailed])).toEqual([]);
    expect(decide([...reached, ended(), closed])).toEqual([mailed]);
  });

  it('is decided on from the warning on as on the whole period', () => {
    for (const later of [[], [mailed], [ended()], [ended(), closed], [voidOf(1, 0)], [mailed, ended(), closed]])
      expect(decide([...reached, ...later], 6)).toEqual(decide([...reached, ...later]));
    expect(decide(reached, 6)).toEqual([mailed]);
  });

  it('is not found where the fold begins too late', () => {
    expect(decide(reached, 7)).toEqual({ refusal: 'charge_not_found' });
  });
});
