import { describe, expect, it } from 'vitest';
import { lookUpMetadata } from '../../../src/commands/look-up-metadata.ts';
import { usageStream } from '../../../src/domain/billing-period.ts';
import { lookUp, queueDownload, sandbox, token, video } from '../../domain/usage-examples.ts';
import { numberedUuid } from '../../support/numbered-uuid.ts';
import { correct } from '../keyed-downloads.ts';
import { logUnderTest } from '../log-under-test.ts';
import {
  ask,
  freshCause,
  openUsage,
  outcomesOf,
  queueAll,
  readUsage,
  type StoredUsage,
  tokensOf,
  upFrom,
  type UsageAccount,
  writersOf,
} from '../usage-account.ts';

const log = logUnderTest();

const november = { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' };
const december = { start: '2026-12-01T00:00:00.000Z', end: '2027-01-01T00:00:00.000Z' };

/** A clock that stands until it is moved. */
function clockAt(instant: string) {
  const clock = { instant, now: () => clock.instant };
  return clock;
}

const periodOf = ({ accountId }: UsageAccount, period: { start: string }) =>
  readUsage(log.store, usageStream(accountId, period));

const typesOf = (stored: readonly StoredUsage[]) => stored.map(({ event }) => event.type);

/** Every event but the one that ends the period. */
function expectTimesWithin(stored: readonly StoredUsage[], { start, end }: { start: string; end: string }): void {
  for (const { event, metadata } of stored) {
    if (event.type === 'UsagePeriodEnded') expect(metadata.time >= end, metadata.time).toBe(true);
    else expect(metadata.time >= start && metadata.time < end, `${event.type} at ${metadata.time}`).toBe(true);
  }
}

describe('the first requests past the end of a period', () => {
  it('end it and open the next exactly once, through two processes at once, and none is lost', async () => {
    const clock = clockAt('2026-11-30T23:59:59.999Z');
    const account = await openUsage(log.store, { overage_cap_cents: 50 });
    const [one, other] = [writersOf(log.store, clock.now), writersOf(log.store, clock.now)];
    expect(outcomesOf(await queueAll(one, account, upFrom(1, 5)))).toEqual([
      ...Array.from({ length: 4 }, () => 'accepted'),
      'refused',
    ]);
    clock.instant = '2026-12-01T00:00:00.000Z';
    const answers = await Promise.all([queueAll(one, account, upFrom(11, 2)), queueAll(other, account, upFrom(21, 2))]);
    expect(outcomesOf(answers.flat())).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);

    const [ended, opened] = [await periodOf(account, november), await periodOf(account, december)];
    expect(typesOf(ended).filter((type) => type === 'UsagePeriodEnded')).toHaveLength(1);
    expect(typesOf(ended).at(-1)).toBe('UsagePeriodEnded');
    expect(tokensOf(ended)).toEqual(upFrom(1, 4).map(token));
    expect(typesOf(opened).filter((type) => type === 'UsagePeriodOpened')).toHaveLength(1);
    expect(typesOf(opened)[0]).toBe('UsagePeriodOpened');
    expect(tokensOf(opened).sort()).toEqual([11, 12, 21, 22].map(token));
    expectTimesWithin(ended, november);
    expectTimesWithin(opened, december);
  });

  it('land each in exactly one period while the clock passes the end', async () => {
    let nowMs = Date.parse(november.end) - 15;
    const ticking = () => new Date((nowMs += 1)).toISOString();
    const account = await openUsage(log.store);
    const writers = [writersOf(log.store, ticking), writersOf(log.store, ticking)];
    const answers = [];
    for (let wave = 0; wave < 30; wave += 1) {
      answers.push(...writers.map((each, index) => queueAll(each, account, upFrom(wave * 10 + index * 5, 5))));
      await Promise.race(answers.slice(-2));
    }
    expect(new Set(outcomesOf((await Promise.all(answers)).flat()))).toEqual(new Set(['accepted']));
    const [ended, opened] = [await periodOf(account, november), await periodOf(account, december)];
    expectTimesWithin(ended, november);
    expectTimesWithin(opened, december);
    const tokens = [...tokensOf(ended), ...tokensOf(opened)];
    expect(tokens.sort()).toEqual(upFrom(0, 300).map(token));
    expect(tokensOf(ended).length).toBeGreaterThan(0);
    expect(tokensOf(opened).length).toBeGreaterThan(0);
  });

  it('are caused by the system, within the request that met the end', async () => {
    const account = await openUsage(log.store);
    const cause = { commandId: '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11', correlationId: 'req-7', causationId: 'cmd-7' };
    const request = { cause: { ...cause, actor: { type: 'api_key', id: 'key_7' } as const } };
    await ask(
      writersOf(log.store, () => december.start),
      account,
      queueDownload(1),
      request,
    );
    const [ended, [opened]] = [await periodOf(account, november), await periodOf(account, december)];
    expect([ended.at(-1)?.metadata, opened?.metadata]).toMatchObject(
      Array.from({ length: 2 }, () => ({
        $correlationId: 'req-7',
        $causationId: cause.commandId,
        actor: { type: 'system', id: 'billing-period' },
      })),
    );
  });

  it('carry the terms and the cap over, and begin with nothing used', async () => {
    const clock = clockAt(november.start);
    const account = await openUsage(log.store);
    const writers = writersOf(log.store, clock.now);
    await queueAll(writers, account, upFrom(1, 3));
    await ask(writers, account, { kind: 'change_plan', terms: { ...sandbox, downloads_limit: 1 }, effective: 'now' });
    await ask(writers, account, { kind: 'set_overage_cap', overageCapCents: 75, effective: 'now' });
    clock.instant = december.start;
    const [first, second] = await queueAll(writers, account, [4, 5]);
    expect(first).toMatchObject({
      outcome: 'accepted',
      usage: { downloads: 1, overageCents: 0, terms: { plan: 'sandbox', overage_cap_cents: 75 } },
    });
    expect(second).toMatchObject({ outcome: 'refused', refusal: 'download_quota_exceeded' });
  });

  it('may be a change of the cap, which then belongs to the new period', async () => {
    const account = await openUsage(log.store);
    const writers = writersOf(log.store, () => december.start);
    await ask(writers, account, { kind: 'set_overage_cap', overageCapCents: 75, effective: 'now' });
    expect(typesOf(await periodOf(account, november))).toEqual(['UsagePeriodOpened', 'UsagePeriodEnded']);
    expect(typesOf(await periodOf(account, december))).toEqual(['UsagePeriodOpened', 'OverageCapSet']);
  });
});

