import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConnectedEventStore, connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { openPool } from '../../src/adapters/postgres/pool.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import type { UsageAccount } from '../commands/usage-account.ts';
import { silent } from '../projections/read-models-under-test.ts';
import { portOf, startEventStore, type TestEventStore } from '../support/event-store.ts';
import type { Treatment } from '../support/mail-server.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { mailed, mailingUnderTest, mailsTo, useDownloads } from './mailing.ts';

/** A log that is killed in the middle, so one of this file's own. */
const log: Partial<{ store: ConnectedEventStore }> = {};
const dataDirectory = temporaryDirectoryOfFile();
let server: TestEventStore;
beforeAll(async () => {
  server = await startEventStore({ dataDirectory });
  log.store = connectEventStore({ url: server.url });
});
const mailing = mailingUnderTest(log as { store: ConnectedEventStore });
afterAll(async () => {
  await log.store?.close();
  await server.stop();
});

/** The process that has the mail taken while the log goes away, and what it goes on with as the leader once more. */
interface Leader {
  mailerId: string;
  taken: Set<string>;
  pool: Pool;
}

/** Lets the log go away with the mail, and waits until the leader has tried to record it in vain. */
async function takeWithLogAway(leader: Leader, meanwhile: () => Promise<void> = () => Promise.resolve()) {
  const account = await useDownloads(log.store!, 4);
  mailing.server.treat(async (): Promise<Treatment> => {
    await server.kill();
    await meanwhile();
    return 'take';
  });
  const failed: string[] = [];
  const observer = {
    mailSent: () => undefined,
    mailFailed: (_about: string, reason: string) => void failed.push(reason),
  };
  const leading = mailing.start({ ...leader, observer, recordTimeoutMs: 300 });
  await waitFor(() => failed.length > 0, { what: 'an attempt to record it in vain' });
  expect(failed[0]).toBe('other');
  return { account, leading };
}

async function expectOneMail(account: UsageAccount): Promise<void> {
  server = await startEventStore({ dataDirectory, port: portOf(server.url) });
  await mailed(log.store!, account, 1);
  expect(mailsTo(mailing.server.received, account)).toHaveLength(1);
}

const leaderOf = (pool: Pool = mailing.models.pool): Leader => ({ mailerId: newUuid(), taken: new Set(), pool });

describe('a mail that was taken while the log is away waits for its event, and is not sent again', () => {
  it('by the process that sent it', async () => {
    const { account } = await takeWithLogAway(leaderOf());
    await expectOneMail(account);
  });

  it('by the same process when it leads anew', async () => {
    const leader = leaderOf();
    const { account, leading } = await takeWithLogAway(leader);
    await leading.stop();
    mailing.start(leader);
    await expectOneMail(account);
  });

  it('by another process, which need not wait for the claim to grow old', async () => {
    const { account, leading } = await takeWithLogAway(leaderOf());
    await leading.stop();
    mailing.start();
    await expectOneMail(account);
  });

  it('by the same process when it leads anew, where Postgres was away too', async () => {
    const proxy = await startPostgresProxy(mailing.models.url);
    const pool = openPool(proxy.url, { logger: silent, max: 4, queryTimeoutMs: 3_000 });
    const leader = leaderOf(pool);
    const { account, leading } = await takeWithLogAway(leader, async () => {
      await proxy[Symbol.asyncDispose]();
    });
    await leading.stop();
    await pool.end();
    const noted = await mailing.models.pool.query('select from mail_claims where taken_at is not null');
    expect(noted.rowCount).toBe(0);
    mailing.start({ ...leader, pool: mailing.models.pool });
    await expectOneMail(account);
  });
});
