import { expect, it } from 'vitest';
import { periodsOf, scriptOf, type Step, storyGraceSeconds, todayOf } from '../../../src/main/demo/script.ts';
import { story } from '../../../src/main/demo/story.ts';
import { videoOf } from '../../../src/main/demo/video-of.ts';

const dayMs = 86_400_000;
/** Two years, one of them a leap year. */
const days = Array.from({ length: 731 }, (_, day) => Date.parse('2027-06-01T00:00:00.000Z') + day * dayMs);

function countOf(steps: readonly Step[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const step of steps) {
    counts[step.what] = (counts[step.what] ?? 0) + 1;
    if (step.what !== 'ordinary requests') continue;
    counts['downloads'] = (counts['downloads'] ?? 0) + step.downloads.length;
    counts['lookups'] = (counts['lookups'] ?? 0) + step.lookups.length;
  }
  // A day with one download has no afternoon, so the appends differ.
  delete counts['ordinary requests'];
  return counts;
}

it.each(story)('$reference has the same counts whatever the day of its first start', (customer) => {
  const counts = days.map((todayMs) => countOf(scriptOf(customer, { todayMs, presentMs: todayMs + dayMs - 1 })));
  expect(new Set(counts.map((count) => JSON.stringify(Object.entries(count).sort()))).size).toBe(1);
});

it.each(story)('$reference closes two months, and has one that is running', (customer) => {
  for (const todayMs of days) {
    const [first, second, running] = periodsOf(customer, todayMs);
    expect([todayOf(customer, first.start), second.start, running.start]).toEqual([todayMs, first.end, second.end]);
    expect(Date.parse(second.end) + storyGraceSeconds * 1_000 + dayMs).toBeLessThan(todayMs);
    expect(Date.parse(running.end)).toBeGreaterThan(todayMs + dayMs);
  }
});

it.each(story)('$reference has use on its last day, and nothing after the present', (customer) => {
  for (const [index, todayMs] of days.entries()) {
    const presentMs = todayMs + ((index * 7_919_000) % dayMs);
    const steps = scriptOf(customer, { todayMs, presentMs });
    const times = steps.map(({ atMs }) => atMs);
    expect(times).toEqual([...times].sort((one, other) => one - other));
    expect(times.at(-1)).toBeLessThanOrEqual(presentMs);
    const today = steps.filter(({ atMs, what }) => atMs >= todayMs && what === 'ordinary requests');
    expect(today.length).toBeGreaterThan(0);
  }
});

it.each(story)('$reference asks for addresses as clients type them, of which each names one item', (customer) => {
  const extra = customer.months.flatMap(({ happenings }) => happenings);
  const wishes = [...customer.wishes, ...extra.flatMap((each) => (each.what === 'download' ? [each.wish] : []))];
  for (const wish of wishes) expect(videoOf(wish).canonicalUrl).toMatch(/^https:/);
});
