import { describe, expect, it } from 'vitest';
import { limitMinutesOf } from './options.ts';
import { PartTimes } from './part-times.ts';

const counts = { rounds: 4, seconds: 1, accounts: 10_000, jobs: 100_000, requests: 12_000, fileMebibytes: 8 };

describe('a part of the bench', () => {
  it('that does not end is told', async () => {
    const { promise: reason, resolve: overran } = Promise.withResolvers<string>();
    const times = new PartTimes(0.000_1, overran);
    void times.run('claims', () => new Promise<never>(() => undefined));
    expect(await reason).toBe('claims took longer than 0 minutes');
  });

  it('that ends, or fails, has its seconds', async () => {
    const times = new PartTimes(10, (reason) => expect.unreachable(reason));
    expect(await times.run('claims', async () => 4)).toBe(4);
    await expect(times.run('files', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(Object.keys(times.seconds()).toSorted()).toEqual(['claims', 'files']);
  });

  it('may take longer with more to do', () => {
    expect(limitMinutesOf(counts)).toBe(20);
    expect(limitMinutesOf({ ...counts, rounds: 1, accounts: 1_000 })).toBe(20);
    expect(limitMinutesOf({ ...counts, rounds: 8, jobs: 10_000_000 })).toBe(4_000);
  });
});
