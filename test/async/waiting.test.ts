import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../src/async/backoff.ts';
import { unlessAborted, withDeadline } from '../../src/async/deadline.ts';
import { sleep } from '../../src/async/sleep.ts';
import { until } from '../../src/async/until.ts';

const never = () => new Promise<never>(() => undefined);
const fails = () => Promise.reject(new Error('no'));

describe('sleep', () => {
  it('resolves at once when it is aborted, before or meanwhile', async () => {
    await sleep(60_000, AbortSignal.abort());
    const aborting = new AbortController();
    const sleeping = sleep(60_000, aborting.signal);
    aborting.abort();
    await sleeping;
  });
});

describe('until', () => {
  it('polls a condition until it holds', async () => {
    let polls = 0;
    expect(await until(() => (polls += 1) === 3, { limitMs: 60_000, pollMs: 1 })).toBe(true);
    expect(polls).toBe(3);
  });

  it('polls once when there is no time', async () => {
    expect(await until(() => Promise.resolve(true), { limitMs: 0 })).toBe(true);
    expect(await until(() => false, { limitMs: 0 })).toBe(false);
  });

  it('passes on an error of the condition', async () => {
    await expect(until(fails, { limitMs: 60_000 })).rejects.toThrow('no');
  });
});

describe('a backoff', () => {
  const limits = { firstMs: 100, longestMs: 1_000 };

  it('doubles with each failure, up to a limit', () => {
    const delays = [1, 2, 3, 4, 5, 1_000_000].map((failures) => backoffMs(failures, limits));
    expect(delays).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it('lies between half of that and all of it with jitter', () => {
    expect(backoffMs(2, { ...limits, random: () => 0 })).toBe(100);
    expect(backoffMs(2, { ...limits, random: () => 1 })).toBe(200);
  });
});

describe('a deadline', () => {
  it('gives what comes in time, its failure too', async () => {
    expect(await withDeadline(Promise.resolve(1), 60_000, () => 2)).toBe(1);
    await expect(withDeadline(fails(), 60_000, () => 2)).rejects.toThrow('no');
  });

  it('gives what stands for being late, or throws it', async () => {
    expect(await withDeadline(never(), 1, () => 2)).toBe(2);
    const tooLate = () => {
      throw new Error('too late');
    };
    await expect(withDeadline(never(), 1, tooLate)).rejects.toThrow('too late');
  });

  it('may lie further away than a timer can', async () => {
    expect(
      await withDeadline(
        sleep(20).then(() => 1),
        Infinity,
        () => 2,
      ),
    ).toBe(1);
  });
});

describe('waiting unless aborted', () => {
  it('ends with the signal, before or meanwhile', async () => {
    expect(await unlessAborted(never(), AbortSignal.abort(), () => 2)).toBe(2);
    const aborting = new AbortController();
    const waiting = unlessAborted(never(), aborting.signal, () => 2);
    aborting.abort();
    expect(await waiting).toBe(2);
  });

  it('gives what comes before', async () => {
    expect(await unlessAborted(Promise.resolve(1), new AbortController().signal, () => 2)).toBe(1);
  });
});
