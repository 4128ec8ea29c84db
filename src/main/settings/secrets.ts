import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { type DerivedKeys, deriveKeys } from '../../adapters/derive-keys.ts';
import { RequestTokens } from '../../commands/request-token.ts';
import { randomBits } from '../../system/clock-and-chance.ts';
import { readOrMakeSecret } from '../../system/private-files.ts';
import type { Config } from './config.ts';
import { ConfigurationRefused } from './configuration-refused.ts';

export interface Secrets {
  current: DerivedKeys;
  others: DerivedKeys[];
}

/** The installation's secret: from the environment, else from a file of the data directory, made at first start. */
export function readSecrets(config: Config): Secrets {
  const { REELTALLY_SECRET, REELTALLY_OLD_SECRETS, dataDirectory } = config;
  if (!REELTALLY_SECRET && !existsSync(dataDirectory)) {
    throw new ConfigurationRefused(
      `There is neither a REELTALLY_SECRET nor a data directory ${dataDirectory} with a secret: set one of the two.`,
    );
  }
  const current = REELTALLY_SECRET ?? readOrMakeSecret(join(dataDirectory, 'secret'));
  return { current: deriveKeys(current), others: REELTALLY_OLD_SECRETS.map(deriveKeys) };
}

const differs =
  'The secret differs from that of the other processes of this installation. Set REELTALLY_SECRET to the same value ' +
  '(or REELTALLY_DATA to the same folder); to change the secret, name the old one in REELTALLY_OLD_SECRETS.';

/** All processes of an installation share its secret: each checks tokens and links of the others. */
export async function requireSharedSecret(pool: Pool, { current, others }: Secrets): Promise<void> {
  await pool.query(
    `insert into installation (secret_id) values ($1)
     on conflict (only_row) do update set secret_id = excluded.secret_id where installation.secret_id is null`,
    [current.id],
  );
  const { rows } = await pool.query<{ secret_id: string }>('select secret_id from installation');
  const known = rows[0]?.secret_id;
  if (known === current.id) return;
  if (!others.some(({ id }) => id === known)) {
    throw new ConfigurationRefused(differs);
  }
  await pool.query('update installation set secret_id = $1 where secret_id = $2', [current.id, known]);
}

/** With another secret than the service's, a command would take every row of Postgres for a forged one. */
export async function refuseOtherSecret(pool: Pool, { current, others }: Secrets): Promise<void> {
  const { rows } = await pool.query<{ secret_id: string | null }>('select secret_id from installation');
  const known = rows[0]?.secret_id ?? undefined;
  if (known !== undefined && ![current, ...others].some(({ id }) => id === known))
    throw new ConfigurationRefused(differs);
}

/** Draws and verifies the tokens of downloads. */
export function createTokens({ current, others }: Secrets): RequestTokens {
  return new RequestTokens(
    current.tokenKey,
    others.map(({ tokenKey }) => tokenKey),
    randomBits,
  );
}
