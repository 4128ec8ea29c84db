import { describe, expect, it } from 'vitest';
import { decideClosing, evolveClosing, initialClosing } from '../../src/domain/closing-grace.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { closed, ended, used, voidOf, waiverOf } from './usage-examples.ts';

const endedAt = '2026-12-01T00:00:05.000Z';

/** The period is used in November, ended at its time, and corrected half an hour later. */
function decide(events: UsageEvent[], now: string) {
  const end = events.findIndex(({ type }) => type === 'UsagePeriodEnded');
  const timeAt = (index: number) => {
    if (index === end) return endedAt;
    return end === -1 || index < end ? '2026-11-14T12:00:00.000Z' : '2026-12-01T00:30:00.000Z';
  };
  const state = events.reduce(
    (folded, event, index) => evolveClosing(folded, event, { time: timeAt(index) }),
    initialClosing,
  );
  return decideClosing(state, 3600, now);
}

describe('the books of a period', () => {
  const waived = waiverOf(2, 3, { cents: 25, overage_downloads: 1 });
  const afterGrace = '2026-12-01T01:00:05.000Z';

  it('are closed when the grace is over, with what it comes to', () => {
    expect(decide([...used, ended()], '2026-12-01T01:00:04.999Z')).toEqual({ refusal: 'grace_not_over' });
    expect(decide([...used, ended()], afterGrace)).toEqual([closed]);
  });

  it('say what is left after corrections', () => {
    const corrected = [...used, ended(), voidOf(1, 0), waived];
    expect(decide(corrected, afterGrace)).toEqual([
      {
        ...closed,
        data: { ...closed.data, downloads: 2, download_credits: 0, overage_downloads: 0, overage_cents: 0 },
      },
    ]);
  });

  it('are closed once, and not before the end', () => {
    expect(decide([], afterGrace)).toEqual({ refusal: 'period_open' });
    expect(decide(used, afterGrace)).toEqual({ refusal: 'period_open' });
    expect(decide([...used, ended(), closed], afterGrace)).toEqual([]);
  });
});
