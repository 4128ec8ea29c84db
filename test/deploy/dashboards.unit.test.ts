import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { dashboards } from '../../deploy/grafana/dashboards.ts';
import { root } from '../tidy/source-files.ts';
import { parsable, readExpression } from './promql.ts';

const directory = join(root, 'deploy/dashboards');
const fileOf = (uid: string) => `${uid.replace('reeltally-', '')}.json`;
/** Those of Grafana's units that are used here. */
const units = ['none', 's', 'd', 'bytes', 'Bps', 'percentunit', 'reqps', 'ops', 'cpm', 'currencyUSD'];

it('deploy/dashboards has the files that `npm run update:dashboards` writes, and no other', () => {
  expect(readdirSync(directory).sort()).toEqual(dashboards.map(({ uid }) => fileOf(uid)).sort());
  for (const dashboard of dashboards)
    expect(JSON.parse(readFileSync(join(directory, fileOf(dashboard.uid)), 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(dashboard)),
    );
});

it('Grafana finds their data source and their folder', () => {
  const read = (path: string) =>
    parse(readFileSync(join(root, 'deploy/grafana/provisioning', path), 'utf8')) as Record<string, unknown>;
  expect(read('datasources/prometheus.yaml')).toMatchObject({
    datasources: [{ uid: 'prometheus', type: 'prometheus' }],
  });
  const folder = '/var/lib/grafana/dashboards';
  expect(read('dashboards/reeltally.yaml')).toMatchObject({ providers: [{ type: 'file', options: { path: folder } }] });
  expect(existsSync(directory)).toBe(true);
});

describe.each(dashboards.map((dashboard) => [dashboard.uid, dashboard.panels] as const))('%s', (_, panels) => {
  it('has panels with a title of their own, a description and a unit', () => {
    const titles = panels.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
    for (const { title, description, fieldConfig } of panels) {
      expect(title).toMatch(/^[A-Z9].{2,45}$/);
      expect(description).toMatch(/^\S.{5,160}\.$/);
      expect(units, title).toContain(fieldConfig.defaults.unit);
    }
  });

  it('places them side by side, and none over another', () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });

  it.each(
    panels.flatMap(({ title, targets }) => targets.map(({ expr, legendFormat }) => ({ title, expr, legendFormat }))),
  )('$title: $expr is an expression of Prometheus, and the legend names its labels', ({ expr, legendFormat = '' }) => {
    const { errors, selected } = readExpression(parsable(expr));
    expect(errors).toEqual([]);
    const known = new Set(['instance', ...selected.flatMap(({ labels }) => [...labels])]);
    const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
    expect(named.filter((label) => !known.has(label))).toEqual([]);
  });
});
