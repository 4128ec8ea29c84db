import { describe, expect, it } from 'vitest';

import { newUuid } from '../../src/system/clock-and-chance.ts';
import { NotStored } from '../../src/commands/handle.ts';
import type { EventToAppend } from '../../src/ports/event-store.ts';
import { readWarning, recordWarningMail } from '../../src/commands/record-warning-mail.ts';
import { settlePeriod } from '../../src/commands/settle-period.ts';
import type { SettlementRequest } from '../../src/commands/settle-period.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { SettlementCommand } from '../../src/domain/settlement.ts';
import { lookUp, token } from '../domain/usage-examples.ts';
import { queueKeyed } from './keyed-downloads.ts';
import { logUnderTest } from './log-under-test.ts';
import { noteReads } from './noted-reads.ts';
import { ask, freshCause, lanesOf, midNovember, openUsage, queueAll, readUsage, upFrom } from './usage-account.ts';
import type { UsageAccount } from './usage-account.ts';

/** What comes after a charge costs no more in a period with very many charges before it: they are not read. */
const log = logUnderTest();
const now = () => midNovember;

/** Downloads before and after everything that a command may be about. */
async function usedAccount() {
  const account = await openUsage(log.store, { downloads_limit: 4, metadata_limit: 9, warning_percents: [100] });
  const lanes = lanesOf(log.store);
  const lookupId = newUuid();
  await queueAll(lanes, account, upFrom(1, 3));
  await ask(lanes, account, lookUp(lookupId));
  for (const number of upFrom(4, 5)) await queueAll(lanes, account, [number]);
  const recorded = await log.store.read(account.stream, 0);
  const find = (type: string, id?: string) => {
    const found = recorded.find(({ type: each, data }) => each === type && (!id || JSON.stringify(data).includes(id)));
    if (!found) throw new Error(`there is no ${type}`);
    return { fromRevision: found.revision, id: found.id };
  };
  return { account, lookupId, find };
}

/** The append that a command comes to, which is not made. */
async function appendOf(request: SettlementRequest): Promise<readonly EventToAppend[]> {
  const appends: (readonly EventToAppend[])[] = [];
  const { store } = noteReads(log.store, (_stream, _expected, events) => {
    appends.push(events);
    return Promise.resolve('not_sent');
  });
  await expect(settlePeriod({ store, now }, request)).rejects.toThrow(NotStored);
  return appends.flat();
}

const kinds = ['confirm_download', 'void_download', 'void_lookup', 'record_mail'] as const;

describe('settling from the charge or the warning on', () => {
  it.each(kinds)('comes to the same append as settling with the whole stream, once: %s', async (kind) => {
    const { account, lookupId, find } = await usedAccount();
    const { stream } = account;
    const warning = find('UsageWarningReached');
    const command = {
      confirm_download: { kind: 'confirm_download', token: token(6) },
      void_download: { kind: 'void_download', token: token(6) },
      void_lookup: { kind: 'void_lookup', lookupId },
      record_mail: { kind: 'record_mail', eventIds: [warning.id], messageId: '<a@example.com>' },
    }[kind] as SettlementCommand;
    const { fromRevision } = {
      confirm_download: find('OverageCharged', token(6)),
      void_download: find('OverageCharged', token(6)),
      void_lookup: find('MetadataCreditDebited'),
      record_mail: warning,
    }[kind];
    const request = { stream, command, cause: freshCause(), timeoutMs: 10_000 };
    const whole = await appendOf(request);
    expect(whole).toHaveLength(1);
    // The bytes, hash and time included.
    expect(await appendOf({ ...request, fromRevision })).toEqual(whole);
    const { store, reads } = noteReads(log.store);
    for (const events of [1, 0]) {
      const settled = await settlePeriod({ store, now }, { ...request, cause: freshCause(), fromRevision });
      if (isRefused(settled)) throw new Error(settled.refusal);
      expect(settled.events).toHaveLength(events);
    }
    expect(reads(stream)).toEqual([fromRevision, fromRevision]);
    // Whole, with an unbroken chain.
    expect((await readUsage(log.store, stream)).at(-1)?.event).toMatchObject({ type: whole[0]?.type });
  });

  it('writes nothing where the stream ends before it', async () => {
    const { account } = await usedAccount();
    const request = { stream: account.stream, cause: freshCause(), fromRevision: 1_000, timeoutMs: 10_000 };
    const command = { kind: 'void_download', token: token(6) } as const;
    expect(await settlePeriod({ store: log.store, now }, { ...request, command })).toEqual({
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
  for (let time = 0; time < 2; time += 1) {
    await recordWarningMail({ store, now, newUuid }, warning!, { messageId: '<a@example.com>', timeoutMs: 10_000 });
  }
  expect(reads(stream)).toEqual([fromRevision, fromRevision]);
  expect(await readWarning(log.store, { stream, eventId })).toMatchObject({ covers: [] });
});

describe('a repeated key of an earlier period', () => {
  const inDecember = () => '2026-12-14T12:00:00.000Z';

  /** An account, and the revision of the keyed download's charge. */
  async function keyedInNovember(): Promise<{ account: UsageAccount; charge: number }> {
    const account = await openUsage(log.store);
    const lanes = lanesOf(log.store);
    await queueAll(lanes, account, upFrom(11, 20));
    await queueKeyed({ store: log.store, lanes }, account, 'a');
    const recorded = await log.store.read(account.stream, 0);
    return { account, charge: recorded.length - 2 };
  }

  it.each(['best', '720'] as const)('reads that period from its charge on (%s)', async (quality) => {
    const { account, charge } = await keyedInNovember();
    const { store, reads } = noteReads(log.store);
    const api = { store, lanes: lanesOf(log.store, inDecember), now: inDecember };
    const answer = await queueKeyed(api, account, 'a', { number: 2, quality });
    expect(answer).toMatchObject(
      quality === 'best' ? { outcome: 'queued', token: token(1) } : { refusal: 'idempotency_key_reused' },
    );
    expect(reads(account.stream)).toEqual([charge]);
  });
});
