import { pino } from 'pino';
import { waitForHourlyLimit, waitForKey } from '../../projections/api-keys.ts';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { createClock } from '../../src/adapters/postgres/clock.ts';
import { measureClock, openPool } from '../../src/adapters/postgres/postgres.ts';
import { newId, newUuid, randomBits, realNowMs } from '../../src/system/clock-and-chance.ts';
import { issueApiKey, openAccount as openStoredAccount } from '../../src/commands/accounts.ts';
import { maxKeysOf } from '../../src/domain/plans.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { readConfig } from '../../src/main/settings/config.ts';
import { findAddresses } from '../../src/main/settings/instance.ts';

export interface OpenedAccount {
  accountId: string;
  key: string;
  keyId: string;
}

/**
 * Opens an account with one key, as `accounts open` and `keys issue` do (test/cli shows that they do), without their two
 * processes; in force when it returns.
 *
 * @param environment what the command line would be given: where the service is, its plan file and its clock
 */
export async function openAccount(plan: string, environment: Readonly<Record<string, string>>): Promise<OpenedAccount> {
  const config = readConfig(environment);
  const { eventStoreUrl, databaseUrl } = findAddresses(config);
  const terms = config.plans.get(plan);
  if (!terms) throw new Error(`there is no plan ${plan}`);
  const logger = pino({ level: 'silent' });
  const pool = openPool(databaseUrl, { logger, max: 1, queryTimeoutMs: 10_000 });
  const store = connectEventStore({ url: eventStoreUrl, logger });
  const clock = createClock({ realNowMs, offsetSeconds: config.REELTALLY_CLOCK_OFFSET_SECONDS });
  await measureClock(pool, clock);
  const { now } = clock;
  const request = {
    correlationId: newUuid(),
    actor: { type: 'staff', id: 'test', role: 'operator', reason: 'test' },
  } as const;
  const timeoutMs = 10_000;
  const dependencies = { store, now, newUuid, newId, randomBits };
  try {
    const opened = await openStoredAccount(dependencies, { email: 'owner@example.com', terms, timeoutMs, ...request });
    if (isRefused(opened)) throw new Error(`no account: ${opened.refusal}`);
    const { accountId } = opened;
    const issued = await issueApiKey(dependencies, {
      accountId,
      label: 'test',
      maxKeys: maxKeysOf(terms),
      timeoutMs,
      ...request,
    });
    if (isRefused(issued)) throw new Error(`no key: ${issued.refusal}`);
    const { key, keyId } = issued;
    const isLimited = await waitForHourlyLimit(pool, accountId, { hourlyLimit: terms.hourly_limit, timeoutMs });
    const isInForce = await waitForKey(pool, keyId, { revoked: false, timeoutMs });
    if (!isLimited || !isInForce) throw new Error(`${accountId} is not in force: the projector is behind or away`);
    return { accountId, key, keyId };
  } finally {
    await store.close();
    await pool.end();
  }
}
