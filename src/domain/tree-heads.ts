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

export const decideNewOrigin = (state: TreeHeads, origin: string): TreeHeadEvent[] =>
  state.origin === origin ? [] : [{ type: 'TreeOriginBegun', data: { origin } }];
