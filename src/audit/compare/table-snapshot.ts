import type { Entry, Table } from './expected-rows.ts';

/** The read models cannot be verified: one of them is behind, or the log or Postgres is unreachable. */
export class NotVerifiable extends Error {
  override readonly name = 'NotVerifiable';
}

/** The state of a table when its checkpoint was at a position. */
export interface TableSnapshot {
  table: Table;
  position: bigint;
  /** The number of rows, or how they are counted later; undefined if they are not to be counted. */
  count: number | 'by its downloads' | undefined;
  /** Rows that differed from the log as far as it was read by then. */
  differing: { key: string; entry: Entry }[];
  found: unknown[];
}

/** Restricts a snapshot of a read model that is behind the log to the rows that it must have by now. */
export function withinReach({ differing, position, ...snapshot }: TableSnapshot): TableSnapshot {
  return {
    ...snapshot,
    position,
    count: undefined,
    differing: differing.filter(({ entry }) => entry.at.position <= position),
  };
}
