import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { readRequestsOfKeys } from '../../../projections/queries/requests-of-keys.ts';
import { KeyRequests } from '../../../src/adapters/postgres/key-requests.ts';
import { openPool } from '../../../src/adapters/postgres/pool.ts';
import { ServicePart } from '../../../src/ports/service-parts.ts';
import { silent, testMacs } from '../../projections/read-models-under-test.ts';
import { createMigratedDatabase } from '../../support/postgres.ts';
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

let proxy: PostgresProxy;
let pool: pg.Pool;
let part: ServicePart;

beforeAll(async () => {
  const database = await createMigratedDatabase();
  proxy = await startPostgresProxy(database.url);
  pool = openPool(proxy.url, { logger: silent, max: 4, queryTimeoutMs: patienceMs });
});
beforeEach(async () => {
  part = new ServicePart('the requests of keys', silent);
  await pool.query('delete from key_requests');
});
afterAll(async () => {
  await pool.end();
  await proxy[Symbol.asyncDispose]();
});

const [accountId, keyId] = ['acc_aaaaaaaaaaaaaaaa', 'key_a'];
const november = { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' };

/** @param times of requests, of which the last is told again and again */
function counting(times: readonly string[], writeEveryMs?: number): KeyRequests {
  const left = [...times];
  const now = () => (left.length > 1 ? left.shift() : left[0]) ?? '';
  return new KeyRequests(pool, { now, part, ...(writeEveryMs !== undefined && { writeEveryMs }) });
}

function ask(requests: KeyRequests, count: number, errorCode?: 'rate_limited' | 'not_found', id = keyId): void {
  for (let sent = 0; sent < count; sent += 1) requests.requestEnded({ key: { accountId, keyId: id }, errorCode });
}

const noon = (day: number) => `2026-11-${String(day).padStart(2, '0')}T12:00:00.000Z`;
const read = async () => (await readRequestsOfKeys(pool, { accountId, period: november, macs: testMacs })).keys;

it('are listed by key and day of a billing period', async () => {
  const requests = counting([...Array<string>(3).fill(noon(14)), '2026-11-14T23:59:59.999Z', noon(15)]);
  ask(requests, 3);
  ask(requests, 1, 'not_found');
  ask(requests, 2, 'rate_limited');
  ask(requests, 1, undefined, 'key_b');
  requests.requestEnded({ key: undefined, errorCode: 'unauthorized' });
  await requests.close();
  const other = counting(['2026-10-31T23:59:59.999Z', noon(15)]);
  ask(other, 2);
  await other.close();
  const nameless = { key_prefix: null, label: null };
  expect(await read()).toEqual([
    {
      key_id: 'key_a',
      ...nameless,
      answered: 5,
      limited: 2,
      days: [
        { day: '2026-11-14', answered: 4, limited: 0 },
        { day: '2026-11-15', answered: 1, limited: 2 },
      ],
    },
    { key_id: 'key_b', ...nameless, answered: 1, limited: 0, days: [{ day: '2026-11-15', answered: 1, limited: 0 }] },
  ]);
});

it('of 400 days ago are removed', async () => {
  for (const day of ['2025-10-09', '2025-10-10', '2025-10-11', '2026-11-14']) {
    const requests = counting([`${day}T12:00:00.000Z`]);
    ask(requests, 1);
    await requests.close();
  }
  const { rows } = await pool.query<{ text: string }>('select day::text as text from key_requests order by day');
  expect(rows.map(({ text }) => text)).toEqual(['2025-10-10', '2025-10-11', '2026-11-14']);
});

it('are kept while Postgres is away, and added once it is back', async () => {
  const requests = counting([noon(14)], 20);
  ask(requests, 2);
  await waitFor(async () => (await read()).length > 0, { what: 'the first counts' });
  proxy.setAway(true);
  ask(requests, 3);
  await waitFor(() => part.failures > 0, { what: 'a write that fails' });
  ask(requests, 4);
  proxy.setAway(false);
  await waitFor(async () => (await read())[0]?.answered === 9, { what: 'all counts' });
  expect(part.failures).toBe(0);
  await requests.close();
  expect(await read()).toMatchObject([{ answered: 9, limited: 0 }]);
});

it('are not counted, and do no harm, while the clock is wrong', async () => {
  const requests = new KeyRequests(pool, {
    now: () => {
      throw new Error('the clock is wrong');
    },
    part,
  });
  ask(requests, 1);
  await requests.close();
  expect(await read()).toEqual([]);
});

it('do not delay a stop while Postgres says nothing', async () => {
  const requests = counting([noon(14)]);
  ask(requests, 1);
  proxy.setHeld(true);
  await requests.close();
  proxy.setHeld(false);
  await waitFor(async () => (await read()).length > 0, { what: 'the count, which had arrived' });
});
