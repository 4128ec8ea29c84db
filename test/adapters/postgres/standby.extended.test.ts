import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createConsoleSessions } from '../../../src/adapters/postgres/console-sessions.ts';
import { createPendingVoids } from '../../../src/adapters/postgres/pending-voids.ts';
import { createPersonalKeys } from '../../../src/adapters/postgres/personal-keys.ts';
import { createStaffSessions } from '../../../src/adapters/postgres/staff-sessions.ts';
import {
  createStoreOnStandby,
  everyCommitWaits,
  isStandbyMissing,
  type StoreOnStandby,
} from '../../../src/adapters/postgres/store-on-standby.ts';
import { pageRefusalOfError } from '../../../src/console/failures.ts';
import type { UnknownAppend } from '../../../src/ports/billing.ts';
import { NotOnStandby } from '../../../src/ports/standby.ts';
import { randomBits } from '../../../src/system/clock-and-chance.ts';
import { testMacs, testSecrets } from '../../projections/read-models-under-test.ts';
import { openPatientPool } from '../../support/patient-pool.ts';
import { withClient } from '../../support/postgres.ts';
import { type PostgresPair, startPostgresPair } from '../../support/postgres-pair.ts';
import { waitFor } from '../../support/wait-for.ts';

let pair: PostgresPair;
let pool: Pool;
/** Looks on while the connections of `pool` may wait. */
let observing: Pool;
const open: Pool[] = [];

type Settings = Readonly<Record<string, string>>;

function openOne(url: string, max: number, settings: Settings = {}): Pool {
  const opened = openPatientPool(url, { max, settings });
  open.push(opened);
  return opened;
}

beforeAll(async () => {
  pair = await startPostgresPair();
  pool = openOne(pair.primaryUrl, 2);
  observing = openOne(pair.primaryUrl, 1);
});
afterAll(async () => {
  await Promise.all(open.map((each) => each.end()));
  await pair[Symbol.asyncDispose]();
});
beforeEach(async () => {
  pair.between.setHeld(false);
  await pair.isFollowed();
});

/** What a process has for it. @param settings of its sessions */
const standbyOf = (settings?: Settings): StoreOnStandby =>
  createStoreOnStandby({ waiting: openOne(pair.primaryUrl, 4, settings), cancelling: pool });

function add(storeOnStandby = standbyOf()): Promise<boolean> {
  const said = { macs: testMacs, now: () => '2026-11-14T11:59:59.000Z', process: 'api test 1' };
  return createPendingVoids(pool, { ...said, storeOnStandby }).add(append(), { kind: 'download', token: 't' });
}
const ownerSessions = () => createConsoleSessions(pool, { macs: testMacs, storeOnStandby: standbyOf() });
const staffSessions = () => createStaffSessions(pool, { macs: testMacs, randomBits, storeOnStandby: standbyOf() });

function append(): UnknownAppend {
  const id = randomUUID();
  const event = { id, type: 'DownloadQueued', data: { token: id }, metadata: {} };
  return { accountId: 'acc_a', stream: `usage-acc_a-${id}`, expected: 0, events: [event] };
}

const makeKey = (subject: string, storeOnStandby = standbyOf()) =>
  createPersonalKeys(pool, testSecrets, storeOnStandby).make({ subject, kind: 'personal' });

const owner = { sessionId: 'ses_a', accountId: 'acc_a', personId: 'per_a', formToken: '' };

async function addSessions(): Promise<void> {
  await pool.query(
    `insert into console_sessions values (sha256('a'), 'ses_a', 'acc_a', 'per_a', '', now(), now(), '') on conflict do nothing`,
  );
  await pool.query(
    `insert into staff_sessions values (sha256('b'), 'ses_b', 'stf_b', 'admin', '', now(), now(), '') on conflict do nothing`,
  );
}

/** What clients and people are told, by what has to be so from then on. */
const promises = {
  'a pending void': {
    make: () => add(),
    holds: 'exists (select from pending_voids)',
  },
  "the end of an owner's session": {
    make: () => ownerSessions().end(owner, owner.sessionId),
    holds: 'not exists (select from console_sessions)',
  },
  "the end of all of an owner's sessions": {
    make: () => ownerSessions().endAll(owner),
    holds: 'not exists (select from console_sessions)',
  },
  'the end of a session of staff': {
    make: () => staffSessions().end('stf_b', 'ses_b'),
    holds: 'not exists (select from staff_sessions)',
  },
  'the end of all sessions of staff': {
    make: () => staffSessions().endAll('stf_b'),
    holds: 'not exists (select from staff_sessions)',
  },
};

async function isSo(condition: string, url = pair.primaryUrl): Promise<boolean> {
  const { rows } = await withClient(url, (client) => client.query<{ is_so: boolean }>(`select ${condition} as is_so`));
  return rows[0]?.is_so === true;
}

