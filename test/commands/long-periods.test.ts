import { describe, expect, it } from 'vitest';
import { changeCharge, type ChargeChange } from '../../src/commands/change-charge.ts';
import { NotStored } from '../../src/commands/handler/handle-command.ts';
import { type LoggedWarning, readWarning, recordWarningMail } from '../../src/commands/record-warning-mail.ts';
import type { ChargeCommand } from '../../src/domain/change-charge.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { EventStore, EventToAppend } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { lookUp, token } from '../domain/usage-examples.ts';
import { patienceMs } from '../support/wait-for.ts';
import { queueKeyed } from './keyed-downloads.ts';
import { logUnderTest } from './log-under-test.ts';
import { appendingBy, noteReads } from './noted-reads.ts';
import {
  ask,
  freshCause,
  midNovember,
  openUsage,
  queueAll,
  readUsage,
  upFrom,
  type UsageAccount,
  writersOf,
} from './usage-account.ts';

/** Commands about a charge cost no more in a period with very many charges before it, because those are not read. */
const log = logUnderTest();
const now = () => midNovember;

/** Downloads before and after everything that a command may be about. */
async function usedAccount() {
  const account = await openUsage(log.store, { downloads_limit: 4, metadata_limit: 9, warning_percents: [100] });
  const writers = writersOf(log.store);
  const lookupId = newUuid();
  await queueAll(writers, account, upFrom(1, 3));
  await ask(writers, account, lookUp(lookupId));
  for (const number of upFrom(4, 5)) await queueAll(writers, account, [number]);
  const recorded = await log.store.read(account.stream, 0);
  const find = (type: string, id?: string) => {
    const found = recorded.find(({ type: each, data }) => each === type && (!id || JSON.stringify(data).includes(id)));
    if (!found) throw new Error(`there is no ${type}`);
    return { fromRevision: found.revision, id: found.id };
  };
  return { account, lookupId, find };
}

/** The append that a command comes to, which is not made. */
async function appendOf(run: (store: EventStore) => Promise<unknown>): Promise<readonly EventToAppend[]> {
  const appends: (readonly EventToAppend[])[] = [];
  const store = appendingBy(log.store, (_stream, _expected, events) => {
    appends.push(events);
    return Promise.resolve('not_sent');
  });
  await expect(run(store)).rejects.toThrow(NotStored);
  return appends.flat();
}

const kinds = ['confirm_download', 'void_download', 'void_lookup'] as const;

describe('a correction that reads from the charge on', () => {
  it.each(kinds)('comes to the same append as one that reads the whole stream, once: %s', async (kind) => {
    const { account, lookupId, find } = await usedAccount();
    const { stream } = account;
    const command = {
      confirm_download: { kind: 'confirm_download', token: token(6) },
      void_download: { kind: 'void_download', token: token(6) },
      void_lookup: { kind: 'void_lookup', lookupId },
    }[kind] as ChargeCommand;
    const { fromRevision } = {
      confirm_download: find('OverageCharged', token(6)),
      void_download: find('OverageCharged', token(6)),
      void_lookup: find('MetadataCreditDebited'),
    }[kind];
    const request = { stream, command, cause: freshCause(), timeoutMs: patienceMs };
    const correction = (asked: ChargeChange) => appendOf((store) => changeCharge({ store, now }, asked));
    const whole = await correction(request);
    expect(whole).toHaveLength(1);
    // The bytes, hash and time included.
    expect(await correction({ ...request, fromRevision })).toEqual(whole);
    const { store, reads } = noteReads(log.store);
    for (const events of [1, 0]) {
      const corrected = await changeCharge({ store, now }, { ...request, cause: freshCause(), fromRevision });
      if (isRefused(corrected)) throw new Error(corrected.refusal);
      expect(corrected.events).toHaveLength(events);
    }
    expect(reads(stream)).toEqual([fromRevision, fromRevision]);
    // Whole, with an unbroken chain.
    expect((await readUsage(log.store, stream)).at(-1)?.event).toMatchObject({ type: whole[0]?.type });
  });

  it('writes nothing where the stream ends before it', async () => {
    const { account } = await usedAccount();
    const request = { stream: account.stream, cause: freshCause(), fromRevision: 1_000, timeoutMs: patienceMs };
    const command = { kind: 'void_download', token: token(6) } as const;
    expect(await changeCharge({ store: log.store, now }, { ...request, command })).toEqual({
      refusal: 'charge_not_found',
    });
  });
});

it('the mail of a warning is recorded from the warning on', async () => {
  const { account, find } = await usedAccount();
  const { stream } = account;
  const { id: eventId, fromRevision } = find('UsageWarningReached');
  const { store, reads } = noteReads(log.store);
  const warning = await readWarning(log.store, { stream, eventId });
  const [commandId, messageId] = [newUuid(), '<a@example.com>'];
  const record = (covers: LoggedWarning['covers']) =>
    appendOf((only) => {
      const dependencies = { store: only, now, newUuid: () => commandId };
      return recordWarningMail(dependencies, { ...warning!, covers }, { messageId, timeoutMs: patienceMs });
    });
  const whole = await record(warning!.covers.map((notice) => ({ ...notice, revision: 0 })));
  expect(whole).toHaveLength(1);
  expect(await record(warning!.covers)).toEqual(whole);
  for (let time = 0; time < 2; time += 1) {
    await recordWarningMail({ store, now, newUuid }, warning!, { messageId, timeoutMs: patienceMs });
  }
  expect(reads(stream)).toEqual([fromRevision, fromRevision]);
  expect(await readWarning(log.store, { stream, eventId })).toMatchObject({ covers: [] });
});

describe('a repeated key of an earlier period', () => {
  const inDecember = () => '2026-12-14T12:00:00.000Z';

  /** An account, and the revision of the keyed download's charge. */
  async function keyedInNovember(): Promise<{ account: UsageAccount; charge: number }> {
    const account = await openUsage(log.store);
    const writers = writersOf(log.store);
    await queueAll(writers, account, upFrom(11, 20));
    await queueKeyed({ store: log.store, writers }, account, 'a');
    const recorded = await log.store.read(account.stream, 0);
    return { account, charge: recorded.length - 2 };
  }

  it.each(['best', '720'] as const)('reads that period from its charge on (%s)', async (quality) => {
    const { account, charge } = await keyedInNovember();
    const { store, reads } = noteReads(log.store);
    const api = { store, writers: writersOf(log.store, inDecember), now: inDecember };
    const answer = await queueKeyed(api, account, 'a', { number: 2, quality });
    expect(answer).toMatchObject(
      quality === 'best' ? { outcome: 'queued', token: token(1) } : { refusal: 'idempotency_key_reused' },
    );
    expect(reads(account.stream)).toEqual([charge]);
  });
});
