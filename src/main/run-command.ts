import { createClock } from '../adapters/clock.ts';
import { connectEventStore } from '../adapters/event-store.ts';
import { isLed } from '../adapters/leadership.ts';
import { createBooks, keepMeasuring, measureClock, openPool } from '../adapters/postgres.ts';
import { newId, newUuid, randomBits, realNowMs } from '../adapters/system.ts';
import type { InvoicesCli } from '../cli/invoices.ts';
import type { Output } from '../cli/output.ts';
import { UsageLanes } from '../commands/usage-lanes.ts';
import { closePeriods } from '../dispatcher/close-periods.ts';
import { operatorName, readConfig } from './config.ts';
import { findAddresses } from './instance.ts';
import { createLogger } from './logger.ts';

/** What a command may use of a running service. */
export type OpenedCli = InvoicesCli & { books: ReturnType<typeof createBooks> };

/** Opens what a command needs, runs it, and closes it again. */
export async function runCommand(
  output: Output,
  command: (cli: OpenedCli) => Promise<void>,
  { queryTimeoutMs = 10_000 }: { queryTimeoutMs?: number } = {},
): Promise<void> {
  const config = readConfig();
  const { eventStoreUrl, databaseUrl } = findAddresses(config);
  // What could not be done is said in a sentence; attempts that are repeated are not worth a line to a person who waits.
  const logger = createLogger({ ...config, LOG_LEVEL: config.LOG_LEVEL ?? 'error' }, 'cli', 'warn');
  const pool = openPool(databaseUrl, { logger, max: 4, queryTimeoutMs });
  const store = connectEventStore({ url: eventStoreUrl, logger });
  const clock = createClock({ realNowMs, offsetSeconds: config.REELTALLY_CLOCK_OFFSET_SECONDS });
  // A command that needs no time does its work all the same.
  await measureClock(pool, clock).catch(() => undefined);
  const measuring = keepMeasuring(pool, clock);
  const { now } = clock;
  const lanes = new UsageLanes({ store, now, newId: newUuid });
  const closing = { store, pool, now, newUuid, logger, lanes, graceSeconds: config.CLOSING_GRACE_SECONDS };
  const setAside = new Map<string, number>();
  try {
    await command({
      ...{ store, pool, now, newUuid, newId, randomBits, plans: config.plans, lanes, output },
      books: createBooks(pool),
      issuer: config.INVOICE_ISSUER,
      closePeriods: () => closePeriods(closing, { setAside }),
      actor: { type: 'staff', id: operatorName(), role: 'operator', reason: 'command line' },
      hasProjector: () => isLed(pool, 'projector'),
    });
  } finally {
    await store.close();
    await measuring.stop();
    await pool.end();
  }
}
