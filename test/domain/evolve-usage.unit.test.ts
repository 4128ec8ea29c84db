import { describe, expect, it } from 'vitest';
import { decideUsage, type UsageCommand } from '../../src/domain/decide-usage.ts';
import { evolveUsage } from '../../src/domain/evolve-usage.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { endPeriod, openNextPeriod, owesInvoice, owesOpeningInvoice } from '../../src/domain/usage-periods.ts';
import { initialUsage } from '../../src/domain/usage-state.ts';
import {
  accountId,
  capSet,
  changePlan,
  charge,
  charged,
  closed,
  credit,
  credited,
  ended,
  given,
  lookedUp,
  lookUp,
  lookupId,
  mails,
  opened,
  plan,
  planChanged,
  queued,
  queueDownload,
  sandbox,
  token,
  voidOf,
  warned,
} from './usage-examples.ts';

describe('queueing a download', () => {
  it('takes a credit while the allowance has one', () => {
    expect(given(opened())).toMatchObject({ warned: [], capReached: false });
    expect(decideUsage(given(opened()), queueDownload(1))).toEqual([credit(1), queued(1, false)]);
    expect(decideUsage(given(opened(), ...credited(1)), queueDownload(2))).toEqual([credit(2), queued(2, false)]);
  });

  it('is charged beyond the allowance, at the rate and rate version in force, and says so', () => {
    const usage = given(opened(), ...credited(1, 2));
    expect(decideUsage(usage, queueDownload(3))).toEqual([charge(3), queued(3, true)]);
  });

  it('is refused beyond the allowance of a plan without overage', () => {
    expect(decideUsage(given(opened(sandbox)), queueDownload(1))).toEqual({ refusal: 'download_quota_exceeded' });
    const usage = given(opened({ overage_cents: null }), ...credited(1, 2));
    expect(decideUsage(usage, queueDownload(3))).toEqual({ refusal: 'download_quota_exceeded' });
  });

  it('refuses for the plan before it refuses for the cap', () => {
    const usage = given(opened({ ...sandbox, overage_cap_cents: 0 }));
    expect(decideUsage(usage, queueDownload(1))).toEqual({ refusal: 'download_quota_exceeded' });
  });

  it('counts credits and charges in one row of ordinals', () => {
    const usage = given(opened(), ...credited(1, 2), ...charged(3, 4));
    expect(usage).toMatchObject({ downloads: 4, downloadCredits: 2, overageDownloads: 2, overageCents: 50 });
    expect(decideUsage(usage, queueDownload(5))).toEqual([charge(5), queued(5, true)]);
  });
});

describe('a warning', () => {
  const warning = { warning_percents: [80, 100] };

  it('is given in the append that reaches the share, once', () => {
    const terms = { ...warning, downloads_limit: 5 };
    const three = [opened(terms), ...credited(1, 2, 3)];
    expect(decideUsage(given(opened(terms), ...credited(1, 2)), queueDownload(3))).toHaveLength(2);
    expect(decideUsage(given(...three), queueDownload(4))).toEqual([
      credit(4),
      queued(4, false),
      warned('downloads', 80, 4, 5),
    ]);
    const four = [...three, ...credited(4), warned('downloads', 80, 4, 5)];
    expect(decideUsage(given(...four), queueDownload(5))).toEqual([
      credit(5),
      queued(5, false),
      warned('downloads', 100, 5, 5),
    ]);
    const five = [...four, ...credited(5), warned('downloads', 100, 5, 5)];
    expect(decideUsage(given(...five), queueDownload(6))).toEqual([charge(6), queued(6, true)]);
    const afterVoid = [...five, voidOf(5, 0)];
    expect(decideUsage(given(...afterVoid), queueDownload(6))).toEqual([credit(6), queued(6, false)]);
  });

  it('is given for both shares where one step reaches both, and for each pool by itself', () => {
    expect(decideUsage(given(opened(warning)), lookUp(lookupId))).toEqual([
      lookedUp(1, lookupId),
      warned('metadata', 80, 1, 1),
      warned('metadata', 100, 1, 1),
    ]);
  });

  it('comes of a change of plan too, and never of an empty pool', () => {
    const usage = given(opened({ ...warning, downloads_limit: 10 }), ...credited(1, 2));
    const smaller = { ...plan, ...warning, downloads_limit: 2 };
    expect(decideUsage(usage, changePlan(smaller))).toEqual([
      planChanged(smaller),
      warned('downloads', 80, 2, 2),
      warned('downloads', 100, 2, 2),
    ]);
    const none = { ...smaller, downloads_limit: 0 };
    expect(decideUsage(usage, changePlan(none))).toEqual([planChanged(none)]);
  });

  it('comes again where a larger allowance has put it out of reach, and only there', () => {
    const given80And100 = [warned('downloads', 80, 4, 4), warned('downloads', 100, 4, 4)];
    const used = [opened({ ...warning, downloads_limit: 4 }), ...credited(1, 2, 3, 4), ...given80And100];
    const larger = planChanged({ ...plan, ...warning, downloads_limit: 5 });
    expect(decideUsage(given(...used, larger), queueDownload(5))).toEqual([
      credit(5),
      queued(5, false),
      warned('downloads', 100, 5, 5),
    ]);
    const asLarge = planChanged({ ...plan, ...warning, downloads_limit: 4, overage_cents: 30 });
    expect(decideUsage(given(...used, voidOf(4, 0), asLarge), queueDownload(5))).toEqual([credit(5), queued(5, false)]);
  });
});

