import { sum } from './sum.ts';
import { waitFor } from './wait-for.ts';

/** What a process tells Prometheus, read from the text that it sends. */
export interface ScrapedMetric {
  name: string;
  type: string;
  samples: { labels: Readonly<Record<string, string>>; value: number }[];
}

/** @param url of a process, without a path */
export async function scrape(url: string): Promise<{ response: Response; text: string; metrics: ScrapedMetric[] }> {
  const response = await fetch(`${url}/metrics`);
  const text = await response.text();
  return { response, text, metrics: readMetrics(text) };
}

/** A scrape with all gauges of a process: on a busy machine some groups of them have no answer in time, and are left out. */
export async function scrapeWhole(url: string): ReturnType<typeof scrape> {
  const leftOut = ({ metrics }: Awaited<ReturnType<typeof scrape>>) =>
    valueOf(metrics, 'reeltally_scrape_failures_total');
  let scraped = await scrape(url);
  const isWhole = async () => {
    const before = scraped;
    scraped = await scrape(url);
    return leftOut(scraped) !== undefined && leftOut(scraped) === leftOut(before);
  };
  await waitFor(isWhole, { what: 'a scrape with all gauges' });
  return scraped;
}

/** Prometheus' text format 0.0.4. Of histograms the counts alone are kept, which have the same labels as the rest but `le`. */
function readMetrics(text: string): ScrapedMetric[] {
  const metrics = new Map<string, ScrapedMetric>();
  for (const line of text.split('\n')) {
    const [, declared, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (declared !== undefined && type !== undefined) metrics.set(declared, { name: declared, type, samples: [] });
    const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const metric = metrics.get(name) ?? metrics.get(name.replace(/_count$/, ''));
    if (!metric) continue;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    metric.samples.push({
      labels: Object.fromEntries(pairs.map(([, label = '', of = '']) => [label, of])),
      value: Number(value),
    });
  }
  return [...metrics.values()];
}

/** The sum of a metric's samples that have these labels; undefined where there is none. */
export function valueOf(
  metrics: readonly ScrapedMetric[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const samples = metrics.find((metric) => metric.name === name)?.samples ?? [];
  const fitting = samples.filter((sample) =>
    Object.entries(labels).every(([label, of]) => sample.labels[label] === of),
  );
  return fitting.length === 0 ? undefined : sum(fitting.map(({ value }) => value));
}

/** The same of what a process says now. */
export const readMetric = async (
  url: string,
  name: string,
  labels?: Readonly<Record<string, string>>,
): Promise<number | undefined> => valueOf((await scrape(url)).metrics, name, labels);
