import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import type { Secrets } from '../../adapters/derive-keys.ts';
import type { PlanCatalogue, PlanTerms } from '../../domain/plans.ts';
import type { EventStore } from '../../ports/event-store.ts';
import type { Config } from './config.ts';
import { ConfigurationRefused } from './configuration-refused.ts';

/**
 * The settings that all processes of an installation share, as its one row in Postgres keeps them: some are fixed for ever by the
 * first start, and the others are those of the process that was started last.
 */

interface Installation {
  event_store_prefix: string;
  clock_may_be_shifted: boolean | null;
  secret_id: string | null;
  closing_grace_seconds: number | null;
  plans: Record<string, PlanTerms> | null;
}

/** @returns undefined before the first start */
async function readInstallation(pool: Pool): Promise<Installation | undefined> {
  const { rows } = await pool.query<Installation>(
    'select event_store_prefix, clock_may_be_shifted, secret_id, closing_grace_seconds, plans from installation',
  );
  return rows[0];
}

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
  const fixed = (await readInstallation(pool))?.event_store_prefix ?? given ?? '';
  if (given === undefined || given === fixed) return fixed;
  throw new ConfigurationRefused(
    `EVENTSTORE_PREFIX is "${given}", but the streams of this installation begin with "${fixed}" since its first start. ` +
      (fixed === '' ? 'Remove the setting.' : 'Set it to that, or remove the setting.'),
  );
}

/**
 * The first start of an installation decides for ever whether its clock may be shifted: if it is a demo or has the setting, and
 * the log has no account. A shifted clock ends billing periods and issues invoices for good, so no process with the setting may
 * join an installation with real books.
 *
 * @param isDemo this process prepares a demo
 * @throws {ConfigurationRefused} if the setting is not 0 and the clock must not be shifted
 */
export async function fixShiftedClock(
  { pool, store }: { pool: Pool; store: Pick<EventStore, 'newestPositions'> },
  config: Config,
  { isDemo }: { isDemo: boolean },
): Promise<void> {
  const decided = (await readInstallation(pool))?.clock_may_be_shifted ?? undefined;
  if (decided === undefined) {
    const isWanted = isDemo || config.REELTALLY_CLOCK_OFFSET_SECONDS !== 0;
    // Postgres may be new and the log old.
    const may = isWanted && !(await hasAccounts(store));
    await pool.query('update installation set clock_may_be_shifted = $1 where clock_may_be_shifted is null', [may]);
  }
  await refuseShiftedClock(pool, config);
}

/** @throws {ConfigurationRefused} if the setting is not 0, unless the first start has allowed it */
export async function refuseShiftedClock(pool: Pool, { REELTALLY_CLOCK_OFFSET_SECONDS }: Config): Promise<void> {
  if (REELTALLY_CLOCK_OFFSET_SECONDS === 0) return;
  if ((await readInstallation(pool))?.clock_may_be_shifted === true) return;
  throw new ConfigurationRefused(
    `REELTALLY_CLOCK_OFFSET_SECONDS is ${String(REELTALLY_CLOCK_OFFSET_SECONDS)}. It shifts the clock of billing periods, for ` +
      'demos and tests only. This installation keeps real books: their periods would end and invoices would be issued for good. ' +
      'Nothing was changed. Remove the setting.',
  );
}

/** For the start of a process whose clock is shifted; undefined for any other. Processes of one installation may differ. */
export const shiftedClockWarning = ({ REELTALLY_CLOCK_OFFSET_SECONDS }: Config): string | undefined =>
  REELTALLY_CLOCK_OFFSET_SECONDS === 0
    ? undefined
    : `the clock of billing periods is shifted by ${String(REELTALLY_CLOCK_OFFSET_SECONDS)} s (REELTALLY_CLOCK_OFFSET_SECONDS)`;

/** Books belong to accounts. */
async function hasAccounts(store: Pick<EventStore, 'newestPositions'>): Promise<boolean> {
  const [newest] = await store.newestPositions([{ streamPrefixes: ['account-acc_'], after: -1n }]);
  return newest !== undefined;
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
  const known = (await readInstallation(pool))?.secret_id;
  if (known === current.id) return;
  if (!others.some(({ id }) => id === known)) throw new ConfigurationRefused(differs);
  await pool.query('update installation set secret_id = $1 where secret_id = $2', [current.id, known]);
}

/** With another secret than the service's, a command would take every row of Postgres for a forged one. */
export async function refuseOtherSecret(pool: Pool, { current, others }: Secrets): Promise<void> {
  const known = (await readInstallation(pool))?.secret_id ?? current.id;
  if (![current, ...others].some(({ id }) => id === known)) throw new ConfigurationRefused(differs);
}

/**
 * Keeps the settings by which both the service and commands decide, each for the role that decides by it: the dispatcher closes
 * books, the API's consoles offer plans. While the processes of a role are replaced one by one, the last one started wins.
 */
export async function keepSettings(pool: Pool, config: Config, role: string): Promise<void> {
  if (role === 'dispatcher' || role === 'all')
    await pool.query('update installation set closing_grace_seconds = $1', [config.CLOSING_GRACE_SECONDS]);
  if (role === 'api' || role === 'all')
    await pool.query('update installation set plans = $1', [JSON.stringify(Object.fromEntries(config.plans))]);
}

/** How long after its end a period still takes corrections. @throws {ConfigurationRefused} if the service closes by another time */
export async function sharedGraceSeconds(pool: Pool, { CLOSING_GRACE_SECONDS: own }: Config): Promise<number> {
  const kept = (await readInstallation(pool))?.closing_grace_seconds ?? own;
  if (kept === own) return own;
  throw new ConfigurationRefused(
    `CLOSING_GRACE_SECONDS is ${String(own)} for this command, and ${String(kept)} for the dispatcher that was started last. ` +
      'Nothing was changed. Set both to the same value.',
  );
}

/** The plans. @throws {ConfigurationRefused} if the service offers others, naming the first difference */
export async function sharedPlans(pool: Pool, { plans: own, PLANS_FILE: file }: Config): Promise<PlanCatalogue> {
  const kept = (await readInstallation(pool))?.plans;
  const difference = kept && differenceOf(own, new Map(Object.entries(kept)));
  if (!difference) return own;
  throw new ConfigurationRefused(
    `PLANS_FILE: ${file} is not what the API that was started last runs with: ${difference}. Nothing was changed. ` +
      'Set PLANS_FILE to the file of the service, or start the API with this one first.',
  );
}

function differenceOf(own: PlanCatalogue, kept: PlanCatalogue): string | undefined {
  for (const plan of new Set([...own.keys(), ...kept.keys()])) {
    const [here, there] = [own.get(plan), kept.get(plan)];
    if (!here || !there)
      return `it has ${here ? 'a' : 'no'} plan "${plan}", and the API's has ${there ? 'one' : 'none'}`;
    const field = fieldsOf(here, there).find((name) => !isDeepStrictEqual(here[name], there[name]));
    if (field !== undefined)
      return `its plan "${plan}" has ${field} ${JSON.stringify(here[field])}, and the API's has ${JSON.stringify(there[field])}`;
  }
  return undefined;
}

const fieldsOf = (...terms: PlanTerms[]) => [...new Set(terms.flatMap(Object.keys))] as (keyof PlanTerms)[];
