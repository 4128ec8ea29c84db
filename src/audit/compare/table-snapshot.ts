import type { Entry, Table } from './expected-rows.ts';

/** The read models cannot be verified: one of them is behind, or the log or Postgres is unreachable. */
export class NotVerifiable extends Error {
  override readonly name = 'NotVerifiable';
}

/** A table as it was when its checkpoint stood at a position. */
export interface TableSnapshot {
  table: Table;
  position: bigint;
  /** How many rows there are; undefined where they are not to be counted. */
  count: number | undefined;
  /** Rows that were not what the log was read for by then. */
  differing: { key: string; entry: Entry }[];
  found: unknown[];
}

/** What a read model must have got right by now, although it has not come as far as the log. */
export function withinReach({ differing, position, ...snapshot }: TableSnapshot): TableSnapshot {
  return {
    ...snapshot,
    position,
    count: undefined,
    differing: differing.filter(({ entry }) => entry.at.position <= position),
  };
}
