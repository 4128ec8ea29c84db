import { readdirSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startHeartbeat } from '../../../src/adapters/postgres/heartbeat.ts';
import { migrate } from '../../../src/adapters/postgres/migrations.ts';
import { openPool, startPatienceMs, waitAsRequestsDo } from '../../../src/adapters/postgres/pool.ts';
import { migrationsDirectory } from '../../../src/main/schema.ts';
import { openPatientPool } from '../../support/patient-pool.ts';
import { createDatabase } from '../../support/postgres.ts';
import { startPostgresProxy } from '../../support/postgres-proxy.ts';
import { atMostMs } from '../../support/proof-scale.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

const logger = pino({ level: 'silent' });

/** As many pools on one fresh database as there are processes. */
async function openPools(processes: number, queryTimeoutMs = patienceMs): Promise<Pool[]> {
  const database = await createDatabase();
  const pools = Array.from({ length: processes }, () => openPatientPool(database.url, { max: 2, queryTimeoutMs }));
  onTestFinished(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await database.drop();
  });
  return pools;
}

const tablesOf = async (pool: Pool): Promise<unknown[]> =>
  (await pool.query<object>("select tablename from pg_tables where schemaname = 'public' order by 1")).rows;

describe('migrations', () => {
  it('run once each, by whichever of several processes that start at one time', async () => {
    const pools = await openPools(4);
    await Promise.all(pools.map((pool) => migrate(pool, migrationsDirectory)));
    const [pool] = pools;
    const { rows } = await pool!.query('select name from schema_migrations order by name');
    expect(rows).toEqual(
      readdirSync(migrationsDirectory)
        .sort()
        .map((name) => ({ name })),
    );
    const tables = await tablesOf(pool!);
    await migrate(pool!, migrationsDirectory);
    expect(await tablesOf(pool!)).toEqual(tables);
  });

  it('go on where an older version stopped', async () => {
    const [pool] = await openPools(1);
    const directory = temporaryDirectory();
    writeFileSync(join(directory, '0001-first.sql'), 'create table first (id int)');
    await migrate(pool!, directory);
    writeFileSync(join(directory, '0002-second.sql'), 'alter table first add column name text');
    writeFileSync(join(directory, 'notes.txt'), 'not a migration');
    await migrate(pool!, directory);
    await pool!.query('select id, name from first');
  });

  it('that fail leave nothing of themselves, and nothing locked', async () => {
    const pools = await openPools(2);
    const directory = temporaryDirectory();
    writeFileSync(join(directory, '0001-first.sql'), 'create table first (id int)');
    writeFileSync(join(directory, '0002-second.sql'), 'create table second (id int); select 1 / 0');
    await expect(migrate(pools[0]!, directory)).rejects.toThrow('division by zero');
    expect(await tablesOf(pools[1]!)).toEqual([{ tablename: 'first' }, { tablename: 'schema_migrations' }]);
    writeFileSync(join(directory, '0002-second.sql'), 'create table second (id int)');
    await migrate(pools[1]!, directory);
    expect(await tablesOf(pools[1]!)).toHaveLength(3);
  });

  it('take as long as they take, whatever the limit for statements is', async () => {
    const [pool] = await openPools(1, 1_000);
    const directory = temporaryDirectory();
    writeFileSync(join(directory, '0001-slow.sql'), 'select pg_sleep(3); create table slow (id int)');
    await migrate(pool!, directory);
    await pool!.query('select id from slow');
  });

  it('let others read the tables that they wait for', async () => {
    const [pool, other] = await openPools(2);
    const directory = temporaryDirectory();
    await pool!.query('create table wanted (id int)');
    const reading = await other!.connect();
    await reading.query('begin; select from wanted');
    writeFileSync(join(directory, '0001-first.sql'), 'alter table wanted add column name text');
    const migrated = migrate(pool!, directory);
    const waiting = "select from pg_locks where not granted and relation = 'wanted'::regclass";
    await waitFor(async () => (await reading.query(waiting)).rowCount === 1, { what: 'the migration to wait' });
    await other!.query('select from wanted');
    await reading.query('rollback');
    reading.release();
    await migrated;
    await pool!.query('select name from wanted');
  });

  it('make no second set of tables where the search path of the role or the database has changed', async () => {
    const [pool, later] = await openPools(2);
    await migrate(pool!, migrationsDirectory);
    await pool!.query(`create schema other; do $$ begin
      execute format('alter database %I set search_path = other', current_database()); end $$`);
    await expect(migrate(later!, migrationsDirectory)).rejects.toThrow(
      'its tables are in the schema public, which is not in the search_path (other)',
    );
  });

  it('of a newer version are refused by an older one', async () => {
    const [pool] = await openPools(1);
    const directory = temporaryDirectory();
    await cp(migrationsDirectory, directory, { recursive: true });
    writeFileSync(join(directory, '9999-future.sql'), 'create table future (id int)');
    await migrate(pool!, directory);
    await expect(migrate(pool!, migrationsDirectory)).rejects.toThrow(
      '9999-future.sql, which this version does not know',
    );
  });
});

