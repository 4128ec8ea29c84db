/** Tables whose rows carry a MAC, because decisions start from them. */
export const tablesWithMacs = [
  'credits',
  'idempotency_keys',
  'api_key_window',
  'pending_voids',
  'sign_in_links',
  'console_sessions',
  'staff',
  'staff_tokens',
  'staff_links',
  'staff_sessions',
] as const;
export type TableWithMacs = (typeof tablesWithMacs)[number];

/** These have MACs of e-mail addresses, names and tax IDs, by which they are found; nothing is decided by them. */
type SignedTable = TableWithMacs | 'people' | 'staff_addresses' | 'customers';

/** Tells rows that this installation has written from forged ones, even if others may write to Postgres. */
export interface RowMacs {
  /** Ids of the secrets whose MACs verify. */
  readonly secretIds: readonly string[];
  /** @param text content of the row, in a form that does not depend on Postgres's own output */
  sign(table: SignedTable, text: string): string;
  /** The MACs of a text under each secret, to find rows by it. */
  signUnderEach(table: SignedTable, text: string): string[];
  /** @returns the text for a column that only this installation can read: the id of the secret, a point, and what it hides */
  encrypt(text: string): string;
  /** @returns undefined for a text that none of the secrets has encrypted */
  decrypt(encrypted: string): string | undefined;
  /** A row whose MAC may verify is not believed, because the log says otherwise. */
  contradicted(row: { table: TableWithMacs; name: string }): void;
  /** @param row name: identifies the row in log lines; mac: null for a row that is older than MACs */
  verifies(row: { table: TableWithMacs; name: string; text: string; mac: string | null }): boolean;
}
