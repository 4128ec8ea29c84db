/** Tables whose rows carry a MAC, because decisions start from them. */
export const tablesWithMacs = ['credits', 'idempotency_keys', 'api_key_window', 'pending_voids'] as const;
export type TableWithMacs = (typeof tablesWithMacs)[number];

/** Tells rows that this installation has written from those that somebody else has, whoever may write to Postgres. */
export interface RowMacs {
  /** Ids of the secrets whose MACs verify. */
  readonly secretIds: readonly string[];
  /** @param text what the row says, in a form of its own that does not depend on how Postgres writes it */
  sign(table: TableWithMacs, text: string): string;
  /** @param row name: says in the log which row it is; mac: null for a row from before there were any */
  verifies(row: { table: TableWithMacs; name: string; text: string; mac: string | null }): boolean;
}
