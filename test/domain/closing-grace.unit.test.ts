import { describe, expect, it } from 'vitest';
import { decideClosing, evolveClosing, initialClosing } from '../../src/domain/closing-grace.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { closed, ended, used, voidOf, waiverOf } from './usage-examples.ts';

const endedAt = '2026-12-01T00:00:05.000Z';

function decide(events: UsageEvent[], now: string) {
  const state = events.reduce((folded, event) => evolveClosing(folded, event, { time: endedAt }), initialClosing);
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
    expect(decide(used, afterGrace)).toEqual({ refusal: 'period_open' });
    expect(decide([...used, ended(), closed], afterGrace)).toEqual([]);
  });
});
