import { describe, expect, it } from 'vitest';
import { queueDownload, token, video } from '../../domain/usage-examples.ts';
import { scaled } from '../../support/proof-scale.ts';
import { logUnderTest } from '../log-under-test.ts';
import {
  ask,
  chargedCents,
  count,
  midNovember,
  openUsage,
  outcomesOf,
  queueAll,
  readUsage,
  tokensOf,
  upFrom,
  writersOf,
} from '../usage-account.ts';

const log = logUnderTest();

/** A clock that never tells the same instant twice, so that the events of one append are known by their time. */
function tickingClock(): () => string {
  let nowMs = Date.parse(midNovember);
  return () => new Date((nowMs += 1)).toISOString();
}

describe('requests of one account at one time', () => {
  it('are stored together: one append for all, in the order of their arrival', async () => {
    const account = await openUsage(log.store);
    const answers = await queueAll(writersOf(log.store, tickingClock()), account, upFrom(1, 100));
    expect(new Set(outcomesOf(answers))).toEqual(new Set(['accepted']));
    const stored = (await readUsage(log.store, account.stream)).slice(1);
    expect(tokensOf(stored)).toEqual(upFrom(1, 100).map(token));
    expect(new Set(stored.map(({ metadata }) => metadata.time)).size).toBe(1);
  });

  it('are stored in few appends, none of them too large, when there are many', async () => {
    const account = await openUsage(log.store);
    const total = scaled(1000, 10_000);
    const answers = await queueAll(writersOf(log.store, tickingClock()), account, upFrom(1, total));
    expect(new Set(outcomesOf(answers))).toEqual(new Set(['accepted']));
    const stored = (await readUsage(log.store, account.stream)).slice(1);
    expect(tokensOf(stored)).toHaveLength(total);
    const appends = Map.groupBy(stored, ({ metadata }) => metadata.time);
    expect(appends.size).toBeLessThanOrEqual(total / 100);
    for (const events of appends.values()) {
      expect(events.length).toBeLessThanOrEqual(500);
      expect(JSON.stringify(events.map(({ event, metadata }) => [event, metadata])).length).toBeLessThanOrEqual(
        256 * 1024,
      );
    }
  });

  it('each learn their own events and the state that they left', async () => {
    const account = await openUsage(log.store);
    const answers = await queueAll(writersOf(log.store), account, [1, 2, 3]);
    expect(answers).toMatchObject([
      { events: [{ data: { ordinal: 1 } }, { data: { token: token(1), overage: false } }], usage: { downloads: 1 } },
      { events: [{ data: { ordinal: 2 } }, { data: { token: token(2), overage: false } }], usage: { downloads: 2 } },
      { events: [{ data: { ordinal: 3 } }, { data: { token: token(3), overage: true } }], usage: { overageCents: 25 } },
    ]);
  });

  it('are each caused by their own request', async () => {
    const account = await openUsage(log.store);
    const writers = writersOf(log.store);
    const cause = { commandId: '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11', correlationId: 'req-7', causationId: 'cmd-7' };
    const actor = { type: 'api_key', id: 'key_7' } as const;
    await Promise.all([
      ask(writers, account, queueDownload(1)),
      ask(writers, account, queueDownload(2), { cause: { ...cause, actor } }),
    ]);
    const [, , , charge, queued] = await readUsage(log.store, account.stream);
    expect([charge?.metadata, queued?.metadata]).toMatchObject(
      Array.from({ length: 2 }, () => ({ $correlationId: 'req-7', $causationId: 'cmd-7', actor })),
    );
  });

  it('may be of all kinds', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0 });
    const writers = writersOf(log.store);
    const lookup = {
      kind: 'debit_metadata',
      lookupId: '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11',
      video,
      downloadRefusal: null,
    } as const;
    const answers = await Promise.all([
      ask(writers, account, { kind: 'set_overage_cap', overageCapCents: 25, effective: 'now' }),
      ask(writers, account, queueDownload(1)),
      ask(writers, account, queueDownload(2)),
      ask(writers, account, lookup),
      ask(writers, account, { ...lookup, lookupId: '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a12' }),
      ask(writers, account, { kind: 'remove_overage_cap', effective: 'now' }),
      ask(writers, account, queueDownload(3)),
      ask(writers, account, { kind: 'query' }),
    ]);
    expect(answers.map((answer) => (answer.outcome === 'refused' ? answer.refusal : answer.outcome))).toEqual([
      'accepted',
      'accepted',
      'overage_cap_reached',
      'accepted',
      'metadata_quota_exceeded',
      'accepted',
      'accepted',
      'accepted',
    ]);
    expect(answers.at(-1)).toMatchObject({ events: [], usage: { downloads: 2, overageCents: 50, metadataCredits: 1 } });
  });
});

