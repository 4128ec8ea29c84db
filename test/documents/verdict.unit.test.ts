import { describe, expect, it } from 'vitest';
import { verdictOf, type Verified } from '../../src/documents/verdict.ts';

/** What pages and commands say of the verification: nothing old or partial reads as verified. */

const now = '2026-11-25T10:00:00.000Z';
const fresh: Verified = {
  events: 120,
  position: '900',
  caught_up_position: '900',
  caught_up_at: '2026-11-25T09:59:50.000Z',
  unknown: 0,
  known: 0,
  written_at: '2026-11-25T09:59:57.000Z',
  silent_seconds: 3,
};
const said = (state: Partial<Verified> | undefined, shownUpTo?: bigint) =>
  verdictOf(state && { ...fresh, ...state }, { now, shownUpTo });

describe('the verdict', () => {
  it('is that all is verified, up to where and how long ago', () => {
    expect(said({}, 900n)).toEqual({
      verdict: 'verified',
      text: 'All of the log up to position 900 was verified at 2026-11-25 09:59 UTC, 10 s ago.',
    });
  });

  it('names acknowledged divergences, and newer events', () => {
    expect(said({ known: 2 }, 901n)).toEqual({
      verdict: 'verified',
      text: 'All of the log up to position 900 was verified at 2026-11-25 09:59 UTC, 10 s ago. Newer events are not verified yet. 2 divergences are acknowledged.',
    });
  });

  it('is that nothing was verified', () => {
    const { verdict, text } = said(undefined);
    expect([verdict, text]).toEqual(['none', 'Nothing was verified yet: no dispatcher has looked at the log.']);
  });

  it('is never "verified" before the first look has come to the end', () => {
    const partial = { caught_up_at: null, caught_up_position: null };
    expect(said({ ...partial, position: null, events: 0 })).toEqual({
      verdict: 'partial',
      text: 'Not all of the log was verified yet. It has come to no event.',
    });
    expect(said({ ...partial, position: '12', events: 9 }).text).toContain('position 12, after 9 events');
  });

  it('says that it has begun anew', () => {
    const { verdict, text } = said({ position: '12' }, 905n);
    expect(verdict).toBe('verified');
    expect(text).toMatch(/begun anew, and has come to position 12\. Newer events are not verified yet\.$/);
  });

  it.each([
    [
      'stopped',
      { silent_seconds: 61 },
      'The verification has stopped: it last said something 61 s ago. All of the log',
    ],
    ['stopped', { silent_seconds: 90_000, caught_up_at: '2026-11-24T09:00:00.000Z' }, 'something 25 h ago.'],
    [
      'behind',
      { caught_up_at: '2026-11-25T09:49:59.000Z' },
      'is behind. All of the log up to position 900 was verified at',
    ],
    ['behind', { caught_up_at: '2026-11-20T09:49:59.000Z' }, '5 days ago.'],
    ['diverges', { unknown: 1 }, '1 value does not follow from the log'],
    ['diverges', { unknown: 2, silent_seconds: 400 }, '2 values do not follow from the log'],
  ] as const)('is "%s" for %o', (verdict, state, text) => {
    expect(said(state)).toEqual({ verdict, text: expect.stringContaining(text) as string });
  });

  it('says that it has stopped also where values differ', () => {
    expect(said({ unknown: 2, silent_seconds: 400 }).text).toContain('has stopped: it last said something 6 min ago');
  });

  it('takes a clock that is behind for no age', () => {
    expect(said({ caught_up_at: '2026-11-25T10:00:09.000Z' }).text).toContain(', 0 s ago');
  });
});
