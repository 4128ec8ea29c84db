import type { Pool } from 'pg';
import type { Config } from './config.ts';
import { ConfigurationRefused } from './configuration-refused.ts';

/** The first start of an installation fixes the prefix of its streams, for ever. */
export async function fixStreamPrefix(pool: Pool, config: Config): Promise<string> {
  await pool.query('insert into installation (event_store_prefix) values ($1) on conflict do nothing', [
    config.EVENTSTORE_PREFIX ?? '',
  ]);
  return readStreamPrefix(pool, config);
}

/**
 * Reads the prefix of an installation's streams; a process without a setting takes the fixed one.
 *
 * @throws {ConfigurationRefused} for another one: the streams under it would be those of nobody
 */
export async function readStreamPrefix(pool: Pool, { EVENTSTORE_PREFIX: given }: Config): Promise<string> {
  const { rows } = await pool.query<{ prefix: string }>('select event_store_prefix as prefix from installation');
  const fixed = rows[0]?.prefix ?? given ?? '';
  if (given === undefined || given === fixed) return fixed;
  throw new ConfigurationRefused(
    `EVENTSTORE_PREFIX is "${given}", but the streams of this installation begin with "${fixed}" since its first start. ` +
      (fixed === '' ? 'Remove the setting.' : 'Set it to that, or remove the setting.'),
  );
}
