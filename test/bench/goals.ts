import { type Figure, halfRange, median } from './figures.ts';

/** The value that a figure should have, in the figure's own unit. */
export type Goal = { atLeast: number } | { atMost: number };

export type Verdict = 'reached' | 'not reached' | 'within the noise';

/** The goals of docs/performance.md, by the name of the figure, or by what the names of several have in common. */
export const goals: readonly (readonly [figure: string | RegExp, goal: Goal])[] = [
  // One client alone, and four.
  ['reeltally: downloads, 10 000 accounts, 1 connection, p50', { atMost: 3 }],
  ['reeltally: status poll, 1 connection, p50', { atMost: 1 }],
  ['downloads, 10 000 accounts, 4 connections: to the CRUD service', { atLeast: 1 }],
  ['downloads, 10 000 accounts, 4 connections: to the CRUD service with graphile-worker', { atLeast: 1.5 }],
  ['downloads, 10 000 accounts, 4 connections: to the CRUD service with BullMQ', { atLeast: 1.2 }],
  ['status poll, 4 connections: to the CRUD service', { atLeast: 2 }],
  ['202 until claimed, median', { atMost: 4 }],
  ['202 until claimed, p99', { atMost: 12 }],

  // Many connections.
  ['status poll: to the CRUD service', { atLeast: 5.5 }],
  ['credits: to the CRUD service', { atLeast: 2 }],
  ['downloads, 10 000 accounts: to the CRUD service', { atLeast: 1.5 }],
  ['downloads, 10 000 accounts: to the CRUD service with graphile-worker', { atLeast: 2.5 }],
  ['downloads, 10 000 accounts: to the CRUD service with BullMQ', { atLeast: 1.8 }],
  ['downloads, 10 000 accounts: to one stored procedure', { atLeast: 0.5 }],
  ['downloads, one account: to the CRUD service', { atLeast: 5 }],
  ['downloads, one account: to the CRUD service with graphile-worker', { atLeast: 10 }],
  ['downloads, one account: to the CRUD service with BullMQ', { atLeast: 6 }],
  ['downloads, one account: to one stored procedure', { atLeast: 2 }],

  // Jobs and metadata.
  ['MP4 of a file, time: to the bare yt-dlp command', { atMost: 0.4 }],
  ['MP4 of a file, processor time: to the bare yt-dlp command', { atMost: 0.4 }],
  ['metadata of a video seen first', { atMost: 350 }],

  // Growth.
  ['rebuild of all read models: to a bare readAll', { atLeast: 0.7 }],
  [/, \d+ jobs: to 1000 jobs$/, { atLeast: 0.9 }],

  // Memory and starts.
  ['all roles in one process, idle', { atMost: 300 }],
  ['all roles in one process, after the requests', { atMost: 450 }],
  ['all roles in one process and the servers, idle', { atMost: 600 }],
  ['all roles in one process and the servers, after the requests', { atMost: 600 }],
  ['first start, with the story of the demo', { atMost: 4 }],
  ['second start', { atMost: 2 }],

  // Pages and exports.
  [/^(?:page|JSON): .+: p95$/, { atMost: 50 }],
  [/^search .+: p95$/, { atMost: 100 }],
  [/^\/console.*, p95$/, { atMost: 50 }],
  // A million lines in 30 seconds.
  ['export of overage of all months as csv', { atLeast: 33_334 }],
  ['export of overage of all months as json', { atLeast: 33_334 }],
];

export const isNamed = (pattern: string | RegExp, name: string): boolean =>
  typeof pattern === 'string' ? pattern === name : pattern.test(name);

export function goalOf({ name }: Figure): Goal | undefined {
  return goals.find(([pattern]) => isNamed(pattern, name))?.[1];
}

/** Within the noise: the median is nearer to the goal than half the distance between the extreme rounds. */
export function verdictOn({ values }: Figure, goal: Goal): Verdict {
  const middle = median(values);
  const wanted = 'atLeast' in goal ? goal.atLeast : goal.atMost;
  if (Math.abs(middle - wanted) < halfRange(values)) return 'within the noise';
  return ('atLeast' in goal ? middle >= wanted : middle <= wanted) ? 'reached' : 'not reached';
}