describe('two processes that serve one account', () => {
  it.each(['all at once', 'in waves'])('accept exactly what the cap allows, %s', async (manner) => {
    const [total, capped] = [scaled(200, 2000), scaled(50, 500)];
    const account = await openUsage(log.store, { downloads_limit: 10, overage_cap_cents: capped * 25 + 24 });
    const [one, other] = [writersOf(log.store), writersOf(log.store)];
    const answers = [];
    for (let first = 1; first <= total; first += 10) {
      answers.push(queueAll(one, account, upFrom(first, 5)), queueAll(other, account, upFrom(first + 5, 5)));
      if (manner === 'in waves') await new Promise(setImmediate);
    }
    const outcomes = outcomesOf((await Promise.all(answers)).flat());
    expect(count(outcomes, 'accepted')).toBe(capped + 10);
    expect(count(outcomes, 'refused')).toBe(total - capped - 10);
    const stored = await readUsage(log.store, account.stream);
    expect(new Set(tokensOf(stored)).size).toBe(capped + 10);
    expect(chargedCents(stored)).toBe(capped * 25);
  });

  it('accept every one of the credits and not one more, where there is no overage', async () => {
    const account = await openUsage(log.store, { downloads_limit: 7, overage_cents: null });
    const writers = Array.from({ length: 4 }, () => writersOf(log.store));
    const answers = await Promise.all(writers.map((each, index) => queueAll(each, account, upFrom(index * 10, 10))));
    const outcomes = outcomesOf(answers.flat());
    expect([count(outcomes, 'accepted'), count(outcomes, 'refused')]).toEqual([7, 33]);
    expect(tokensOf(await readUsage(log.store, account.stream))).toHaveLength(7);
  });

  it('obey at once what the other one changed: a refusal rests on a read begun after the request', async () => {
    const account = await openUsage(log.store, { downloads_limit: 1, overage_cap_cents: 0 });
    const [api, owner] = [writersOf(log.store), writersOf(log.store)];
    const download = async (number: number) => (await ask(api, account, queueDownload(number))).outcome;
    expect([await download(1), await download(2)]).toEqual(['accepted', 'refused']);
    await ask(owner, account, { kind: 'set_overage_cap', overageCapCents: 25, effective: 'now' });
    expect([await download(3), await download(4)]).toEqual(['accepted', 'refused']);
    await ask(owner, account, { kind: 'remove_overage_cap', effective: 'now' });
    expect(await download(5)).toBe('accepted');
    await ask(owner, account, { kind: 'set_overage_cap', overageCapCents: 0, effective: 'now' });
    expect(await download(6)).toBe('refused');
    expect(chargedCents(await readUsage(log.store, account.stream))).toBe(50);
  });
});

describe('an observation', () => {
  it('sees what another process has charged, and appends nothing', async () => {
    const account = await openUsage(log.store);
    const [one, other] = [writersOf(log.store), writersOf(log.store)];
    expect(await ask(one, account, { kind: 'query' })).toMatchObject({
      outcome: 'accepted',
      usage: { downloads: 0 },
    });
    await queueAll(other, account, [1, 2, 3]);
    const observed = await ask(one, account, { kind: 'query' });
    expect(observed).toMatchObject({ outcome: 'accepted', events: [], usage: { downloads: 3, overageCents: 25 } });
    expect(await readUsage(log.store, account.stream)).toHaveLength(7);
  });

  it('of usage that does not exist is an error, and appends nothing', async () => {
    const account = await openUsage(log.store);
    const nowhere = { ...account, origin: { ...account.origin, stream: `${account.stream.slice(0, -8)}20250101` } };
    await expect(ask(writersOf(log.store), nowhere, { kind: 'query' })).rejects.toThrow('does not exist');
    await expect(ask(writersOf(log.store), nowhere, queueDownload(1))).rejects.toThrow('does not exist');
    expect(await log.store.read(nowhere.origin.stream, 0)).toEqual([]);
  });
});

it('a command that changes nothing appends nothing', async () => {
  const account = await openUsage(log.store, { overage_cap_cents: 500 });
  const answer = await ask(writersOf(log.store), account, {
    kind: 'set_overage_cap',
    overageCapCents: 500,
    effective: 'now',
  });
  expect(answer).toMatchObject({ outcome: 'accepted', events: [] });
  expect(await readUsage(log.store, account.stream)).toHaveLength(1);
});
