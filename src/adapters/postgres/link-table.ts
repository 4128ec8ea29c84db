import type { Pool, PoolClient } from 'pg';
import type { RowMacs } from '../../ports/row-macs.ts';
import { hashOfSecret } from './session-rows.ts';

/** The columns that the links of both consoles have. */
interface LinkRow {
  /** Hash of the secret of the browser that asked; null for a link that the service prints. */
  browser_hash: Buffer | null;
  /** UTC ISO-8601. */
  created_at: string;
}

interface LinkTable<Row extends LinkRow> {
  table: 'sign_in_links' | 'staff_links';
  /** Those that the MAC covers beside the hash of the secret, in its order. */
  columns: readonly (keyof Row & string)[];
  /** A condition. */
  isAlive: string;
}

/** Writes and reads links. A row without a MAC of this installation signs nobody in. */
export function linkTable<Row extends LinkRow>(macs: RowMacs, { table, columns, isAlive }: LinkTable<Row>) {
  const textOf = (secretHash: Buffer, row: Row): string => {
    const hashOfBrowser = row.browser_hash?.toString('hex') ?? null;
    const values = columns.map((column) => (column === 'browser_hash' ? hashOfBrowser : row[column]));
    return JSON.stringify([secretHash.toString('hex'), ...values]);
  };
  return {
    add: async (client: PoolClient, secret: string, row: Row): Promise<void> => {
      const secretHash = hashOfSecret(secret);
      const places = columns.map((_, index) => `$${String(index + 3)}`);
      await client.query(
        `insert into ${table} (secret_hash, mac, ${columns.join(', ')}) values ($1, $2, ${places.join(', ')})`,
        [secretHash, macs.sign(table, textOf(secretHash, row)), ...columns.map((column) => row[column])],
      );
    },
    /** @returns undefined for a link that is unknown, used or too old; now: Postgres's clock, UTC ISO-8601 */
    read: async (pool: Pool, secret: string): Promise<(Row & { now: string }) | undefined> => {
      const secretHash = hashOfSecret(secret);
      const { rows } = await pool.query<Row & { now: string; mac: string }>(
        `select date_trunc('milliseconds', clock_timestamp()) as now, ${columns.join(', ')}, mac from ${table}
         where secret_hash = $1 and used_at is null and ${isAlive}`,
        [secretHash],
      );
      const [row] = rows;
      const name = secretHash.toString('hex').slice(0, 12);
      return row && macs.verifies({ table, name, text: textOf(secretHash, row), mac: row.mac }) ? row : undefined;
    },
  };
}

/** Tells if a link was asked for in this browser. */
export const isOfBrowser = ({ browser_hash }: LinkRow, browser: string | undefined): boolean =>
  browser !== undefined && browser_hash?.equals(hashOfSecret(browser)) === true;
