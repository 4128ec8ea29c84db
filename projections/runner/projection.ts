import type { PoolClient } from 'pg';
import type { EventStore, RecordedEvent } from '../../src/ports/event-store.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import type { CorrectedTable } from './rebuild-tables.ts';

/** A read model, or several with one checkpoint, and the way in which events change it. */
export interface Projection {
  name: string;
  streamPrefixes: readonly string[];
  /** Begins one run over the log. The returned function may remember the events that it has applied. */
  start: (tools: ProjectionTools) => Apply;
}

/** Applies events, in order, within the transaction that also moves the checkpoint. */
export type Apply = (events: readonly RecordedEvent[], client: PoolClient) => Promise<void>;

export interface ProjectionTools {
  store: Pick<EventStore, 'read'>;
  macs: RowMacs;
}

/** A read model that `rebuild` can build again from the log, beside the live one. */
export interface RebuildableProjection extends Projection {
  /** Tables that it writes to. They are swapped, so all of their content must come from the log. */
  tables: readonly string[];
  /** A table that it also writes to, with content that is not in the log. */
  corrected?: CorrectedTable;
  /** Tables whose rows carry a MAC, each with its column. It is not compared: it differs with the secret. */
  signedTables?: Readonly<Record<string, string>>;
  /** Other columns that differ with the secret. */
  secretColumns?: Readonly<Record<string, string>>;
  /** Set if it only adds rows to `tables`: the replay needs no key to find rows, and is faster without. */
  onlyAdds?: boolean;
}

/** All tables that a read model writes to. */
export const tablesOf = ({ tables, corrected }: RebuildableProjection): readonly string[] =>
  corrected ? [...tables, corrected.name] : tables;
