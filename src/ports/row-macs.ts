/** Tables whose rows carry a MAC, because decisions start from them. */
export const tablesWithMacs = ['credits', 'idempotency_keys', 'api_key_window', 'pending_voids'] as const;
export type TableWithMacs = (typeof tablesWithMacs)[number];

/** Tells rows that this installation has written from forged ones, even if others may write to Postgres. */
export interface RowMacs {
  /** Ids of the secrets whose MACs verify. */
  readonly secretIds: readonly string[];
  /** @param text content of the row, in a form that does not depend on Postgres's own output */
  sign(table: TableWithMacs, text: string): string;
  /** @param row name: identifies the row in log lines; mac: null for a row that is older than MACs */
  verifies(row: { table: TableWithMacs; name: string; text: string; mac: string | null }): boolean;
}
