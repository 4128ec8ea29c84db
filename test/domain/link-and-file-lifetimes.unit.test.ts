import { describe, expect, it } from 'vitest';
import { isGivenOut, isOver, linkSeconds } from '../../src/domain/link-and-file-lifetimes.ts';

const finishedAt = '2026-11-14T10:00:00.000Z';
const day = 86_400;

describe('a finished file', () => {
  it('is given out until it expires', () => {
    expect(isGivenOut({ finishedAt, expiredAt: null }, day, '2026-11-15T10:00:00.000Z')).toBe(true);
    const expiredAt = '2026-11-15T10:00:03.000Z';
    expect(isGivenOut({ finishedAt, expiredAt }, day, '2026-11-15T10:00:03.000Z')).toBe(false);
  });

  it('is no longer given out ten minutes after its time, also where the expiry is late', () => {
    expect(isGivenOut({ finishedAt, expiredAt: null }, day, '2026-11-15T10:09:59.999Z')).toBe(true);
    expect(isGivenOut({ finishedAt, expiredAt: null }, day, '2026-11-15T10:10:00.000Z')).toBe(false);
  });
});

describe('the bytes of a finished file', () => {
  it('stay as long as the file has not expired, however old it is', () => {
    expect(isOver({ finishedAt, expiredAt: null }, day, '2027-11-15T10:00:00.000Z')).toBe(false);
  });

  it('may go a link’s life after the last instant at which one may have been given out', () => {
    expect(linkSeconds).toBe(3_600);
    const inTime = { finishedAt, expiredAt: '2026-11-15T10:00:03.000Z' };
    expect(isOver(inTime, day, '2026-11-15T11:09:59.999Z')).toBe(false);
    expect(isOver(inTime, day, '2026-11-15T11:10:00.000Z')).toBe(true);
    const late = { finishedAt, expiredAt: '2026-11-18T10:00:00.000Z' };
    expect(isOver(late, day, '2026-11-18T10:59:59.999Z')).toBe(false);
    expect(isOver(late, day, '2026-11-18T11:00:00.000Z')).toBe(true);
  });
});