describe('idle months', () => {
  it('roll forward one at a time, each with its own dates', async () => {
    const account = await openUsage(log.store, { openedAt: '2026-10-31T08:00:00.000Z' });
    const writers = writersOf(log.store, () => '2027-03-15T12:00:00.000Z');
    expect((await ask(writers, account, queueDownload(1))).outcome).toBe('accepted');
    const starts = ['2026-10-31', '2026-11-30', '2026-12-31', '2027-01-31', '2027-02-28'];
    for (const [index, day] of starts.entries()) {
      const stored = await periodOf(account, { start: day });
      const isLast = index === starts.length - 1;
      expect(typesOf(stored), day).toEqual(
        isLast
          ? ['UsagePeriodOpened', 'DownloadCreditDebited', 'DownloadQueued']
          : ['UsagePeriodOpened', 'UsagePeriodEnded'],
      );
      expect(stored[0]?.event.data).toMatchObject({
        period_start: `${day}T00:00:00.000Z`,
        period_end: `${starts[index + 1] ?? '2027-03-31'}T00:00:00.000Z`,
      });
    }
  });
});

describe('clocks that differ', () => {
  it('never charge an ended period: who is behind follows, and the time is that of the new period', async () => {
    const account = await openUsage(log.store);
    const [ahead, behind] = [december.start, '2026-11-30T23:59:58.000Z'].map((at) => writersOf(log.store, () => at));
    await ask(behind!, account, queueDownload(1));
    await ask(ahead!, account, queueDownload(2));
    await ask(behind!, account, queueDownload(3));
    expect(tokensOf(await periodOf(account, november))).toEqual([token(1)]);
    const opened = await periodOf(account, december);
    expect(tokensOf(opened)).toEqual([token(2), token(3)]);
    expectTimesWithin(opened, december);
  });

  it('never charge a period in whose stream the time is past its end, although nobody has ended it yet', async () => {
    const account = await openUsage(log.store, { metadata_limit: 1 });
    const behind = writersOf(log.store, () => '2026-11-30T23:59:59.000Z');
    await ask(behind, account, queueDownload(1));
    await ask(behind, account, lookUp(numberedUuid(1)));
    // A correction by a process whose clock is ahead: it charges nothing, and so ends nothing.
    const confirm = { kind: 'confirm_download', token: token(1) } as const;
    const confirmed = await correct(log.store, account.stream, confirm, { now: '2026-12-01T00:00:02.000Z' });
    expect(confirmed).toMatchObject({ events: [{ type: 'DownloadConfirmed' }] });
    // The pool of November is empty, that of December is not.
    const metadata = { title: 'x', durationSeconds: 1, thumbnail: '', downloadRefusal: null };
    const found = { ok: true as const, metadata };
    const answered = await lookUpMetadata(
      { writers: behind, probe: { probe: () => Promise.resolve(found) } },
      {
        accountId: account.accountId,
        lookupId: numberedUuid(2),
        video,
        snapshot: account.origin,
        cause: freshCause(),
        decisionBudgetMs: 9_000,
        now: '2026-11-30T23:59:59.500Z',
      },
    );
    expect(answered.outcome).toBe('found');
    await ask(behind, account, queueDownload(2));
    const [ended, opened] = [await periodOf(account, november), await periodOf(account, december)];
    expect(tokensOf(ended)).toEqual([token(1)]);
    expect(typesOf(ended).slice(-2)).toEqual(['DownloadConfirmed', 'UsagePeriodEnded']);
    expect(typesOf(opened)).toEqual([
      'UsagePeriodOpened',
      'MetadataCreditDebited',
      'DownloadCreditDebited',
      'DownloadQueued',
    ]);
    expectTimesWithin(opened, december);
  });

  it('that go back within a period leave the time standing', async () => {
    const clock = clockAt('2026-11-14T12:00:00.000Z');
    const account = await openUsage(log.store);
    const writers = writersOf(log.store, clock.now);
    await ask(writers, account, queueDownload(1));
    clock.instant = '2026-11-14T11:00:00.000Z';
    await ask(writers, account, queueDownload(2));
    const stored = await periodOf(account, november);
    expect(stored.at(-1)?.metadata.time).toBe('2026-11-14T12:00:00.000Z');
  });
});

describe('an observation past the end', () => {
  it('appends nothing, before anybody has rolled over and after', async () => {
    const account = await openUsage(log.store);
    const clock = clockAt(december.start);
    const observer = writersOf(log.store, clock.now);
    expect(await ask(observer, account, { kind: 'query' })).toMatchObject({ usage: { phase: 'open' } });
    expect(typesOf(await periodOf(account, november))).toEqual(['UsagePeriodOpened']);
    await ask(writersOf(log.store, clock.now), account, queueDownload(1));
    expect(await ask(observer, account, { kind: 'query' })).toMatchObject({
      usage: { phase: 'open', downloads: 1, period: december },
    });
    expect(await periodOf(account, december)).toHaveLength(3);
  });
});
