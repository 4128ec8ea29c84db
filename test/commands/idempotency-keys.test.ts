import { describe, expect, it } from 'vitest';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { hashIdempotencyKey, hasIdempotencyKeyForm } from '../../src/commands/ids/idempotency-key-hash.ts';
import { readOn } from '../../src/commands/usage/usage-cache.ts';
import { usageStream } from '../../src/domain/billing-period.ts';
import { ClockIsWrong } from '../../src/ports/clock.ts';
import { type EventStore, EventStoreUnavailable } from '../../src/ports/event-store.ts';
import { token } from '../domain/usage-examples.ts';
import { rememberingLogger } from '../projections/read-models-under-test.ts';
import { endAndClose } from './close-books.ts';
import { correct, type Process, queueKeyed } from './keyed-downloads.ts';
import { logUnderTest } from './log-under-test.ts';
import { changedLog } from './noted-reads.ts';
import {
  ask,
  chargedCents,
  midNovember,
  openUsage,
  readUsage,
  tokensOf,
  upFrom,
  type UsageAccount,
  writersOf,
} from './usage-account.ts';

const log = logUnderTest();

const processOf = (now: () => string = () => midNovember): Process => ({
  store: log.store,
  writers: writersOf(log.store, now),
  now,
});
const first = { outcome: 'queued', token: token(1), overage: false };
const confirmedOnce = ['UsagePeriodOpened', 'DownloadCreditDebited', 'DownloadQueued', 'DownloadConfirmed'];
const typesIn = async (stream: string) => (await readUsage(log.store, stream)).map(({ event }) => event.type);
const countOf = async (stream: string, type: string) => (await typesIn(stream)).filter((each) => each === type).length;

/** The read model's row as it would be right now. */
async function rowOf(account: UsageAccount, key: string) {
  const known = await readOn(log.store, account.origin);
  return { snapshot: known.snapshot, keyed: known.keyed(hashIdempotencyKey(key), undefined) };
}

describe('a request that repeats an idempotency key', () => {
  it('is answered as the first one was, charged once, and confirmed once', async () => {
    const account = await openUsage(log.store);
    const api = processOf();
    for (const number of upFrom(1, 4)) expect(await queueKeyed(api, account, 'a', { number })).toMatchObject(first);
    expect(await typesIn(account.stream)).toEqual(confirmedOnce);
  });

  it('is answered before any quota is looked at, with the price of the first', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0, overage_cap_cents: 25 });
    const api = processOf();
    const charged = { ...first, overage: true };
    expect(await queueKeyed(api, account, 'a')).toMatchObject(charged);
    expect(await queueKeyed(api, account, 'b', { number: 2 })).toMatchObject({ refusal: 'overage_cap_reached' });
    expect(await queueKeyed(api, account, 'a', { number: 3 })).toMatchObject(charged);
    expect(chargedCents(await readUsage(log.store, account.stream))).toBe(25);
  });

  it('and asks for something else is refused, and nothing is stored', async () => {
    const account = await openUsage(log.store);
    const api = processOf();
    await queueKeyed(api, account, 'a');
    const other = await queueKeyed(api, account, 'a', { number: 2, quality: '720' });
    expect(other).toMatchObject({ outcome: 'refused', refusal: 'idempotency_key_reused' });
    expect(await typesIn(account.stream)).toHaveLength(3);
  });

  it('leaves other keys, other accounts and requests without a key alone', async () => {
    const [account, another] = [await openUsage(log.store), await openUsage(log.store)];
    const api = processOf();
    await queueKeyed(api, account, 'a');
    expect(await queueKeyed(api, another, 'a', { number: 2 })).toMatchObject({ token: token(2) });
    expect(await queueKeyed(api, account, 'b', { number: 3 })).toMatchObject({ token: token(3) });
    for (const number of [4, 5]) {
      expect(await queueKeyed(api, account, '', { number, keyHash: undefined })).toMatchObject({
        token: token(number),
      });
    }
    expect(tokensOf(await readUsage(log.store, account.stream))).toEqual([1, 3, 4, 5].map(token));
  });

  it('at the same time, through several processes, gets the one answer', async () => {
    const account = await openUsage(log.store);
    const apis = Array.from({ length: 3 }, () => processOf());
    const answers = await Promise.all(
      upFrom(1, 60).map((number) => queueKeyed(apis[number % 3]!, account, `key-${number % 4}`, { number })),
    );
    const tokensByKey = Map.groupBy(answers, (_, index) => (index + 1) % 4);
    for (const same of tokensByKey.values())
      expect(
        new Set(same.map((answer) => JSON.stringify(answer.outcome === 'queued' && [answer.token, answer.overage])))
          .size,
      ).toBe(1);
    const stored = await readUsage(log.store, account.stream);
    expect(tokensOf(stored)).toHaveLength(4);
    expect(await countOf(account.stream, 'DownloadConfirmed')).toBe(4);
  });

  it('never stands in one append with the request that it repeats', async () => {
    const account = await openUsage(log.store);
    const api = processOf();
    await Promise.all(upFrom(1, 5).map((number) => queueKeyed(api, account, 'a', { number })));
    expect(await typesIn(account.stream)).toEqual(confirmedOnce);
  });

  it('is charged anew once the first was voided, with the credit that came free', async () => {
    const account = await openUsage(log.store, { downloads_limit: 1, overage_cents: null });
    const [api, other] = [processOf(), processOf()];
    await queueKeyed(api, account, 'a');
    await correct(log.store, account.stream, { kind: 'void_download', token: token(1) });
    // The second process knows nothing of it; both come to the same.
    expect(await queueKeyed(api, account, 'a', { number: 2, quality: '720' })).toMatchObject({ token: token(2) });
    expect(await queueKeyed(other, account, 'a', { number: 3, quality: '720' })).toMatchObject({ token: token(2) });
    expect(await queueKeyed(api, account, 'b', { number: 4 })).toMatchObject({ refusal: 'download_quota_exceeded' });
  });

  it('can no longer lose the download to a void', async () => {
    const account = await openUsage(log.store);
    await queueKeyed(processOf(), account, 'a');
    await queueKeyed(processOf(), account, 'a', { number: 2 });
    const refused = await correct(log.store, account.stream, { kind: 'void_download', token: token(1) });
    expect(refused).toEqual({ refusal: 'download_confirmed' });
  });
});

