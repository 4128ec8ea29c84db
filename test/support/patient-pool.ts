import type { Pool } from 'pg';
import { pino } from 'pino';
import { openPool, type PoolOptions } from '../../src/adapters/postgres/pool.ts';
import { patienceMs } from './wait-for.ts';

/** A pool of the service's own, which waits as long as a busy machine takes to connect and to answer. */
export const openPatientPool = (url: string, options: Pick<PoolOptions, 'max'> & Partial<PoolOptions>): Pool =>
  openPool(url, {
    logger: pino({ level: 'silent' }),
    queryTimeoutMs: patienceMs,
    connectionTimeoutMs: patienceMs,
    ...options,
  });
