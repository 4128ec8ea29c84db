import type { LogPosition } from './event-store.ts';

/** The largest position that a log can have. Servers send -1 (no position) as the largest unsigned 64-bit number. */
const largestCommit = 2n ** 63n - 1n;

export const isPosition = ({ commit }: LogPosition): boolean => commit <= largestCommit;

export const positionOfEvent = (commit: bigint): LogPosition => ({ commit, prepare: commit });

/** @param other undefined: the start of the log */
export function isAfter(position: LogPosition, other: LogPosition | undefined): boolean {
  const { commit, prepare } = other ?? { commit: -1n, prepare: -1n };
  return position.commit === commit ? position.prepare > prepare : position.commit > commit;
}

/** The commit position up to which a reader at this place has read everything; 0 at the start of the log. */
export function coveredUpTo(position: LogPosition | undefined): bigint {
  if (!position) return 0n;
  return position.prepare < position.commit ? position.commit - 1n : position.commit;
}
