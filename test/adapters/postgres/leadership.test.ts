import type pg from 'pg';
import { type Logger, pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { leadWhenAlone } from '../../../src/adapters/postgres/leadership.ts';
import { openPatientPool } from '../../support/patient-pool.ts';
import { connectClient, countRows, createDatabase, type TestDatabase } from '../../support/postgres.ts';
import { startPostgresProxy } from '../../support/postgres-proxy.ts';
import { atMostMs } from '../../support/proof-scale.ts';
import { waitFor } from '../../support/wait-for.ts';

const silent: Logger = pino({ level: 'silent' });

let database: TestDatabase;
let administrator: pg.Client;
beforeAll(async () => {
  database = await createDatabase();
  administrator = await connectClient(database.url);
});
afterAll(async () => {
  await administrator.end();
  await database.drop();
});

interface Candidate {
  name: string;
  /** How often it has begun to lead. */
  terms: number;
  close: () => Promise<void>;
}

/** Who acts now; a name comes in when it begins to lead and goes when it was told to stop. */
let acting: string[] = [];
let candidates: Candidate[] = [];
beforeEach(() => {
  [acting, candidates] = [[], []];
});
afterEach(() => Promise.all(candidates.map((candidate) => candidate.close())));

function stand(
  name: string,
  role: 'projector' | 'dispatcher' = 'dispatcher',
  url = database.url,
  logger = silent,
): Candidate {
  const candidate: Candidate = { name, terms: 0, close: () => holder.close() };
  const holder = leadWhenAlone(role, {
    url,
    logger,
    lead: () => {
      candidate.terms += 1;
      acting.push(name);
      return async () => {
        acting = acting.filter((each) => each !== name);
      };
    },
  });
  candidates.push(candidate);
  return candidate;
}

const isLeading = ({ name }: Candidate) => acting.includes(name);
const leads = (candidate: Candidate) => waitFor(() => isLeading(candidate), { what: `${candidate.name} to lead` });

async function lockHolders(): Promise<number[]> {
  const { rows } = await administrator.query<{ pid: number }>(
    `select pid from pg_locks where locktype = 'advisory' and granted
       and database = (select oid from pg_database where datname = current_database())`,
  );
  return rows.map(({ pid }) => pid);
}

describe('of two that want to lead', () => {
  it('one does, and the other when that one stops', async () => {
    const first = stand('first');
    await leads(first);
    const second = stand('second');
    await waitFor(async () => (await candidateConnections()) >= 2, { what: 'the second to ask' });
    expect(acting).toEqual(['first']);
    await first.close();
    expect(isLeading(first)).toBe(false);
    await leads(second);
    expect(acting).toEqual(['second']);
  });

  it('the other does when the connection of the first is lost, and the first is told to stop', async () => {
    const [first, second] = [stand('first'), stand('second')];
    await waitFor(() => acting.length > 0, { what: 'a leader' });
    const leader = isLeading(first) ? first : second;
    const standby = leader === first ? second : first;
    const [pid] = await lockHolders();
    await administrator.query('select pg_terminate_backend($1)', [pid]);
    await waitFor(() => !acting.includes(leader.name) || leader.terms > 1, { what: 'the leader to stop' });
    await waitFor(() => acting.length === 1 && (standby.terms === 1 || leader.terms === 2), { what: 'a new leader' });
    expect(await lockHolders()).toHaveLength(1);
  });

  it('both do for different roles', async () => {
    const [one, other] = [stand('projector', 'projector'), stand('dispatcher', 'dispatcher')];
    await Promise.all([leads(one), leads(other)]);
    expect(acting.sort()).toEqual(['dispatcher', 'projector']);
  });
});

it('without Postgres nobody leads, and standing by ends at once', async () => {
  const candidate = stand('alone', 'dispatcher', 'postgres://127.0.0.1:1/none');
  const startedAtMs = performance.now();
  await candidate.close();
  expect(performance.now() - startedAtMs).toBeLessThan(atMostMs(900));
  expect(candidate.terms).toBe(0);
});

it('waits for a server that is slow at the start, and calls nothing lost', async () => {
  await using proxy = await startPostgresProxy(database.url);
  // As long as it waits for a server that it has had.
  const other = openPatientPool(proxy.url, { max: 1, connectionTimeoutMs: 3_500 });
  onTestFinished(() => other.end());
  const lines: string[] = [];
  proxy.setHeld(true);
  const candidate = stand(
    'slow',
    'dispatcher',
    proxy.url,
    pino({ level: 'warn' }, { write: (line) => lines.push(line) }),
  );
  await expect(other.query('select')).rejects.toThrow('timeout');
  proxy.setHeld(false);
  await leads(candidate);
  expect(lines).toEqual([]);
});

/** Connections that hold the lock or have asked for it. */
const candidateConnections = (): Promise<number> =>
  countRows(
    administrator,
    `pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()
       and (query like '%advisory_lock%' or query = 'select 1')`,
  );