describe('a pool', () => {
  it('goes on after its connections were lost, the idle ones and one that is held', async () => {
    const [pool, other] = await openPools(2);
    const [idle, held] = [await pool!.connect(), await pool!.connect()];
    const pidOf = async (client: typeof idle) =>
      (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
    const pids = [await pidOf(idle), await pidOf(held)];
    idle.release();
    await other!.query('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [pids]);
    const hasAnswer = (connection: Pick<Pool, 'query'>) => connection.query('select 1').then(Boolean, () => false);
    await waitFor(async () => !(await hasAnswer(held)), { what: 'the lost connection' });
    held.release(true);
    await waitFor(() => hasAnswer(pool!), { what: 'a new connection' });
  });

  it('waits for a connection as long as a start does, and as long as a request once that is over', async () => {
    await using database = await createDatabase();
    await using proxy = await startPostgresProxy(database.url);
    const openStarting = () =>
      openPool(proxy.url, { logger, max: 2, queryTimeoutMs: patienceMs, connectionTimeoutMs: startPatienceMs });
    const [pool, other] = [openStarting(), openStarting()];
    for (const one of [pool, other]) onTestFinished(() => one.end());
    waitAsRequestsDo(other);
    proxy.setHeld(true);
    const answer = pool.query('select 1');
    await expect(other.query('select 1')).rejects.toThrow(/timeout/i);
    proxy.setHeld(false);
    await answer;
  });

  it('does not wait for ever for an answer', async () => {
    const [pool] = await openPools(1, 200);
    const startedAtMs = performance.now();
    await expect(pool!.query('select pg_sleep(60)')).rejects.toThrow(/timeout/i);
    expect(performance.now() - startedAtMs).toBeLessThan(atMostMs(3_000));
  });

  it('gives up before the server does: callers know its own error as an outage, and take one of the server for a refusal', async () => {
    const [pool] = await openPools(1, 100);
    const asked = Array.from({ length: 40 }, () => pool!.query('select pg_sleep(5)').catch(String));
    const errors = await Promise.all(asked);
    // On a busy machine, some may wait too long for a connection.
    expect(errors).toContain('Error: Query read timeout');
    expect(errors).not.toContainEqual(expect.stringContaining('canceling statement'));
  });

  it('leaves no statement behind that waits for a lock', async () => {
    const [pool, other] = await openPools(2, 500);
    await pool!.query('create table locked (id int)');
    const locking = await other!.connect();
    await locking.query('begin; lock table locked in access exclusive mode');
    await expect(pool!.query('insert into locked values (1)')).rejects.toThrow(/timeout/i);
    const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    const isOver = async () => (await locking.query(waiting)).rowCount === 0;
    await waitFor(isOver, { what: 'the end of the statement' });
    await locking.query('rollback');
    locking.release();
  });
});

it('a heart beats as a row, which goes when it is stopped in order', async () => {
  const [pool] = await openPools(1);
  await migrate(pool!, migrationsDirectory);
  const beats = async (): Promise<unknown[]> =>
    (
      await pool!.query<object>(
        "select worker_id, about, beaten_at > clock_timestamp() - interval '1 minute' as now from worker_heartbeats",
      )
    ).rows;
  const about = () => Promise.resolve({ slots: 2 });
  const heartbeat = await startHeartbeat(pool!, { workerId: 'wrk_aaaaaaaaaaaaaaaa', about, logger });
  expect(await beats()).toEqual([{ worker_id: 'wrk_aaaaaaaaaaaaaaaa', about: { slots: 2 }, now: true }]);
  await heartbeat.stop();
  expect(await beats()).toEqual([]);
});
