import type { Pool } from 'pg';
import type { EventStore } from '../../ports/event-store.ts';
import type { Config } from './config.ts';
import { ConfigurationRefused } from './configuration-refused.ts';

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
  const decided = await pool.query('select from installation where clock_may_be_shifted is not null');
  if (decided.rowCount === 0) {
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
  const allowed = await pool.query('select from installation where clock_may_be_shifted');
  if (allowed.rowCount !== 0) return;
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
