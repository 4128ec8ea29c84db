import type { Weight } from './answers.ts';

/** What the page and all that it has loaded weigh as they are transferred, whether or not the browser had some of it already. */
export function weight(): Weight {
  const loaded = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  const sizes = loaded.map((entry) => (entry as PerformanceResourceTiming).encodedBodySize);
  const [paint] = performance.getEntriesByName('first-contentful-paint');
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), firstPaintMs: paint?.startTime ?? 0 };
}
