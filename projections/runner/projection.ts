import type { PoolClient } from 'pg';
import type { EventStore, RecordedEvent } from '../../src/ports/event-store.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import type { CorrectedTable } from './rebuild-tables.ts';

/** A read model (or several that stand for the same point of the log) and how events change it. */
export interface Projection {
  name: string;
  streamPrefixes: readonly string[];
  /** Begins one run over the log: what it returns may remember what it has applied. */
  start: (tools: ProjectionTools) => Apply;
}

/** Applies events, in order, within the transaction that also moves the checkpoint. */
export type Apply = (events: readonly RecordedEvent[], client: PoolClient) => Promise<void>;

interface ProjectionTools {
  store: Pick<EventStore, 'read'>;
  macs: RowMacs;
}

/** A read model that `rebuild` can make anew from the log, beside the live one. */
export interface RebuildableProjection extends Projection {
  /** Tables that it writes to. They are swapped, so that nothing may live in them that is not in the log. */
  tables: readonly string[];
  /** The one that it also writes to, and that holds more than the log does. */
  corrected?: CorrectedTable;
  /** Tables whose rows carry a MAC. */
  signedTables?: readonly string[];
  /** Rows are only ever added to `tables`: the replay needs no key to find any, and is faster without. */
  onlyAdds?: boolean;
}

/** All tables that a read model writes to. */
export const tablesOf = ({ tables, corrected }: RebuildableProjection): readonly string[] =>
  corrected ? [...tables, corrected.name] : tables;
