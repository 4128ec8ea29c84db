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
  const body = new URLSearchParams({ query: parsable(expr), start: `${start}`, end: `${end}`, step: `${step}` });
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
  // A table shows what there is now.
  const rows = lines.flatMap(({ metric: labels, values }) => {
    const value = values.at(-1);
    return typeof value === 'number' ? { labels, value } : [];
  });
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
/** As Grafana writes a number of one of its units. Its text runs in the page too. */
function withUnit(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || Number.isNaN(value)) return 'no data';
  const short = (number: number) => String(Number(number.toPrecision(3)));
  if (unit === 'percentunit') return `${short(value * 100)} %`;
  if (unit === 'currencyUSD') return `$${value.toFixed(2)}`;
  if (unit === 'bytes' || unit === 'Bps') {
    const power = Math.min(4, Math.floor(Math.log(Math.max(1, value)) / Math.log(1024)));
    const of = ['B', 'KiB', 'MiB', 'GiB', 'TiB'][power] ?? '';
    return `${short(value / 1024 ** power)} ${of}${unit === 'Bps' ? '/s' : ''}`;
  }
  const suffixes: Record<string, string> = { s: ' s', d: ' d', cpm: ' /min', reqps: ' /s', ops: ' /s' };
  return short(value) + (suffixes[unit] ?? '');
}

function contentOf({ type, unit, lines, rows, place }: DrawnPanel, times: readonly number[]): string {
  if (lines.length === 0) return 'no data';
  if (type === 'stat') return `<div class="stat">${withUnit(lines[0]?.values.at(-1), unit)}</div>`;
  if (type === 'table') {
    const cells = rows.map(({ labels, value }) => [...Object.values(labels), withUnit(value, unit)]);
    return `<table>${cells.map((row) => `<tr>${row.map((cell) => `<td>${escaped(cell)}`).join('')}`).join('')}</table>`;
  }
  const series = lines.map(({ label }, index) => ({ label, stroke: colors[index % colors.length], width: 1 }));
  const size = { width: place.w * columnPixels - 12, height: place.h * rowPixels - 80 };
  const options = { ...size, series: [{}, ...series], legend: { live: false } };
  const given = JSON.stringify([options, [times, ...lines.map(({ values }) => values)], unit]);
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
    return `<section style="grid-area: ${area}"><h2>${escaped(panel.title)}</h2>${content}</section>`;
  });
  const fromZero = '{ y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.05 : 1] } }';
  return `<!doctype html><meta charset="utf-8"><style>${css ?? ''}${style}</style>
<script>${js ?? ''}
${withUnit.toString()}
const axes = (unit) => [
  { values: (_, times) => times.map((time) => new Date(time * 1000).toISOString().slice(11, 16)) },
  { size: 75, values: (_, values) => values.map((value) => withUnit(value, unit)) },
];
const plot = ([options, data, unit]) =>
  new uPlot({ ...options, axes: axes(unit), scales: ${fromZero} }, data, document.currentScript.previousSibling);
</script><h1>${dashboard.uid}</h1><main>${sections.join('')}</main>`;
}