async function waitingPids(): Promise<number[]> {
  const { rows } = await observing.query<{ pid: number }>(
    "select pid from pg_stat_activity where wait_event = 'SyncRep'",
  );
  return rows.map(({ pid }) => pid);
}

const someoneWaits = () =>
  waitFor(async () => (await waitingPids())[0], { what: 'a commit that waits for the standby' });

const cancelOne = async () => pool.query('select pg_cancel_backend($1)', [await someoneWaits()]);

const outcomeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'made',
    (error: unknown) => error,
  );

it('without the standby nothing is confirmed, not even what is so already, and all stands where it is', async () => {
  await pool.query('delete from pending_voids');
  await addSessions();
  pair.between.setHeld(true);
  // The end of all sessions finds none after the end of the only one.
  const outcomes = await Promise.all(Object.values(promises).map(({ make }) => outcomeOf(make())));
  for (const outcome of outcomes) {
    expect(outcome).toBeInstanceOf(NotOnStandby);
    expect(pageRefusalOfError(outcome)?.refusal.title).toBe('The outcome is not known');
  }
  for (const { holds } of Object.values(promises)) expect([holds, await isSo(holds)]).toEqual([holds, true]);
});

it('without the standby no key of personal data is made, which somebody could find and use', async () => {
  pair.between.setHeld(true);
  expect(await outcomeOf(makeKey('acc_a'))).toMatchObject({
    name: 'EventStoreUnavailable',
    cause: expect.any(NotOnStandby) as Error,
  });
  expect(await isSo('exists (select from personal_keys)')).toBe(false);
});

it('a key of personal data is not confirmed if the standby goes away while it is made', async () => {
  const storeOnStandby = standbyOf();
  const holding: StoreOnStandby = (work) =>
    storeOnStandby(async (client) => {
      const result = await work(client);
      pair.between.setHeld(result !== undefined);
      return result;
    });
  expect(await outcomeOf(makeKey('acc_a', holding))).toMatchObject({ name: 'EventStoreUnavailable' });
});

it('others do not wait: not for the standby, and not for those that do', async () => {
  pair.between.setHeld(true);
  const storeOnStandby = standbyOf();
  let ended = 0;
  const adding = Array.from({ length: 12 }, () => outcomeOf(add(storeOnStandby)).finally(() => (ended += 1)));
  await waitFor(async () => (await waitingPids()).length === 4, { what: 'commits that wait for the standby' });
  await addSessions();
  await pool.query('insert into worker_heartbeats (worker_id) values ($1)', [randomUUID()]);
  expect(ended).toBe(0);
  const outcomes = await Promise.all(adding);
  expect(outcomes.filter((outcome) => outcome === 'made')).toEqual([]);
  expect(await waitingPids()).toEqual([]);
});

it('a commit whose wait somebody cancels is not confirmed', async () => {
  pair.between.setHeld(true);
  const adding = outcomeOf(add());
  await cancelOne();
  expect(String(await adding)).toMatch(/^NotOnStandby: .* due to user request$/);
});

it('one whose session wants to hear no warnings is not confirmed either', async () => {
  pair.between.setHeld(true);
  const adding = outcomeOf(add(standbyOf({ client_min_messages: 'error' })));
  await cancelOne();
  expect(await adding).toBeInstanceOf(NotOnStandby);
});

it('a standby that does not follow is missing', async () => {
  expect(await isStandbyMissing(pool)).toBe(false);
  pair.between.setAway(true);
  await waitFor(() => isStandbyMissing(pool), { what: 'the standby to be missing' });
  pair.between.setAway(false);
  await waitFor(async () => !(await isStandbyMissing(pool)), { what: 'the standby to be back' });
});

it('a user for whom every commit waits is found', async () => {
  expect(await everyCommitWaits(pool)).toBe(false);
  for (const [setting, waits] of Object.entries({ on: true, remote_apply: true, remote_write: true, off: false }))
    expect([setting, await everyCommitWaits(openOne(pair.primaryUrl, 1, { synchronous_commit: setting }))]).toEqual([
      ...[setting, waits],
    ]);
});

it('what was confirmed is there when the standby is promoted', async () => {
  await pool.query('delete from pending_voids');
  await addSessions();
  await pair.isFollowed();
  pair.between.setHeld(true);
  const all = [
    ...Object.values(promises),
    { make: () => makeKey('acc_b'), holds: "exists (select from personal_keys where subject = 'acc_b')" },
  ];
  const making = all.map(({ make }) => outcomeOf(make()));
  // Where the standby is not asked, they are made by now, and their bytes go nowhere.
  await Promise.race([Promise.all(making), someoneWaits().then(() => pair.between.setHeld(false))]);
  expect(await Promise.all(making)).toEqual(making.map(() => 'made'));
  await pair.failOver();
  for (const { holds } of all) expect([holds, await isSo(holds, pair.standbyUrl)]).toEqual([holds, true]);
});