/** The download of key 'a' lies between an older row and the one that a process has started from. */
async function downloadBetween() {
  const account = await openUsage(log.store);
  const older = await rowOf(account, 'a');
  await queueKeyed(processOf(), account, 'a');
  const api = processOf();
  await ask(api.writers, account, { kind: 'query' }, { snapshot: (await rowOf(account, 'a')).snapshot });
  return { account, older, api };
}

describe('a process that starts from the read model', () => {
  it('takes the download from the row', async () => {
    const account = await openUsage(log.store);
    await queueKeyed(processOf(), account, 'a');
    const row = await rowOf(account, 'a');
    expect(await queueKeyed(processOf(), account, 'a', { number: 2, ...row })).toMatchObject(first);
    // The row does not know of the confirmation.
    expect(await queueKeyed(processOf(), account, 'a', { number: 3, ...row })).toMatchObject(first);
    expect(await countOf(account.stream, 'DownloadConfirmed')).toBe(1);
    await expect(rowOf(account, 'a')).resolves.toMatchObject({ keyed: { confirmed: true, voided: false } });
  });

  it('reads what lies between a request that knows less and the row that it started from', async () => {
    const { account, older, api } = await downloadBetween();
    expect(await queueKeyed(api, account, 'a', { number: 2, ...older })).toMatchObject(first);
    expect(await queueKeyed(api, account, 'b', { number: 3, ...older })).toMatchObject({ token: token(3) });
    expect(tokensOf(await readUsage(log.store, account.stream))).toEqual([1, 3].map(token));
  });

  it('reads no further than the end of an account that was closed meanwhile, and is refused', async () => {
    const { account, older, api } = await downloadBetween();
    await ask(processOf().writers, account, { kind: 'close_account' });
    for (const key of ['a', 'b'])
      expect(await queueKeyed(api, account, key, { number: 2, ...older })).toMatchObject({ refusal: 'account_closed' });
    expect(tokensOf(await readUsage(log.store, account.stream))).toEqual([token(1)]);
  });

  it('is told neither way while that cannot be read: "not queued" might not be true', async () => {
    const account = await openUsage(log.store);
    const older = await rowOf(account, 'a');
    await queueKeyed(processOf(), account, 'a');
    let isAway = false;
    const read: EventStore['read'] = (...asked) =>
      isAway ? Promise.reject(new EventStoreUnavailable('away')) : log.store.read(...asked);
    const store = changedLog(log.store, { read });
    const api = { ...processOf(), store, writers: writersOf(store) };
    await ask(api.writers, account, { kind: 'query' }, { snapshot: (await rowOf(account, 'a')).snapshot });
    isAway = true;
    expect(await queueKeyed(api, account, 'a', { ...older, timeoutMs: 500 })).toEqual({ outcome: 'unknown' });
  });

  it('is told neither way by a process that has told of the download, after its clock was wrong, while the log is away', async () => {
    const account = await openUsage(log.store);
    const older = await rowOf(account, 'a');
    let [isAway, isWrong] = [false, false];
    const now = () => {
      if (isWrong) throw new ClockIsWrong('the clocks differ');
      return midNovember;
    };
    const read: EventStore['read'] = (...asked) =>
      isAway ? Promise.reject(new EventStoreUnavailable('away')) : log.store.read(...asked);
    const store = changedLog(log.store, { read });
    const api = { store, writers: writersOf(store, now), now };
    expect(await queueKeyed(api, account, 'a', older)).toMatchObject(first);
    isWrong = true;
    await expect(queueKeyed(api, account, 'a', { ...older, number: 2 })).rejects.toThrow(ClockIsWrong);
    [isAway, isWrong] = [true, false];
    const answer = await queueKeyed(api, account, 'a', { ...older, number: 3, quality: '720', timeoutMs: 500 });
    expect(answer).toEqual({ outcome: 'unknown' });
  });
});

