import { changeSince, type EarlierRun } from './comparison.ts';
import { type Figure, halfRange, median } from './figures.ts';
import { type Goal, goalOf, verdictOn } from './goals.ts';

/** Beyond it, a figure is said to be noisy. */
const noisySpread = 0.15;

/** A figure with its goal and its change since an earlier run, as `--json` prints it. */
export function detailsOf(figure: Figure, earlier: EarlierRun | undefined) {
  const goal = goalOf(figure);
  return {
    ...figure,
    ...(goal && { goal, verdict: verdictOn(figure, goal) }),
    ...(earlier && changeSince(earlier, figure)),
  };
}

/**
 * A table in Markdown. It has a column of goals if one of the figures has a goal.
 *
 * @param title of the first column
 * @param earlier the run whose figures stand beside these
 */
export function tableOf(title: string, figures: readonly Figure[], earlier?: EarlierRun): string {
  const hasGoals = figures.some((figure) => goalOf(figure) !== undefined);
  const measured = earlier ? ['before', 'now', 'change', 'beyond the noise'] : ['median', 'spread'];
  const titles = [title, ...measured, ...(hasGoals ? ['goal'] : [])];
  const rows = figures.map((figure) => [
    figure.name,
    ...(earlier ? comparedCells(figure, earlier) : [medianOf(figure), spreadOf(figure.values)]),
    ...(hasGoals ? [goalCell(figure)] : []),
  ]);
  const [head, ...lines] = [titles, ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [head, `|${titles.map(() => '---').join('|')}|`, ...lines].join('\n');
}

function comparedCells(figure: Figure, earlier: EarlierRun): string[] {
  const now = `${medianOf(figure)} ${spreadOf(figure.values)}`.trimEnd();
  const since = changeSince(earlier, figure);
  if (!since) return ['–', now, '', ''];
  const before = `${medianOf({ ...figure, values: since.before })} ${spreadOf(since.before)}`.trimEnd();
  return [before, now, `${short(since.change)} ×`, since.exceedsNoise ? 'yes' : 'no'];
}

const medianOf = ({ unit, values }: Figure): string => withUnit(median(values), unit);

const withUnit = (value: number, unit: string): string => `${short(value)} ${unit}`;

/** Half the distance between the extremes, as a share of the median; nothing for a single value. */
function spreadOf(values: readonly number[]): string {
  if (values.length < 2) return '';
  const middle = median(values);
  const spread = middle === 0 ? 0 : halfRange(values) / middle;
  return `± ${Math.round(spread * 100)} %${spread > noisySpread ? ' (noisy)' : ''}`;
}

function goalCell(figure: Figure): string {
  const goal = goalOf(figure);
  return goal ? `${wanted(goal, figure.unit)}: ${verdictOn(figure, goal)}` : '';
}

const wanted = (goal: Goal, unit: string): string =>
  'atLeast' in goal ? `≥ ${withUnit(goal.atLeast, unit)}` : `≤ ${withUnit(goal.atMost, unit)}`;

function short(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}
