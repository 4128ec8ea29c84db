import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { notesFolder } from '../../src/adapters/files/file-key.ts';
import { appendAll, GeneratedAccount } from '../projections/generated-account.ts';
import { clockOffset } from '../support/clock-offset.ts';
import { installationOfFile } from '../support/installation.ts';
import { openPatientPool } from '../support/patient-pool.ts';
import { countRows } from '../support/postgres.ts';
import { scaled } from '../support/proof-scale.ts';
import { readLog } from '../support/read-log.ts';
import { waitFor } from '../support/wait-for.ts';

/** A dispatcher that expires and removes files, killed over and over in the middle of it. */
const installation = installationOfFile();
beforeAll(() => installation.allowShiftedClock());
let pool: Pool;
let filesDirectory: string;

const kills = scaled(2, 20);
const jobs = kills * 40;
/** Of each five jobs two have to expire, one has expired and one has failed; the last is running, and stays. */
const [toExpire, toRemove] = [(jobs / 5) * 2, (jobs / 5) * 4];
const foreign = 'of-another-installation';

beforeAll(async () => {
  const { environment } = installation;
  filesDirectory = join(environment['REELTALLY_DATA'] ?? '', 'files');
  pool = openPatientPool(environment.DATABASE_URL, { max: 2 });
  await installation.startRole('projector');
  const store = connectEventStore({ url: environment.EVENTSTORE_URL });
  try {
    const account = new GeneratedAccount();
    const works = [account.open(), [account.queue(jobs)]];
    for (const appends of [...works, account.work()]) await appendAll(store, appends);
  } finally {
    await store.close();
  }
  const tokens = new Set((await readLog(environment.EVENTSTORE_URL, 'job-')).map(({ stream }) => stream.slice(4)));
  for (const token of [...tokens, foreign]) {
    mkdirSync(join(filesDirectory, token, '0'), { recursive: true });
    writeFileSync(join(filesDirectory, token, '0', 'media.mp4'), 'a film');
  }
  await waitFor(async () => (await count("status <> 'queued'")) === jobs, {
    what: 'the read model',
  });
});

afterAll(() => pool.end());

/** Folders of finished files. The dispatcher keeps its signed notes beside them, once it has invoiced the account. */
const foldersOfFiles = () => readdirSync(filesDirectory).filter((name) => name !== notesFolder);

const count = (condition: string): Promise<number> => countRows(pool, `jobs where ${condition}`);

/**
 * Kills a dispatcher, at a time of its own, as soon as so much more of its work is done. It may have done more than that before it
 * was killed the last time, and all of it.
 */
async function killAfter(
  done: () => Promise<number> | number,
  more: number,
  { all, offsetSeconds }: { all: number; offsetSeconds: number },
): Promise<void> {
  const enough = Math.min((await done()) + more, all);
  const dispatcher = await installation.startRole('dispatcher', clockOffset(offsetSeconds));
  await waitFor(async () => (await done()) >= enough, {
    what: 'a part of the work',
    pollMs: 1,
  });
  await dispatcher.kill();
}

test('each file expires once and goes once its links are over, whenever the dispatcher is killed', async () => {
  const expired = () => count('file_expired_at is not null');
  const removed = () => jobs + 1 - foldersOfFiles().length;
  const alreadyExpired = await expired();
  const expiring = { all: alreadyExpired + toExpire, offsetSeconds: 0 };
  const removing = { all: toRemove, offsetSeconds: 7_200 };
  const parts = fc.sample(fc.integer({ min: 1, max: Math.floor(toExpire / kills) - 1 }), kills);
  for (const part of parts) await killAfter(expired, part, expiring);
  await killAfter(expired, toExpire, expiring);
  for (const part of parts) await killAfter(removed, part, removing);
  await killAfter(removed, toRemove, removing);

  expect([await expired(), alreadyExpired]).toEqual([(jobs / 5) * 3, jobs / 5]);
  const events = await installation.readLog('job-');
  const expiries = events.filter(({ type }) => type === 'FileExpired').map(({ stream }) => stream);
  expect(new Set(expiries).size).toBe(expiries.length);
  expect(expiries).toHaveLength((jobs / 5) * 3);
  // Their workers never were: the sweeper has queued them again.
  expect(await count(`status in ('queued', 'claimed', 'running')`)).toBe(jobs / 5);
  expect(foldersOfFiles()).toHaveLength(jobs / 5 + 1);
  expect(existsSync(join(filesDirectory, foreign, '0', 'media.mp4'))).toBe(true);
  const { events: verified } = await installation.cli<{ events: number }>(['ledger', 'verify']);
  expect(verified).toBeGreaterThan(jobs * 5);
  console.log(
    `${String(2 * kills)} kills; of ${String(jobs)} jobs ${String(toExpire)} expired, ${String(toRemove)} removed`,
  );
});
