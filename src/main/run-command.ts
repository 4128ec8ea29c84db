import { connectEventStore } from '../adapters/event-store.ts';
import { isLed } from '../adapters/leadership.ts';
import { clockSkewMs, createBooks, openPool } from '../adapters/postgres.ts';
import { newId, newUuid, randomBits, systemClock } from '../adapters/system.ts';
import type { InvoicesCli } from '../cli/invoices.ts';
import type { Output } from '../cli/output.ts';
import { commandTimeoutMs, tellWait } from '../cli/waiting.ts';
import type { EventStore, WholeLog } from '../commands/ports.ts';
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
  { queryTimeoutMs = commandTimeoutMs }: { queryTimeoutMs?: number } = {},
): Promise<void> {
  const config = readConfig();
  const { eventStoreUrl, databaseUrl } = findAddresses(config);
  // What could not be done is said in a sentence; attempts that are repeated are not worth a line to a person who waits.
  const logger = createLogger({ ...config, LOG_LEVEL: config.LOG_LEVEL ?? 'error' }, 'cli', 'warn');
  const pool = openPool(databaseUrl, { logger, max: 4, queryTimeoutMs, connectionTimeoutMs: commandTimeoutMs });
  const connected = connectEventStore({ url: eventStoreUrl, logger, readTimeoutMs: commandTimeoutMs });
  const store = tellingWaits(connected, output);
  const { now, realNowMs } = systemClock(config.REELTALLY_CLOCK_OFFSET_SECONDS);
  const lanes = new UsageLanes({ store, now, newId: newUuid });
  const closing = {
    ...{ store, pool, now, newUuid, logger, lanes, graceSeconds: config.CLOSING_GRACE_SECONDS },
    clockSkewMs: () => clockSkewMs(pool, realNowMs),
  };
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
    await connected.close();
    await pool.end();
  }
}

/** The log, of which a person is told while it keeps a command waiting. */
function tellingWaits(store: EventStore & WholeLog, output: Output): EventStore & WholeLog {
  const told = <Value>(work: Promise<Value>) => tellWait(output, 'the event store', work);
  return {
    append: (...asked) => told(store.append(...asked)),
    read: (...asked) => told(store.read(...asked)),
    readAll: (...asked) => told(store.readAll(...asked)),
    headPosition: () => told(store.headPosition()),
    newestPosition: (...asked) => told(store.newestPosition(...asked)),
    subscribe: (options) => store.subscribe(options),
  };
}
