import { afterAll, beforeAll, beforeEach, onTestFailed } from 'vitest';
import { type ConnectedEventStore, connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import type { EndOfCatchUp } from '../../src/embedded/event-store/checkpoints.ts';
import { rememberingLogger } from '../projections/read-models-under-test.ts';
import { foreignUrl } from '../support/event-store-under-test.ts';
import { openEventStore, type SharedEventStore } from '../support/shared-event-stores.ts';
import { patienceMs } from '../support/wait-for.ts';

export interface LogUnderTest {
  store: ConnectedEventStore;
  url: string;
}

/** A log for the tests of one file, and the one connection to it that a process may have. */
export function logUnderTest(endOfCatchUp?: EndOfCatchUp): LogUnderTest {
  const log: Partial<LogUnderTest> = {};
  let own: SharedEventStore | undefined;
  const { logger, text } = rememberingLogger();
  beforeEach(() => onTestFailed(() => console.error(text())));
  beforeAll(async () => {
    own = foreignUrl === undefined ? await openEventStore(endOfCatchUp) : undefined;
    log.url = own?.url ?? foreignUrl ?? '';
    log.store = connectEventStore({ url: log.url, logger, readTimeoutMs: patienceMs });
  });
  afterAll(async () => {
    await log.store?.close();
    await own?.stop();
  });
  return log as LogUnderTest;
}