describe('a download that is there already', () => {
  const keyed = (number: number): UsageCommand => ({
    ...(queueDownload(number) as Extract<UsageCommand, { kind: 'queue_download' }>),
    idempotency: { keyHash: 'a'.repeat(64), fingerprint: 'b'.repeat(64) },
  });
  const prior = {
    token: token(1),
    overage: false,
    fingerprint: 'b'.repeat(64),
    confirmed: false,
    voided: false,
  };
  const empty = given(opened(sandbox));

  it('is not charged again: it is confirmed, before any quota is looked at', () => {
    expect(decideUsage(empty, keyed(2), { prior })).toEqual([{ type: 'DownloadConfirmed', data: { token: token(1) } }]);
    expect(decideUsage(empty, keyed(2), { prior: { ...prior, confirmed: true } })).toEqual([]);
  });

  it('is not what another request with its key asked for', () => {
    const other = { ...prior, fingerprint: 'c'.repeat(64) };
    expect(decideUsage(given(opened()), keyed(2), { prior: other })).toEqual({ refusal: 'idempotency_key_reused' });
  });

  it('is found by its key alone', () => {
    const refused = { refusal: 'idempotency_key_reused' };
    expect(decideUsage(given(opened()), queueDownload(2), { prior: { ...prior, fingerprint: null } })).toEqual(refused);
    expect(decideUsage(given(opened()), lookUp(lookupId), { prior })).toEqual([lookedUp(1, lookupId)]);
  });

  it('has its key from the first request on', () => {
    const idempotency = { key_hash: 'a'.repeat(64), fingerprint: 'b'.repeat(64) };
    expect(decideUsage(given(opened()), keyed(1))).toMatchObject([
      {},
      { type: 'DownloadQueued', data: { idempotency } },
    ]);
  });

  it('frees its key when it is voided', () => {
    const decision = decideUsage(given(opened()), keyed(2), { prior: { ...prior, voided: true } });
    expect(decision).toMatchObject([{ type: 'DownloadCreditDebited' }, { type: 'DownloadQueued' }]);
  });
});

describe('what is voided', () => {
  it('gives its own credit back to the next download, and its ordinal to nobody', () => {
    const usage = given(opened(), ...credited(1, 2), ...charged(3), voidOf(1, 0));
    expect(usage).toMatchObject({ downloads: 3, downloadCredits: 1, overageDownloads: 1, overageCents: 25 });
    expect(decideUsage(usage, queueDownload(4))).toEqual([credit(4), queued(4, false)]);
  });

  it('gives its own cents back, at the rate it was charged', () => {
    const usage = given(opened(), ...credited(1, 2), ...charged(3), planChanged({ overage_cents: 99 }), voidOf(3, 25));
    expect(usage).toMatchObject({ downloads: 3, downloadCredits: 2, overageDownloads: 0, overageCents: 0 });
  });

  it('of lookups leaves room for another, with an ordinal of its own', () => {
    const voided: UsageEvent = {
      type: 'MetadataCreditVoided',
      data: { lookup_id: lookupId, charge_event_id: lookupId },
    };
    const usage = given(opened(), lookedUp(1, lookupId), voided);
    expect(usage).toMatchObject({ lookups: 1, metadataCredits: 0 });
    expect(decideUsage(usage, lookUp(lookupId))).toEqual([lookedUp(2, lookupId)]);
  });
});

