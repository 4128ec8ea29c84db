/** Grafana's JSON, written from as few words as a panel needs. `npm run update:dashboards` writes the files. */

const datasource = { type: 'prometheus', uid: 'prometheus' };

interface Panel {
  type: 'stat' | 'timeseries' | 'table';
  title: string;
  description: string;
  fieldConfig: { defaults: { unit: string }; overrides: [] };
  targets: { refId: string; expr: string; legendFormat?: string; format?: 'table'; instant?: true }[];
}

export interface Dashboard {
  uid: string;
  panels: (Panel & { id: number; gridPos: { x: number; y: number; w: number; h: number } })[];
}

/** `unit` is the id of one of Grafana's units. */
interface Shown {
  unit: string;
  expr: string;
}

interface Judged extends Shown {
  /** Below it the number is red. */
  least?: number;
  /** From here on it is orange, and from `bad` on red. */
  warn?: number;
  bad?: number;
}

/** One number. */
export function stat(title: string, description: string, { unit, expr, least, warn, bad }: Judged): Panel {
  const steps = [
    ...(least === undefined ? [{ color: 'green', value: null }] : [{ color: 'red', value: null }]),
    ...(least === undefined ? [] : [{ color: 'green', value: least }]),
    ...(warn === undefined ? [] : [{ color: 'orange', value: warn }]),
    ...(bad === undefined ? [] : [{ color: 'red', value: bad }]),
  ];
  const defaults = { unit, thresholds: { mode: 'absolute', steps } };
  const targets = [{ refId: 'A', expr }];
  return { type: 'stat', title, description, fieldConfig: { defaults, overrides: [] }, targets };
}

interface Plotted {
  unit: string;
  /** Expressions by what the legend calls them. */
  series: Readonly<Record<string, string>>;
  isStacked?: boolean;
}

export function plot(title: string, description: string, { unit, series, isStacked = false }: Plotted): Panel {
  const custom = { fillOpacity: isStacked ? 30 : 0, stacking: { mode: isStacked ? 'normal' : 'none' } };
  const targets = Object.entries(series).map(([legendFormat, expr], index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    expr,
    legendFormat,
  }));
  const fieldConfig: Panel['fieldConfig'] & { defaults: object } = {
    defaults: { unit, ...{ min: 0, custom } },
    overrides: [],
  };
  return { type: 'timeseries', title, description, fieldConfig, targets };
}

/** The present values, one row each, with a column for each label. */
export function table(title: string, description: string, { unit, expr }: Shown): Panel {
  const targets = [{ refId: 'A', expr, format: 'table' as const, instant: true as const }];
  const hidden = { id: 'organize', options: { excludeByName: { Time: true } } };
  const panel = {
    type: 'table' as const,
    title,
    description,
    fieldConfig: { defaults: { unit }, overrides: [] as [] },
  };
  return { ...panel, targets, ...{ transformations: [hidden] } };
}

const columns = 24;
const heights = { stat: 4, timeseries: 7, table: 7 };

/** The numbers in one row, and below them three plots or tables to a row. */
export function dashboard(uid: string, title: string, panels: readonly Panel[]): Dashboard {
  const stats = panels.filter(({ type }) => type === 'stat').length;
  const placed = panels.map((panel, index) => {
    const w = panel.type === 'stat' ? columns / stats : columns / 3;
    const place = panel.type === 'stat' ? index : index - stats;
    const row = Math.floor((place * w) / columns);
    const y = panel.type === 'stat' ? 0 : heights.stat + row * heights.timeseries;
    return { id: index + 1, gridPos: { x: (place * w) % columns, y, w, h: heights[panel.type] }, datasource, ...panel };
  });
  const links = [{ type: 'dashboards', title: 'Reeltally', tags: ['reeltally'], keepTime: true }];
  const shown = { refresh: '30s', time: { from: 'now-6h', to: 'now' }, timezone: 'browser' };
  const about = { title: `Reeltally: ${title}`, tags: ['reeltally'], schemaVersion: 39 };
  return { uid: `reeltally-${uid}`, ...about, ...shown, ...{ links }, panels: placed };
}
