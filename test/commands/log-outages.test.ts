import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readJob, recordJobProgress } from '../../src/commands/record-job-progress.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { lookUp, queueDownload, token } from '../domain/usage-examples.ts';
import { deadUrl, portOf, startEventStore, type TestEventStore } from '../support/event-store.ts';
import { withAdapter } from '../support/event-store-adapter.ts';
import { EventStoreProxy } from '../support/event-store-proxy.ts';
import { atMostMs } from '../support/proof-scale.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';
import {
  ask,
  freshCause,
  freshToken,
  midNovember,
  openUsage,
  queueAll,
  readUsage,
  tokensOf,
  writersOf,
} from './usage-account.ts';

let own: TestEventStore;
let proxy: EventStoreProxy;
beforeAll(async () => {
  own = await startEventStore();
  proxy = await EventStoreProxy.start(portOf(own.url));
});
afterAll(async () => {
  await proxy.close();
  await own.stop();
});

/** A clock that tells how often it was asked: an account writer asks it right before it appends. */
function watchedClock() {
  const clock = { readings: 0, now: () => ((clock.readings += 1), midNovember) };
  return clock;
}

/** With all that is needed to take back what may be stored. */
const unknown = {
  outcome: 'unknown',
  compensation: { charge: { kind: 'download', token: token(2) }, append: { expected: 2 } },
};

/** A command on a stream of its own: any will do. */
function claim(
  store: EventStore,
  { jobToken, timeoutMs, now = () => midNovember }: { jobToken: string; timeoutMs: number; now?: () => string },
) {
  return recordJobProgress(
    { store, now, newUuid },
    {
      kind: 'claim',
      token: jobToken,
      workerId: 'wrk_aaaaaaaaaaaaaaaa',
      accountId: 'acc_aaaaaaaaaaaaaaaa',
      usageStream: 'usage-acc_aaaaaaaaaaaaaaaa-20261101',
      usageRevision: 2,
    },
    { ...freshCause(), timeoutMs },
  );
}

/** Undefined while there is none, or nobody can tell. */
async function readClaim(store: EventStore, jobToken: string) {
  const job = await readJob(store, jobToken).catch(() => undefined);
  return job?.claim ?? undefined;
}

/** Ways in which the answer to an append stays away: its request never comes to the server, or comes to it late. */
const silences = [
  { what: 'the connection swallows everything', fall: () => proxy.silence(), end: () => proxy.heal() },
  {
    what: 'the server stands still, and takes up later what it was sent',
    fall: () => void process.kill(own.pid, 'SIGSTOP'),
    end: () => void process.kill(own.pid, 'SIGCONT'),
  },
];