describe('a metadata lookup', () => {
  it('takes a credit of its own pool, and none of the downloads', () => {
    const usage = given(opened(), ...credited(1, 2), ...charged(3));
    expect(decideUsage(usage, lookUp(lookupId))).toEqual([lookedUp(1, lookupId)]);
    expect(given(opened(), lookedUp(1, lookupId))).toMatchObject({ metadataCredits: 1, downloads: 0 });
  });

  it('is refused when the pool is empty, on a plan with overage too', () => {
    const usage = given(opened(), lookedUp(1, lookupId));
    expect(decideUsage(usage, lookUp(lookupId))).toEqual({ refusal: 'metadata_quota_exceeded' });
  });
});

describe('the end of a period', () => {
  it('carries what the next one begins with: its dates, and the terms and the cap in force', () => {
    const usage = given(opened(), capSet(700), planChanged({ plan: 'other' }), ...credited(1));
    expect(endPeriod(usage)).toEqual(ended({ plan: 'other', overage_cap_cents: 700 }));
  });

  it('opens the next with nothing used in it', () => {
    const usage = given(opened({ overage_cap_cents: 50 }), ...credited(1, 2), ...charged(3, 4), ended(sandbox));
    const next = openNextPeriod(usage);
    expect(next).toEqual({
      type: 'UsagePeriodOpened',
      data: {
        account_id: accountId,
        anchor_day: 1,
        period_start: '2026-12-01T00:00:00.000Z',
        period_end: '2027-01-01T00:00:00.000Z',
        previous_period_start: '2026-11-01T00:00:00.000Z',
        terms: { ...sandbox, overage_cap_cents: null },
      },
    });
    expect(given(next)).toMatchObject({ downloads: 0, downloadCredits: 0, overageCents: 0, metadataCredits: 0 });
  });

  it('comes before the next opening', () => {
    expect(() => openNextPeriod(given(opened()))).toThrow('has not ended');
  });
});

describe('a warning about metadata requests', () => {
  const warnings = { warning_percents: [100] };
  const voided: UsageEvent = { type: 'MetadataCreditVoided', data: { lookup_id: lookupId, charge_event_id: lookupId } };
  const used = [opened(warnings), lookedUp(1, lookupId), warned('metadata', 100, 1, 1)];

  it('comes again only where a larger allowance has put it out of reach', () => {
    const larger = planChanged({ ...warnings, metadata_limit: 2 });
    expect(decideUsage(given(...used, larger), lookUp(lookupId))).toEqual([
      lookedUp(2, lookupId),
      warned('metadata', 100, 2, 2),
    ]);
    const asLarge = planChanged({ ...warnings, fee_cents: 1_800 });
    expect(decideUsage(given(...used, voided, asLarge), lookUp(lookupId))).toEqual([lookedUp(2, lookupId)]);
  });
});

it('nothing is used before a period is opened', () => {
  expect(evolveUsage(initialUsage, credit(1))).toBe(initialUsage);
});

it.each([queued(1, false), { type: 'DownloadConfirmed', data: { token: token(1) } } as const, ...mails])(
  'usage is as it was after $type',
  (event) => {
    const usage = given(opened());
    expect(evolveUsage(usage, event)).toBe(usage);
  },
);

describe('an invoice is owed', () => {
  const free = ended({ fee_cents: 0 });

  it('by a closed period with overage, a fee difference or a next fee, each by itself', () => {
    expect(owesInvoice(given(opened(), ended(), closed))).toBe(true);
    expect(owesInvoice(given(opened(), ...charged(1), free, closed))).toBe(true);
    expect(owesInvoice(given(opened(), planChanged({}, 1), free, closed))).toBe(true);
    expect(owesInvoice(given(opened(), free, closed))).toBe(false);
  });

  it('by no period before its books are closed', () => {
    expect(owesInvoice(given(opened(), ...charged(1)))).toBe(false);
    expect(owesInvoice(given(opened(), ...charged(1), ended()))).toBe(false);
  });

  it('by the first period at its opening, if it has a fee', () => {
    const { data } = opened();
    expect(owesOpeningInvoice(data)).toBe(true);
    expect(owesOpeningInvoice(opened({ fee_cents: 0 }).data)).toBe(false);
    expect(owesOpeningInvoice({ ...data, previous_period_start: '2026-10-01T00:00:00.000Z' })).toBe(false);
  });
});
