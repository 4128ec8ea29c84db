import { describe, expect, it } from 'vitest';
import { PartsAway, retryAfterSeconds } from '../../src/http/retry-after.ts';

describe('Retry-After', () => {
  it('is half as long as a part has been away, from 1 to 30 seconds', () => {
    const aways = [0, 1, 2_000, 2_001, 10_000, 59_000, 60_000, 61_000, 86_400_000];
    expect(aways.map(retryAfterSeconds)).toEqual([1, 1, 1, 2, 5, 30, 30, 30, 30]);
  });

  it('grows for each part by itself, and begins anew once the part works or was not missed for long', () => {
    let nowMs = 0;
    const parts = new PartsAway(() => nowMs);
    expect(parts.missed('postgres')).toBe(1);
    nowMs = 20_000;
    expect([parts.missed('postgres'), parts.missed('event_store')]).toEqual([10, 1]);
    nowMs = 30_000;
    parts.works('postgres');
    expect([parts.missed('postgres'), parts.missed('event_store')]).toEqual([1, 5]);
    nowMs = 30_000 + 120_000;
    expect(parts.missed('event_store')).toBe(1);
  });
});
