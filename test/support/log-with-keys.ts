import type { Pool } from 'pg';
import type { Secrets } from '../../src/adapters/derive-keys.ts';
import {
  type ConnectedEventStore,
  connectEventStore,
  type EventStoreOptions,
} from '../../src/adapters/event-store/event-store.ts';
import { withPersonalData } from '../../src/adapters/event-store/personal-data.ts';
import { createPersonalKeys } from '../../src/adapters/postgres/personal-keys.ts';
import { patienceMs } from './wait-for.ts';

interface LogWithKeysOptions extends EventStoreOptions {
  /** To the database of the service. */
  pool: Pool;
  /** Those of the service. */
  secrets: Secrets;
}

/** The log of a running service with its personal data, read and written as the service itself does it. */
export const connectLogWithKeys = ({ pool, secrets, ...options }: LogWithKeysOptions): ConnectedEventStore =>
  withPersonalData(connectEventStore({ readTimeoutMs: patienceMs, ...options }), createPersonalKeys(pool, secrets));