describe('an idempotency key of an earlier billing period', () => {
  const december = { start: '2026-12-01T00:00:00.000Z' };
  const inDecember = () => '2026-12-14T12:00:00.000Z';
  const nextOf = ({ accountId }: UsageAccount) => usageStream(accountId, december);

  it('answers with the download of then, and confirms it there', async () => {
    const account = await openUsage(log.store);
    await queueKeyed(processOf(), account, 'a');
    const row = await rowOf(account, 'a');
    for (const known of [row, {}, row]) {
      const api = processOf(inDecember);
      expect(await queueKeyed(api, account, 'a', { number: 2, ...known })).toMatchObject(first);
    }
    expect(await typesIn(nextOf(account))).toEqual(['UsagePeriodOpened']);
    expect(await countOf(account.stream, 'DownloadConfirmed')).toBe(1);
    expect((await typesIn(account.stream)).at(-1)).toBe('DownloadConfirmed');
  });

  it('is refused for another download', async () => {
    const account = await openUsage(log.store);
    await queueKeyed(processOf(), account, 'a');
    const answer = await queueKeyed(processOf(inDecember), account, 'a', { number: 2, quality: '720' });
    expect(answer).toMatchObject({ outcome: 'refused', refusal: 'idempotency_key_reused' });
    expect(await countOf(account.stream, 'DownloadConfirmed')).toBe(0);
  });

  it('of a download that can no longer be read is of unknown outcome: the process ends', async () => {
    const account = await openUsage(log.store);
    await queueKeyed(processOf(), account, 'a');
    const store = connectEventStore({ url: log.url, logger: rememberingLogger().logger });
    await store.close();
    const ending = { ...processOf(inDecember), store };
    for (const quality of ['best', '720'] as const)
      expect(await queueKeyed(ending, account, 'a', { number: 2, quality })).toMatchObject({ outcome: 'unknown' });
  });

  it.each(['best', '720'] as const)('is free once that was voided, whatever the row says (%s)', async (quality) => {
    const account = await openUsage(log.store);
    await queueKeyed(processOf(), account, 'a');
    const row = await rowOf(account, 'a');
    const api = processOf(inDecember);
    await ask(api.writers, account, { kind: 'roll_over' });
    await correct(log.store, account.stream, { kind: 'void_download', token: token(1) });
    expect(await queueKeyed(api, account, 'a', { number: 2, quality, ...row })).toMatchObject({ token: token(2) });
    expect(await queueKeyed(api, account, 'a', { number: 3, quality, ...row })).toMatchObject({ token: token(2) });
    const other = processOf(inDecember);
    expect(await queueKeyed(other, account, 'a', { number: 4, quality, ...row })).toMatchObject({ token: token(2) });
    expect(tokensOf(await readUsage(log.store, nextOf(account)))).toEqual([token(2)]);
  });

  it('answers with the download of a closed period, in which nothing changes any more', async () => {
    const account = await openUsage(log.store);
    await queueKeyed(processOf(), account, 'a');
    await endAndClose(log.store, account, inDecember());
    expect(await queueKeyed(processOf(inDecember), account, 'a', { number: 2 })).toMatchObject(first);
    expect((await typesIn(account.stream)).at(-1)).toBe('UsagePeriodClosed');
  });
});

it('a closed period of which a process knows as an open one is not ended again', async () => {
  const account = await openUsage(log.store);
  let now = midNovember;
  const idle = processOf(() => now);
  await ask(idle.writers, account, { kind: 'query' });
  now = '2026-12-14T12:00:00.000Z';
  await endAndClose(log.store, account, now);
  expect(await queueKeyed(idle, account, 'a')).toMatchObject(first);
  expect((await typesIn(account.stream)).slice(-2)).toEqual(['UsagePeriodEnded', 'UsagePeriodClosed']);
});

it.each([
  ['a', true],
  ['!', true],
  ['~'.repeat(255), true],
  ['', false],
  ['~'.repeat(256), false],
  ['a b', false],
  ['ü', false],
  ['a\u007f', false],
])('the form of %j: %s', (key, isRight) => {
  expect(hasIdempotencyKeyForm(key)).toBe(isRight);
});
