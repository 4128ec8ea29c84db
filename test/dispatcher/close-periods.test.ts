import { describe, expect, it, onTestFinished } from 'vitest';
import { addMetadata } from '../../src/commands/handler/event-metadata.ts';
import { firstPreviousHash } from '../../src/commands/handler/hash-chain.ts';
import { closePeriods, startClosingPeriods } from '../../src/dispatcher/close-periods.ts';
import type { AccountEvent } from '../../src/domain/account-events.ts';
import { ClockIsWrong } from '../../src/ports/clock.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { closeBooks } from '../commands/close-books.ts';
import { appendingBy } from '../commands/noted-reads.ts';
import {
  ask,
  freshCause,
  midNovember,
  openUsage,
  queueAll,
  upFrom,
  type UsageAccount,
  writersOf,
} from '../commands/usage-account.ts';
import { plan, queueDownload } from '../domain/usage-examples.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  closingUnderTest,
  countingAppends,
  dispatcherAt,
  invoicesOf,
  issuedTo,
  roundAt,
  roundsAt,
  typesOf,
} from './closing.ts';

const parts = closingUnderTest();

/** The account's own stream, from which its periods are found where no row is believed. */
async function openAccountOf({ accountId }: UsageAccount): Promise<void> {
  const event: AccountEvent = {
    type: 'AccountOpened',
    data: {
      account_id: accountId,
      terms: plan,
      anchor_day: 1,
      personal: { email: 'owner@example.com' },
      period_start: '2026-11-01T00:00:00.000Z',
      period_end: '2026-12-01T00:00:00.000Z',
    },
  };
  const stream = `account-${accountId}`;
  const point = {
    stream,
    expected: 'no_stream',
    previousHash: firstPreviousHash(stream),
    time: midNovember,
  } as const;
  await parts.store.append(stream, 'no_stream', addMetadata([{ event, cause: freshCause() }], point).events);
}

const wholePeriod = ['UsagePeriodOpened', 'UsagePeriodEnded', 'UsagePeriodClosed'];
const noFee = { fee_cents: 0 };

