import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Dashboard } from '../../deploy/grafana/panel.ts';
import { parsable } from './promql.ts';

/**
 * A dashboard as a page, from the series of a Prometheus. Grafana is not in the registries that tests may use, so this page
 * stands for it: the same panels in the same places with the same expressions, and plots of uPlot.
 */

interface Line {
  label: string;
  values: (number | null)[];
}

interface DrawnPanel {
  title: string;
  type: string;
  unit: string;
  place: { x: number; y: number; w: number; h: number };
  lines: Line[];
  rows: { labels: Record<string, string>; value: number }[];
}

interface Span {
  start: number;
  end: number;
  step: number;
}

type Matrix = { metric: Record<string, string>; values: [number, string][] }[];

async function query(url: string, expr: string, { start, end, step }: Span): Promise<Matrix> {
  const body = new URLSearchParams({ query: parsable(expr), ...{ start: `${start}`, end: `${end}`, step: `${step}` } });
  const response = await fetch(`${url}/api/v1/query_range`, { method: 'POST', body });
  const { status, error, data } = (await response.json()) as {
    status: string;
    error?: string;
    data: { result: Matrix };
  };
  if (status !== 'success') throw new Error(`${expr}: ${error ?? ''}`);
  return data.result;
}

/** @param span in seconds of Unix time */
async function drawPanel(url: string, panel: Dashboard['panels'][number], span: Span): Promise<DrawnPanel> {
  const { title, type, gridPos: place, fieldConfig, targets } = panel;
  const times = timesOf(span);
  const results = await Promise.all(
    targets.map(async ({ expr, legendFormat = '' }) => ({ legendFormat, result: await query(url, expr, span) })),
  );
  const lines = results.flatMap(({ legendFormat, result }) =>
    result.map(({ metric, values }) => {
      const at = new Map(values.map(([time, value]) => [Math.round(time), Number(value)]));
      const label = legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => metric[name] ?? '');
      return { label, values: times.map((time) => at.get(time) ?? null), metric };
    }),
  );
  const rows = lines.map(({ metric, values }) => ({ labels: metric, value: values.at(-1) ?? NaN }));
  return { title, type, unit: fieldConfig.defaults.unit, place, lines, rows };
}

const timesOf = ({ start, end, step }: Span): number[] =>
  Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, index) => start + index * step);

const require = createRequire(import.meta.url);
const uPlotDirectory = join(dirname(require.resolve('uplot')));
const style = `
  body { margin: 8px; background: #f4f5f5; font: 12px sans-serif }
  main { display: grid; grid-template-columns: repeat(24, 1fr); grid-auto-rows: 30px; gap: 6px }
  section { background: #fff; border: 1px solid #ddd; padding: 4px; overflow: hidden }
  h2 { margin: 0 0 2px; font-size: 12px } .stat { font-size: 34px; text-align: center }
  td, th { padding: 0 8px 0 0; text-align: left } .u-legend { font-size: 10px }`;

const colors = ['#3274d9', '#e02f44', '#299c46', '#ff9830', '#a352cc', '#008b8b', '#8b4513', '#708090', '#c71585'];

/** Of a page of 1500 pixels. */
const [columnPixels, rowPixels] = [61, 36];

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const shown = (value: number | null | undefined) =>
  value === null || value === undefined || Number.isNaN(value) ? 'no data' : String(Number(value.toPrecision(4)));

function contentOf({ type, lines, rows, place }: DrawnPanel, times: readonly number[]): string {
  if (lines.length === 0) return 'no data';
  if (type === 'stat') return `<div class="stat">${shown(lines[0]?.values.at(-1))}</div>`;
  if (type === 'table') {
    const cells = rows.map(({ labels, value }) => [...Object.values(labels), shown(value)]);
    return `<table>${cells.map((row) => `<tr>${row.map((cell) => `<td>${escaped(cell)}`).join('')}`).join('')}</table>`;
  }
  const series = lines.map(({ label }, index) => ({ label, stroke: colors[index % colors.length], width: 1 }));
  const size = { width: place.w * columnPixels - 12, height: place.h * rowPixels - 80 };
  const options = { ...size, series: [{}, ...series], legend: { live: false } };
  const given = JSON.stringify([options, [times, ...lines.map(({ values }) => values)]]);
  return `<div></div><script>plot(${given.replaceAll('<', '\\u003c')})</script>`;
}

/** @returns HTML that refers to nothing else */
export async function dashboardPage(url: string, dashboard: Dashboard, span: Span): Promise<string> {
  const panels = await Promise.all(dashboard.panels.map((panel) => drawPanel(url, panel, span)));
  const times = timesOf(span);
  const [css, js] = ['uPlot.min.css', 'uPlot.iife.min.js'].map((name) =>
    readFileSync(join(uPlotDirectory, name), 'utf8'),
  );
  const sections = panels.map((panel) => {
    const { x, y, w, h } = panel.place;
    const area = `${y + 1} / ${x + 1} / span ${h} / span ${w}`;
    const content = contentOf(panel, times);
    return `<section style="grid-area: ${area}"><h2>${escaped(panel.title)} (${panel.unit})</h2>${content}</section>`;
  });
  const fromZero = '{ y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.05 : 1] } }';
  return `<!doctype html><meta charset="utf-8"><style>${css ?? ''}${style}</style>
<script>${js ?? ''}
const plot = ([options, data]) => new uPlot({ ...options, scales: ${fromZero} }, data, document.currentScript.previousSibling);
</script><h1>${dashboard.uid}</h1><main>${sections.join('')}</main>`;
}
