import { expect, it } from 'vitest';
import { repetitionAfter } from '../../src/dispatcher/sweep-lost-jobs.ts';
import { dispatchingUnderTest, queueOne, rowOf, takeMessages } from './dispatching.ts';
import { sweep, sweepOnce } from './sweeping.ts';

const parts = dispatchingUnderTest();

it('a queued job that nobody claims is published again after 30 s, once, and once more after a minute', async () => {
  const message = await queueOne(parts);
  await rowOf(parts, message, () => true);
  sweep(parts, { now: '2026-11-14T12:00:30.000Z' });
  sweep(parts, { now: '2026-11-14T12:00:31.000Z' });
  expect(await takeMessages(parts, 1)).toEqual([message]);
  await sweepOnce(parts, { now: '2026-11-14T12:00:29.999Z' });
  await sweepOnce(parts, { now: '2026-11-14T12:00:59.999Z' });
  expect(await takeMessages(parts, 0)).toEqual([]);
  await sweepOnce(parts, { now: '2026-11-14T12:01:00.000Z' });
  expect(await takeMessages(parts, 1)).toEqual([message]);
});

it.each([
  [30, 1],
  [59.9, 1],
  [60, 2],
  [119.9, 2],
  [120, 3],
  [240, 4],
  [480, 5],
  [960, 6],
  [1_920, 7],
  [3_599, 7],
  [3_600, 8],
  [7_199, 8],
  [7_200, 9],
  [86_400, 31],
])('after %d s a waiting job is published for the time number %i', (waitedSeconds, repetition) => {
  expect(repetitionAfter(waitedSeconds)).toBe(repetition);
});
