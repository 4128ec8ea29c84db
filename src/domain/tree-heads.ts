import type { TreeHeadEvent, TreeHeadSigned } from './tree-head-events.ts';

/** The signed heads of the log of what was closed and invoiced, as far as the next one depends on them. */
export interface TreeHeads {
  /** Name under which the next head is signed; undefined before the first. */
  origin: string | undefined;
  newest: TreeHeadSigned | undefined;
}

export const initialTreeHeads: TreeHeads = { origin: undefined, newest: undefined };

export function evolveTreeHeads(state: TreeHeads, { type, data }: TreeHeadEvent): TreeHeads {
  switch (type) {
    case 'TreeHeadSigned':
      return { origin: data.origin, newest: data };
    case 'TreeOriginBegun':
      return { ...state, origin: data.origin };
  }
}

/**
 * One head of each size.
 *
 * @param head computed from the newest head of `from`
 * @returns none if another head or origin has come since
 */
export const decideTreeHead = (
  state: TreeHeads,
  { from, head }: { from: TreeHeads; head: TreeHeadSigned },
): TreeHeadEvent[] =>
  state.newest?.size === from.newest?.size && (state.origin ?? head.origin) === head.origin
    ? [{ type: 'TreeHeadSigned', data: head }]
    : [];

const timeInOrigin = /\/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/;

/** The name under which a log goes on: with this time, in place of the time that the name before may have. */
export const nextOrigin = (before: string, now: string): string =>
  `${before.replace(timeInOrigin, '')}/${now.slice(0, 19).replaceAll(':', '-')}Z`;

/** The path that a log is served below. Each origin has its own. */
export const pathOfOrigin = (origin: string): string => `/tlog${timeInOrigin.exec(origin)?.[0] ?? ''}`;

export const decideNewOrigin = (state: TreeHeads, origin: string): TreeHeadEvent[] =>
  state.origin === origin ? [] : [{ type: 'TreeOriginBegun', data: { origin } }];
