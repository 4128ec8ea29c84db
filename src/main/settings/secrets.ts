import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { deriveKeys, type Secrets } from '../../adapters/derive-keys.ts';
import { RequestTokens } from '../../commands/ids/request-token.ts';
import { Cursors } from '../../http/cursors.ts';
import { randomBits } from '../../system/clock-and-chance.ts';
import { readOrMakeSecret } from '../../system/private-files.ts';
import type { Config } from './config.ts';
import { ConfigurationRefused } from './configuration-refused.ts';

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

/** Writes and reads the cursors of the API. */
export const createCursors = ({ current, others }: Secrets): Cursors =>
  new Cursors(
    current.cursorKey,
    others.map(({ cursorKey }) => cursorKey),
  );

/** Draws and verifies the tokens of downloads. */
export function createTokens({ current, others }: Secrets): RequestTokens {
  return new RequestTokens(
    current.tokenKey,
    others.map(({ tokenKey }) => tokenKey),
    randomBits,
  );
}