describe.each(silences)('when $what', ({ fall, end }) => {
  it('the outcome is unknown at the deadline, what waits behind is not stored, and then the writer goes on', async () => {
    await withAdapter({ url: proxy.url }, async (store) => {
      const account = await openUsage(store);
      const lookupId = newUuid();
      const clock = watchedClock();
      const writers = writersOf(store, clock.now);
      expect((await ask(writers, account, queueDownload(1))).outcome).toBe('accepted');
      fall();
      try {
        const startedAtMs = performance.now();
        const readingsBefore = clock.readings;
        const sent = ask(writers, account, queueDownload(2), { timeoutMs: 1200 });
        const looked = ask(writers, account, lookUp(lookupId), { timeoutMs: 1200 });
        await waitFor(() => clock.readings > readingsBefore, { what: 'the append' });
        const behind = ask(writers, account, queueDownload(3), { timeoutMs: 600 });
        const observer = ask(writers, account, { kind: 'query' }, { timeoutMs: 600 });
        expect(await behind).toEqual({ outcome: 'not_stored' });
        expect(await observer).toEqual({ outcome: 'not_stored' });
        expect(await sent).toMatchObject(unknown);
        expect(await looked).toMatchObject({ compensation: { charge: { kind: 'lookup', lookup_id: lookupId } } });
        expect(performance.now() - startedAtMs).toBeLessThan(atMostMs(2_500));
      } finally {
        end();
      }
      const answers = await queueAll(writers, account, [4, 5]);
      expect(answers.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted']);
      expect(tokensOf(await readUsage(store, account.stream))).toEqual([1, 2, 4, 5].map(token));
    });
  });

  it('the outcome of a command on its own stream is unknown, and it is stored once when the log is back', async () => {
    await withAdapter({ url: proxy.url }, async (store) => {
      // The clock is read after the stream was read and before the append is sent.
      const fallSilent = () => {
        fall();
        return midNovember;
      };
      const jobToken = freshToken();
      // The command's time is for the silence: on a busy machine, connecting alone may take as long.
      expect(await store.ready({ timeoutMs: patienceMs })).toBe(true);
      try {
        await expect(claim(store, { jobToken, timeoutMs: 500, now: fallSilent })).rejects.toMatchObject({
          name: 'OutcomeUnknown',
        });
      } finally {
        end();
      }
      const stored = await waitFor(() => readClaim(store, jobToken), { what: 'the claim' });
      expect(stored).toMatchObject({ revision: 0 });
    });
  });
});

describe('when the log is away from the start', () => {
  it('nothing is stored, and that is said before the deadline', async () => {
    const account = await withAdapter({ url: own.url }, (store) => openUsage(store));
    const usage = await withAdapter({ url: own.url }, (store) => ask(writersOf(store), account, { kind: 'query' }));
    if (usage.outcome !== 'accepted') throw new Error(usage.outcome);
    const [opened] = await withAdapter({ url: own.url }, (store) => store.read(account.stream, 0));
    const { hash: lastHash, time: lastTime } = opened?.metadata as { hash: string; time: string };
    const row = { stream: account.stream, revision: 0, lastHash, lastTime, usage: usage.usage };

    await withAdapter({ url: await deadUrl() }, async (store) => {
      const startedAtMs = performance.now();
      const answers = await Promise.all([
        ask(writersOf(store), account, queueDownload(1), { timeoutMs: 1000, snapshot: row }),
        ask(writersOf(store), account, queueDownload(2), { timeoutMs: 1000 }),
        ask(writersOf(store), account, { kind: 'query' }, { timeoutMs: 1000, snapshot: row }),
      ]);
      expect(answers).toEqual(Array.from({ length: 3 }, () => ({ outcome: 'not_stored' })));
      expect(performance.now() - startedAtMs).toBeLessThan(atMostMs(2_000));
    });
    expect(await withAdapter({ url: own.url }, (store) => store.read(account.stream, 1))).toEqual([]);
  });

  it('a command of its own stream says that nothing was stored, and why', async () => {
    await withAdapter({ url: await deadUrl(), readTimeoutMs: 200 }, async (store) => {
      await expect(claim(store, { jobToken: token(1), timeoutMs: 500 })).rejects.toMatchObject({
        name: 'NotStored',
        cause: {
          name: 'EventStoreUnavailable',
          cause: { message: expect.stringContaining('ECONNREFUSED') as string },
        },
      });
    });
  });
});

it('a process that ends leaves an append under way unknown, and what waits behind not stored', async () => {
  const clock = watchedClock();
  await withAdapter({ url: proxy.url }, async (store) => {
    const account = await openUsage(store);
    const writers = writersOf(store, clock.now);
    await ask(writers, account, queueDownload(1));
    proxy.silence();
    try {
      const readingsBefore = clock.readings;
      const sent = ask(writers, account, queueDownload(2));
      await waitFor(() => clock.readings > readingsBefore, { what: 'the append' });
      const behind = ask(writers, account, queueDownload(3));
      await store.close();
      expect(await sent).toMatchObject(unknown);
      expect(await behind).toEqual({ outcome: 'not_stored' });
    } finally {
      proxy.heal();
    }
  });
});