describe('the clock', () => {
  it('ends, opens, closes and invoices the months of an account that nobody uses, each with its own dates', async () => {
    const account = await openUsage(parts.store, { openedAt: '2026-10-31T08:00:00.000Z' });
    await roundsAt(parts, account, { now: '2027-03-01T02:00:00.000Z', graceSeconds: 0 });
    for (const day of ['2026-10-31', '2026-11-30', '2026-12-31', '2027-01-31']) {
      expect(await typesOf(parts, account, day), day).toEqual(wholePeriod);
    }
    expect(await typesOf(parts, account, '2027-02-28')).toEqual(['UsagePeriodOpened']);
    expect(await issuedTo(parts, account)).toEqual([
      'opening 2026-10-31 1900',
      'period 2026-10-31 1900',
      'period 2026-11-30 1900',
      'period 2026-12-31 1900',
      'period 2027-01-31 1900',
    ]);
  });

  it('costs four appends a period at most, and does nothing twice', async () => {
    const account = await openUsage(parts.store);
    await queueAll(writersOf(parts.store), account, upFrom(1, 4));
    const { store, appends } = countingAppends(parts.store);
    await roundAt(parts, { now: '2026-11-20T00:00:00.000Z', store });
    const mine = () => appends.filter((stream) => stream.includes(account.accountId));
    expect(mine()).toEqual([`invoices-${account.accountId}`]);
    appends.length = 0;
    for (const now of ['2026-12-01T00:00:00.000Z', '2026-12-01T01:00:00.000Z', '2026-12-01T02:00:00.000Z']) {
      await roundAt(parts, { now, store });
    }
    expect(mine()).toEqual([
      account.stream,
      account.stream.replace('20261101', '20261201'),
      account.stream,
      `invoices-${account.accountId}`,
    ]);
    expect(await issuedTo(parts, account)).toEqual(['opening 2026-11-01 1900', 'period 2026-11-01 1950']);
  });

  it('closes when the grace is over since the period ended, and not before', async () => {
    const account = await openUsage(parts.store, noFee);
    // A request that comes late ends it half an hour past its time.
    await ask(
      writersOf(parts.store, () => '2026-12-01T00:30:00.000Z'),
      account,
      queueDownload(1),
    );
    await roundAt(parts, { now: '2026-12-01T01:29:59.999Z' });
    expect(await typesOf(parts, account, '2026-11-01')).toEqual(wholePeriod.slice(0, 2));
    const { rowCount } = await parts.models.pool.query('select from period_closings where stream = $1', [
      account.stream,
    ]);
    expect(rowCount).toBe(0);
    await roundAt(parts, { now: '2026-12-01T01:30:00.000Z' });
    expect(await typesOf(parts, account, '2026-11-01')).toEqual(wholePeriod);
    expect(await issuedTo(parts, account)).toEqual([]);
  });

  it('that steps back reopens nothing: what comes then belongs to the period that is open', async () => {
    const account = await openUsage(parts.store, noFee);
    await roundAt(parts, { now: '2026-12-01T00:00:00.000Z' });
    await roundAt(parts, { now: '2026-11-30T23:00:00.000Z', graceSeconds: 0 });
    await ask(
      writersOf(parts.store, () => '2026-11-30T23:00:00.000Z'),
      account,
      queueDownload(1),
    );
    expect(await typesOf(parts, account, '2026-11-01')).toEqual(wholePeriod.slice(0, 2));
    expect((await typesOf(parts, account, '2026-12-01')).slice(0, 2)).toEqual([
      'UsagePeriodOpened',
      'DownloadCreditDebited',
    ]);
  });

  it('opens the period that a crash behind the end has left out, and invoices what one behind the close has', async () => {
    const account = await openUsage(parts.store);
    const now = () => '2026-12-02T00:00:00.000Z';
    // The next period's opening does not get through.
    const cut = appendingBy(parts.store, async (stream, ...rest) =>
      stream === account.stream ? parts.store.append(stream, ...rest) : 'not_sent',
    );
    await ask(writersOf(cut, now), account, { kind: 'roll_over' }, { timeoutMs: 1_500 });
    expect(await typesOf(parts, account, '2026-11-01')).toEqual(wholePeriod.slice(0, 2));
    expect(await typesOf(parts, account, '2026-12-01')).toEqual([]);
    await roundAt(parts, { now: now() });
    expect(await typesOf(parts, account, '2026-12-01')).toEqual(['UsagePeriodOpened']);
    await closeBooks(parts.store, account.stream, now());
    await roundsAt(parts, account, { now: now() });
    expect(await issuedTo(parts, account)).toEqual(['opening 2026-11-01 1900', 'period 2026-11-01 1900']);
  });

  it('leaves a period open while a void is pending, and takes its time before it looks again', async () => {
    const account = await openUsage(parts.store, noFee);
    const { pool } = parts.models;
    const appendId = newUuid();
    await pool.query("insert into pending_voids values ($1, $2, $3, 3, '[]', '[]')", [
      appendId,
      account.accountId,
      account.stream,
    ]);
    await roundAt(parts, { now: '2026-12-01T00:00:00.000Z' });
    await parts.models.caughtUp();
    const setAside = new Map<string, number>();
    const dispatcher = dispatcherAt(parts, { now: '2026-12-01T01:00:00.000Z' });
    expect((await closePeriods(dispatcher, { setAside })).heldUp).toContain(account.stream);
    expect((await closePeriods(dispatcher, { setAside })).heldUp).not.toContain(account.stream);
    expect(await typesOf(parts, account, '2026-11-01')).toEqual(wholePeriod.slice(0, 2));
    const closings = () => pool.query('select from period_closings where stream = $1', [account.stream]);
    expect((await closings()).rowCount).toBe(0);
    await pool.query('delete from pending_voids where append_id = $1', [appendId]);
    expect((await roundAt(parts, { now: '2026-12-01T01:00:00.000Z' })).closed).toContain(account.stream);
    expect((await closings()).rowCount).toBe(1);
  });

  it('does not let an account that cannot be moved on hold up the others', async () => {
    const { pool } = parts.models;
    const [broken, sound] = [await openUsage(parts.store, noFee), await openUsage(parts.store, noFee)];
    await parts.models.caughtUp();
    await pool.query("update credits set stream = 'usage-acc_nobody-20261101' where account_id = $1", [
      broken.accountId,
    ]);
    const setAside = new Map<string, number>();
    const dispatcher = dispatcherAt(parts, { now: '2026-12-01T00:00:00.000Z' });
    const { failed } = await closePeriods(dispatcher, { setAside });
    expect(failed.map(({ stream }) => stream)).toEqual(['usage-acc_nobody-20261101']);
    expect(await typesOf(parts, sound, '2026-12-01')).toEqual(['UsagePeriodOpened']);
    expect((await closePeriods(dispatcher, { setAside })).failed).toEqual([]);
    await pool.query('delete from credits where account_id = $1', [broken.accountId]);
  });

  it('that is wrong ends, closes and invoices nothing', async () => {
    const account = await openUsage(parts.store, { openedAt: '2026-11-01T00:00:00.000Z' });
    await parts.models.caughtUp();
    const now = (): string => {
      throw new ClockIsWrong('a test says so');
    };
    const wrong = { ...dispatcherAt(parts, { now: '2027-01-10T00:00:00.000Z' }), now };
    await expect(closePeriods(wrong, { setAside: new Map() })).rejects.toThrow(ClockIsWrong);
    expect(await parts.store.read(account.stream, 1)).toEqual([]);
  });

  it('goes on from the log where somebody has changed the rows', async () => {
    const account = await openUsage(parts.store, { downloads_limit: 1, fee_cents: 1_900 });
    await queueAll(writersOf(parts.store), account, [1, 2, 3]);
    await parts.models.caughtUp();
    const forge = () =>
      parts.models.pool.query(
        'update credits set overage_downloads = 0, overage_cents = 0, fee_cents = 0, terms = terms || \'{"fee_cents": 0}\' where account_id = $1',
        [account.accountId],
      );
    // The account itself, of which the tests of this file need nothing else.
    await openAccountOf(account);
    for (const now of ['2026-12-01T00:00:00.000Z', '2026-12-01T02:00:00.000Z']) {
      await forge();
      expect((await roundAt(parts, { now })).failed).toEqual([]);
    }
    await roundsAt(parts, account, { now: '2026-12-01T02:00:00.000Z' });
    expect(await issuedTo(parts, account)).toEqual(['opening 2026-11-01 1900', 'period 2026-11-01 1950']);
  });

  it('in two dispatchers at once comes to the same', async () => {
    const accounts = await Promise.all(upFrom(0, 10).map(() => openUsage(parts.store)));
    for (const now of ['2026-12-01T00:00:00.000Z', '2026-12-01T01:00:00.000Z', '2026-12-01T02:00:00.000Z']) {
      await Promise.all([roundAt(parts, { now }), roundAt(parts, { now })]);
    }
    for (const account of accounts) {
      expect(await typesOf(parts, account, '2026-11-01')).toEqual(wholePeriod);
      expect(await typesOf(parts, account, '2026-12-01')).toEqual(['UsagePeriodOpened']);
      expect(await issuedTo(parts, account)).toEqual(['opening 2026-11-01 1900', 'period 2026-11-01 1900']);
    }
  });

  it('goes by itself until it is stopped', async () => {
    const account = await openUsage(parts.store, { fee_cents: 700 });
    const closing = startClosingPeriods({
      ...dispatcherAt(parts, { now: '2026-12-01T00:00:00.000Z', graceSeconds: 0 }),
      everyMs: 20,
    });
    onTestFinished(() => closing.stop());
    await waitFor(async () => (await issuedTo(parts, account)).length === 2, { what: 'both invoices' });
    await closing.stop();
    const [{ metadata } = { metadata: undefined }] = await invoicesOf(parts, account);
    expect(metadata?.actor).toEqual({ type: 'system', id: 'billing-period' });
    expect(plan.fee_cents).not.toBe(700);
  });
});
