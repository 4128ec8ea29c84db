import uPlot from 'uplot';

/** Draws the table of a figure as bars that stand on one another, and lines. The table stays for those who prefer it. */

interface Series {
  label: string;
  token: string;
  values: (number | null)[];
  /** Default: a filled bar, on those of the series below it in this list. An outline is around all of them. */
  as?: 'line' | 'outline';
}

interface Plotted {
  /** What a bar stands for. Default: a day. */
  by?: 'month' | 'hour';
  /** Seconds since 1970; of a month, its first day. */
  days: number[];
  series: Series[];
}

/** Bars are drawn from the ground to their tops, each behind those that it stands on. */
const topsOf = (series: readonly Series[], index: number) =>
  series[index]?.values.map((value, slot) =>
    value === null
      ? null
      : series.slice(index).reduce((sum, each) => sum + (each.as ? 0 : Math.max(0, each.values[slot] ?? 0)), 0),
  ) ?? [];

/** What counts are labelled by: half a download is none. */
const wholeSteps = [
  ...[1, 2, 5],
  ...Array.from({ length: 12 }, (_, power) => [10, 20, 25, 50].map((step) => step * 10 ** power)).flat(),
];

const day = 86_400;
const month = 30 * day;
const hour = 3_600;

/** What a bar stands for: its width and the steps between labels in seconds, the form of a label, and room for those of the values. */
const stepsBy = {
  month: {
    width: month,
    incrs: [1, 2, 3, 6, 12].map((months) => months * month),
    values: '{MMM} {YY}',
    size: 70,
    label: 'Month',
    value: '{YYYY}-{MM}',
  },
  day: {
    width: day,
    incrs: [1, 2, 7, 14].map((days) => days * day),
    values: '{DD} {MMM}',
    size: 50,
    label: 'Day (UTC)',
    value: '{YYYY}-{MM}-{DD}',
  },
  hour: {
    width: hour,
    incrs: [1, 3, 6, 12].map((hours) => hours * hour),
    values: '{HH}:{mm}',
    size: 50,
    label: 'Hour from (UTC)',
    value: '{YYYY}-{MM}-{DD} {HH}:{mm}',
  },
};

const colour = (token: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${token}`).trim();

function draw(figure: HTMLElement): void {
  const place = figure.querySelector<HTMLElement>('.canvas');
  const { plot: text } = figure.dataset;
  if (!place || text === undefined) return;
  const { by, days, series } = JSON.parse(text) as Plotted;
  const bars = uPlot.paths.bars?.({ size: [0.7, 40] });
  const steps = stepsBy[by ?? 'day'];
  const isWhole = series.every(({ values }) => values.every((value) => Number.isInteger(value ?? 0)));
  const axis = {
    stroke: colour('ink-soft'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line') },
  };
  const plot = new uPlot(
    {
      width: place.clientWidth,
      height: 220,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      // Half a bar more on each side, for the first and the last.
      scales: {
        x: { range: (_plot, first, last) => [first - steps.width / 2, last + steps.width / 2] },
        y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] },
      },
      cursor: { points: { show: false } },
      axes: [
        { ...axis, incrs: steps.incrs, values: steps.values },
        { ...axis, size: steps.size, ...(isWhole && { incrs: wholeSteps }) },
      ],
      series: [
        { label: steps.label, value: steps.value },
        ...series.map(({ label, token, as, values }) => ({
          label,
          // Its own part, and not its top.
          value: (_plot: uPlot, _top: number | null, _series: number, slot: number | null) =>
            slot === null ? '--' : String(values[slot] ?? '--'),
          stroke: colour(token),
          points: { show: false },
          ...(as === 'line' ? { width: 2, dash: [6, 4] } : { ...(bars && { paths: bars }) }),
          ...(as === 'outline' && { width: 2 }),
          ...(as === undefined && { width: 0, fill: colour(token) }),
        })),
      ],
    },
    [days, ...series.map(({ as, values }, index) => (as ? values : topsOf(series, index)))],
    place,
  );
  new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: 220 })).observe(place);
}

for (const figure of document.querySelectorAll<HTMLElement>('figure[data-plot]')) draw(figure);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => location.reload());
