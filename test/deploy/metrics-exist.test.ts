import { beforeAll, expect, it } from 'vitest';
import { dashboards } from '../../deploy/grafana/dashboards.ts';
import { failureReasonNames } from '../../src/domain/failure-reasons.ts';
import { demoOf, shareService } from '../http/shared-service.ts';
import { call } from '../support/client.ts';
import { ended, queue } from '../support/downloads.ts';
import { scrapeWhole } from '../support/scraped-metrics.ts';
import { parsable, readExpression, type Selected } from './promql.ts';
import { alerts, recordings } from './rules.ts';

/** Prometheus' own: https://prometheus.io/docs/concepts/jobs_instances/ */
const ofPrometheus = ['up'];
const targetLabels = ['job', 'instance', 'role'];

/** Values of labels that appear once they occur. */
const occurring: Readonly<Record<string, readonly string[]>> = {
  'reeltally_attempts_ended_total reason': failureReasonNames,
  'reeltally_requests_total status': ['cut'],
};

interface Series {
  /** By the name that an expression uses: `_bucket`, `_count` and `_sum` of a histogram are series of their own. */
  name: string;
  labels: Record<string, string>;
}

const service = shareService();
let series: Series[];

beforeAll(async () => {
  const { key } = demoOf(service);
  const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('bars'), quality: '360' });
  await ended(service.url, key, token);
  await call(service.url, `/video/metadata?url=${encodeURIComponent(service.sampleUrl('bars'))}`, { key });
  const { text } = await scrapeWhole(service.url);
  series = text.split('\n').flatMap((line) => {
    const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    return name === undefined
      ? []
      : { name, labels: Object.fromEntries(pairs.map(([, label = '', of = '']) => [label, of])) };
  });
});

/** What a running service does not have of it. */
function missingOf({ metric, labels, matchers }: Selected): string[] {
  if (ofPrometheus.includes(metric) || recordings.some(({ record }) => record === metric)) return [];
  const found = series.filter(({ name }) => name === metric);
  if (found.length === 0) return [`there is no ${metric}`];
  const names = new Set([...targetLabels, ...found.flatMap((one) => Object.keys(one.labels))]);
  const unknown = [...labels].filter((label) => !names.has(label)).map((label) => `${metric} has no label ${label}`);
  const missing = matchers
    .filter(({ label }) => !targetLabels.includes(label))
    .flatMap(({ label, isPattern, value }) => {
      const values = [...found.flatMap((one) => one.labels[label] ?? []), ...(occurring[`${metric} ${label}`] ?? [])];
      const wanted = isPattern ? value.split('|').map((part) => new RegExp(`^(?:${part})$`)) : [value];
      const isThere = (want: string | RegExp) =>
        values.some((known) => (typeof want === 'string' ? known === want : want.test(known)));
      return wanted.filter((want) => !isThere(want)).map((want) => `${metric} has no ${label} ${String(want)}`);
    });
  return [...unknown, ...missing];
}

const ruled = [...alerts, ...recordings].map((rule) => ({ by: 'alert' in rule ? rule.alert : rule.record, ...rule }));
const drawn = dashboards.flatMap(({ uid, panels }) =>
  panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ by: `${uid}, ${title}`, expr }))),
);

it.each([...ruled, ...drawn])('a running service has each metric, label and value of $by', ({ expr }) => {
  expect(readExpression(parsable(expr)).selected.flatMap(missingOf)).toEqual([]);
});
