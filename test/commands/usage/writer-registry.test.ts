import { describe, expect, it } from 'vitest';
import type { WriterRegistry } from '../../../src/commands/usage/writer-registry.ts';
import type { UsageSnapshot } from '../../../src/domain/usage-state.ts';
import { type EventStore, EventStoreUnavailable } from '../../../src/ports/event-store.ts';
import { queueDownload, token } from '../../domain/usage-examples.ts';
import { logUnderTest } from '../log-under-test.ts';
import { changedLog } from '../noted-reads.ts';
import {
  ask,
  foldUsage,
  freshCause,
  openUsage,
  queueAll,
  upFrom,
  type UsageAccount,
  writersOf,
} from '../usage-account.ts';

const log = logUnderTest();

const inDecember = () => '2026-12-05T00:00:00.000Z';

function find(writers: WriterRegistry, { accountId }: UsageAccount, number: number, row: UsageSnapshot) {
  const deadlineMs = performance.now() + 10_000;
  return writers.findQueued(accountId, token(number), { cause: freshCause(), snapshot: row, deadlineMs });
}

/** The row that a read model would hold of a stream, up to a revision. */
const rowUpTo = ({ stream }: UsageAccount, revision: number) => foldUsage(log.store, stream, revision);

describe('a download that the read model has no row for', () => {
  it('is found in the log, where it was queued by this process or by another', async () => {
    const account = await openUsage(log.store);
    const writers = writersOf(log.store);
    await ask(writers, account, queueDownload(1));
    await ask(writersOf(log.store), account, queueDownload(2));
    const row = await rowUpTo(account, 0);
    expect(await find(writers, account, 1, row)).toMatchObject({
      token: token(1),
      stream: account.stream,
      revision: 2,
    });
    expect(await find(writers, account, 2, row)).toMatchObject({
      token: token(2),
      stream: account.stream,
      revision: 4,
    });
  });

  it('is found beyond the end of the period that the row is of', async () => {
    const account = await openUsage(log.store);
    const row = await rowUpTo(account, 0);
    await ask(writersOf(log.store, inDecember), account, queueDownload(1));
    const writers = writersOf(log.store, inDecember);
    expect(await find(writers, account, 1, row)).toMatchObject({ token: token(1), revision: 2 });
  });

  it('is found there although the first read of the next period fails', async () => {
    const account = await openUsage(log.store);
    const row = await rowUpTo(account, 0);
    await ask(writersOf(log.store, inDecember), account, queueDownload(1));
    let failures = 0;
    const read: EventStore['read'] = (stream, ...rest) => {
      if (stream !== account.stream && (failures += 1) === 1)
        return Promise.reject(new EventStoreUnavailable('away for a moment'));
      return log.store.read(stream, ...rest);
    };
    const writers = writersOf(changedLog(log.store, { read }), inDecember);
    expect(await find(writers, account, 1, row)).toMatchObject({ token: token(1), revision: 2 });
    expect(failures).toBeGreaterThan(1);
  });

  it('is found although this process started from a newer row than the one that missed it', async () => {
    const account = await openUsage(log.store);
    const olderRow = await rowUpTo(account, 0);
    await queueAll(writersOf(log.store), account, upFrom(1, 3));
    const newerRow = await rowUpTo(account, 6);
    const writers = writersOf(log.store);
    await ask(writers, account, { kind: 'query' }, { snapshot: newerRow });
    expect(await find(writers, account, 2, olderRow)).toMatchObject({ token: token(2), revision: 4 });
    expect(await find(writers, account, 9, olderRow)).toBeUndefined();
  });

  it('is not denied while the events between the two rows cannot be read', async () => {
    const account = await openUsage(log.store);
    const olderRow = await rowUpTo(account, 0);
    await queueAll(writersOf(log.store), account, upFrom(1, 3));
    const newerRow = await rowUpTo(account, 6);
    const read: EventStore['read'] = (stream, from, ...rest) =>
      stream === account.stream && from < newerRow.revision
        ? Promise.reject(new EventStoreUnavailable('away for older events'))
        : log.store.read(stream, from, ...rest);
    const writers = writersOf(changedLog(log.store, { read }));
    await ask(writers, account, { kind: 'query' }, { snapshot: newerRow });
    expect(await find(writers, account, 2, olderRow)).toBe('unavailable');
  });

  it('is not there when the log has none', async () => {
    const account = await openUsage(log.store);
    const writers = writersOf(log.store);
    await ask(writers, account, queueDownload(1));
    expect(await find(writers, account, 2, await rowUpTo(account, 0))).toBeUndefined();
  });
});

describe('accounts', () => {
  it('do not wait for one another, and do not mix', async () => {
    const accounts = await Promise.all(Array.from({ length: 20 }, () => openUsage(log.store)));
    const writers = writersOf(log.store);
    const answers = await Promise.all(accounts.map((account) => queueAll(writers, account, [1, 2, 3])));
    for (const [, , third] of answers)
      expect(third).toMatchObject({ outcome: 'accepted', usage: { overageCents: 25 } });
  });
});
