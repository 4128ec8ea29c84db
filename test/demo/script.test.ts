import { expect, it } from 'vitest';
import { lastDayOf, periodsOf, scriptOf, type Step, storyGraceSeconds } from '../../src/demo/script.ts';
import { story, videoOf } from '../../src/demo/story.ts';

const dayMs = 86_400_000;
/** Two years, one of them a leap year. */
const days = Array.from({ length: 731 }, (_, day) => Date.parse('2027-06-01T00:00:00.000Z') + day * dayMs);

function countOf(steps: readonly Step[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const step of steps) {
    counts[step.what] = (counts[step.what] ?? 0) + 1;
    if (step.what !== 'requests') continue;
    counts['downloads'] = (counts['downloads'] ?? 0) + step.downloads.length;
    counts['lookups'] = (counts['lookups'] ?? 0) + step.lookups.length;
  }
  return counts;
}

it.each(story)('$reference has the same counts whatever the day of its first start', (customer) => {
  const counts = days.map((lastDayMs) => countOf(scriptOf(customer, lastDayMs)));
  expect(new Set(counts.map((count) => JSON.stringify(Object.entries(count).sort()))).size).toBe(1);
});

it.each(story)('$reference closes a month, and has one that is running', (customer) => {
  for (const lastDayMs of days) {
    const [closed, running] = periodsOf(customer, lastDayMs);
    expect([lastDayOf(customer, closed.start), running.start]).toEqual([lastDayMs, closed.end]);
    expect(Date.parse(closed.end) + storyGraceSeconds * 1_000 + dayMs).toBeLessThan(lastDayMs);
    expect(Date.parse(running.end)).toBeGreaterThan(lastDayMs + 2 * dayMs);
  }
});

/** A job with three attempts, the return of its charge and a mail are over by then. */
const longestStepMs = 5 * 60_000;

it.each(story)('$reference has use on its last day, and nothing after the present', (customer) => {
  for (const lastDayMs of days) {
    const steps = scriptOf(customer, lastDayMs);
    // An interrupted story goes on by the time of its newest event.
    for (const [index, { atMs }] of steps.slice(1).entries())
      expect(atMs - (steps[index]?.atMs ?? 0)).toBeGreaterThan(longestStepMs);
    expect((steps.at(-1)?.atMs ?? 0) + longestStepMs).toBeLessThan(lastDayMs + dayMs);
    expect(steps.some(({ atMs, what }) => atMs >= lastDayMs && what === 'requests')).toBe(true);
  }
});

it.each(story)('$reference asks for addresses as clients type them, of which each names one item', (customer) => {
  const extra = customer.months.flatMap(({ happenings }) => happenings);
  const wishes = [...customer.wishes, ...extra.flatMap((each) => (each.what === 'download' ? [each.wish] : []))];
  for (const wish of wishes) expect(videoOf(wish).canonicalUrl).toMatch(/^https:/);
});
