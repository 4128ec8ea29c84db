import { beforeEach, describe, expect, it } from 'vitest';
import type { UsageCommand } from '../../src/domain/decide-usage.ts';
import { type KeyLimit, noLimit } from '../../src/domain/key-limits.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { changePlan, lookUp, lookupId, plan, queueDownload, token, waiveCommand } from '../domain/usage-examples.ts';
import { type By, owner, PeriodOfDomain, staff } from './period-of-domain.ts';

/** The rules of limits of keys, by what the domain decides and by one change of it. */
const [one, other] = ['key_aaaaaaaaaaaaaaaa', 'key_bbbbbbbbbbbbbbbb'];
const of = (id: string) => ({ type: 'api_key', id });
const setTo = (changes: Partial<KeyLimit>, keyId = one): UsageCommand => ({ kind: 'change_key_limit', keyId, changes });
const remove = setTo(noLimit);

let period: PeriodOfDomain;
let count: number;
beforeEach(() => {
  period = new PeriodOfDomain({ downloads_limit: 100, metadata_limit: 9, warning_percents: [50, 100] });
  count = 0;
});

/** A download by a key, or by a person. @returns what the audit says of it */
function download(actor: object = of(one), by: By = {}): string[] {
  count += 1;
  return period.decided(queueDownload(count), { actor, ...by });
}

/** No allowance is left: each download costs 25 cents. */
function withoutAllowance(): void {
  period = new PeriodOfDomain({ downloads_limit: 0, warning_percents: [50, 100] });
}

/** From here on the domain decides as a faulty one would. */
function forgetLimits(): void {
  period.usage = { ...period.usage, terms: { ...period.usage.terms, key_limits: undefined } };
}

const naming = (keyId: string) => ({ lie: { limited_key_id: keyId } });

function expectAgreement(): void {
  const { audited, usage } = period;
  expect(Object.fromEntries(audited.keyUse ?? [])).toEqual(usage.keyUse);
  expect([...audited.warned].toSorted()).toEqual([...usage.warned].toSorted());
  expect(audited.terms).toEqual(usage.terms);
}

describe('a charge of a key with a limit', () => {
  it('names the key, and that of another or of a person names none', () => {
    expect(period.decided(setTo({ downloads: 9 }))).toEqual([]);
    expect(download()).toEqual([]);
    expect(download(of(other))).toEqual([]);
    expect(download(owner)).toEqual([]);
    expectAgreement();
    expect(download(of(one), { lie: { limited_key_id: undefined } })).toEqual([`key_limit data.limited_key_id ${one}`]);
    expect(download(of(other), { lie: { limited_key_id: one } })).toEqual(['key_limit data.limited_key_id undefined']);
  });

  it('stays within its number of downloads, of which what is given back leaves room', () => {
    expect(period.decided(setTo({ downloads: 2 }))).toEqual([]);
    expect(download()).toEqual([]);
    expect(download()).toEqual([]);
    expect(period.corrected({ kind: 'void_download', token: token(1) })).toEqual([]);
    expect(download()).toEqual([]);
    expect(period.corrected({ kind: 'return_service_failure', token: token(2), reference: 'r' })).toEqual([]);
    expect(download()).toEqual([]);
    expectAgreement();
    forgetLimits();
    expect(download(of(one), naming(one))).toEqual(['key_limit type none beyond 2 downloads of this key']);
  });

  it('stays within its cents, to the cent, of which what is given back leaves room', () => {
    withoutAllowance();
    expect(period.decided(setTo({ overage_cents: 50, downloads: 2 }))).toEqual([]);
    expect(download()).toEqual([]);
    expect(download()).toEqual([]);
    expect(period.corrected(waiveCommand(token(1), 'r', 5), { actor: staff })).toEqual([]);
    expect(period.corrected(waiveCommand(token(1), 's'), { actor: staff })).toEqual([]);
    expect(download()).toEqual([]);
    expect(period.corrected({ kind: 'void_download', token: token(2) })).toEqual([]);
    expect(download()).toEqual([]);
    expectAgreement();
    expect(period.decided(setTo({ downloads: null }))).toEqual([]);
    forgetLimits();
    expect(download(of(one), naming(one))).toEqual(['key_limit data.cents within the limit of this key']);
  });

  it('takes a credit whatever its cents were', () => {
    withoutAllowance();
    expect(period.decided(setTo({ overage_cents: 25 }))).toEqual([]);
    expect(download()).toEqual([]);
    expect(period.decided(setTo({ overage_cents: 10 }))).toEqual([]);
    expect(period.decided(changePlan({ ...plan, downloads_limit: 9, warning_percents: [50, 100] }))).toEqual([]);
    expect(download()).toEqual([]);
    expectAgreement();
  });

  it('comes before the end of its last day, and so does a look-up', () => {
    const until = '2026-11-20T00:00:00.000Z';
    const inTime = { time: '2026-11-19T23:59:59.999Z' };
    const late = { time: until };
    const before = [`key_limit metadata.time before ${until}`];
    expect(period.decided(setTo({ until }))).toEqual([]);
    expect(download(of(one), inTime)).toEqual([]);
    expect(period.decided(lookUp(lookupId), { actor: of(one), ...inTime })).toEqual([]);
    expect(download(of(other), late)).toEqual([]);
    forgetLimits();
    expect(period.decided(lookUp(token(1)), { actor: of(one), ...late })).toEqual(before);
    expect(download(of(one), { ...late, ...naming(one) })).toEqual(before);
  });
});

describe('what is given back', () => {
  const named = [`key_limit data.limited_key_id ${one}`];
  const none = { lie: { limited_key_id: undefined } };
  const asStaff = { actor: staff };

  it('names the key whose limit counts the charge', () => {
    period.decided(setTo({ downloads: 9 }));
    download();
    download();
    expect(period.corrected({ kind: 'void_download', token: token(1) }, none)).toEqual(named);
    const failed = { kind: 'return_service_failure', token: token(2), reference: 'r' } as const;
    expect(period.corrected(failed, none)).toEqual(named);
  });

  it('names it for a waiver, and for none but its charges', () => {
    withoutAllowance();
    download(owner);
    period.decided(setTo({ downloads: 9 }));
    download();
    expect(period.corrected(waiveCommand(token(1), 'r', 5), asStaff)).toEqual([]);
    expect(period.corrected(waiveCommand(token(1), 's', 5), { ...asStaff, ...naming(one) })).toEqual([
      'key_limit data.limited_key_id undefined',
    ]);
    expect(period.corrected(waiveCommand(token(2), 'r', 5), { ...asStaff, ...none })).toEqual(named);
  });

  it('is no use of a limit where there is none', () => {
    period = new PeriodOfDomain({ downloads_limit: 2 });
    for (const _ of [1, 2, 3, 4]) download(owner);
    expect(period.corrected({ kind: 'return_service_failure', token: token(1), reference: 'r' })).toEqual([]);
    expect(period.corrected({ kind: 'void_download', token: token(2) })).toEqual([]);
    expect(period.corrected(waiveCommand(token(3), 'r', 5), asStaff)).toEqual([]);
    expect(period.corrected({ kind: 'void_download', token: token(4) })).toEqual([]);
    expectAgreement();
  });

  it('is no use of a limit for a look-up', () => {
    period.decided(setTo({ downloads: 9 }));
    expect(period.decided(lookUp(lookupId), { actor: of(one) })).toEqual([]);
    expect(period.corrected({ kind: 'void_lookup', lookupId })).toEqual([]);
    expectAgreement();
  });
});

describe('a limit', () => {
  it('is set and removed by people, never by a program, within the period', () => {
    const late = { time: '2026-12-01T00:00:00.000Z' };
    const during = 'period_time metadata.time from 2026-11-01T00:00:00.000Z on, before 2026-12-01T00:00:00.000Z';
    const byProgram = ['key_limit_actor metadata.actor.type owner, staff or system'];
    expect(period.decided(setTo({ downloads: 1 }), { actor: staff })).toEqual([]);
    expect(period.decided(setTo({ downloads: 2 }), { actor: of(other) })).toEqual(byProgram);
    expect(period.decided(setTo({ downloads: 3 }), late)).toEqual([during]);
    expect(period.decided(remove, { actor: of(one) })).toEqual(byProgram);
  });

  it('is removed where there is one', () => {
    period.decided(setTo({ downloads: 1 }));
    period.decided(setTo({ until: '2026-11-20T00:00:00.000Z' }, other));
    expect(period.decided(remove)).toEqual([]);
    expectAgreement();
    expect(period.stored([{ type: 'KeyLimitRemoved', data: { key_id: one } }])).toEqual([
      'key_limit data.key_id a key with a limit',
    ]);
    expect(period.decided(setTo(noLimit, other))).toEqual([]);
    expectAgreement();
  });

  it('counts on where it is set anew', () => {
    period.decided(setTo({ downloads: 3 }));
    download();
    period.decided(remove);
    expect(download()).toEqual([]);
    expect(period.decided(setTo({ downloads: 9 }))).toEqual([]);
    expect(download()).toEqual([]);
    expectAgreement();
  });
});

describe('warnings of a limit', () => {
  it('come at each threshold of its downloads, once', () => {
    expect(period.decided(setTo({ downloads: 4 }))).toEqual([]);
    for (const _ of [1, 2, 3, 4]) expect(download()).toEqual([]);
    expect(period.usage.warned).toEqual([`${one}:downloads:50`, `${one}:downloads:100`]);
    expectAgreement();
  });

  it('come at each threshold of its cents, the last one when no further charge fits', () => {
    withoutAllowance();
    expect(period.decided(setTo({ overage_cents: 60 }))).toEqual([]);
    expect(download()).toEqual([]);
    expect(period.usage.warned).toEqual([]);
    expect(download()).toEqual([]);
    expect(period.usage.warned).toEqual([`${one}:overage:50`, `${one}:overage:100`]);
    expect(period.decided(setTo({ overage_cents: 24 }, other))).toEqual([]);
    expect(period.usage.warned.slice(2)).toEqual([`${other}:overage:100`]);
    expectAgreement();
    expect(period.decided(setTo({ overage_cents: 25 }, other))).toEqual([]);
    expect(period.usage.warned.slice(2)).toEqual([]);
    expectAgreement();
  });

  it('take a cent for the next charge where the plan has no overage', () => {
    period = new PeriodOfDomain({ overage_cents: null, warning_percents: [50, 100] });
    expect(period.decided(setTo({ overage_cents: 1 }))).toEqual([]);
    expect(period.usage.warned).toEqual([]);
  });

  it('say the key, what is used of the limit, and no more than the limit', () => {
    period.decided(setTo({ downloads: 9 }));
    download();
    download();
    const limit = { downloads: 1, overage_cents: null, until: null };
    const set: UsageEvent = { type: 'KeyLimitSet', data: { key_id: one, limit } };
    expect(period.stored([set])).toEqual([]);
    const data = { pool: 'overage', threshold_percent: 20, limited_key_id: other, used: 2, limit: 3 } as const;
    expect(period.stored([{ type: 'UsageWarningReached', data }])).toEqual([
      'append_whole data.pool downloads',
      'append_whole data.threshold_percent 50',
      `append_whole data.limited_key_id ${one}`,
      'append_whole data.used 1',
      'append_whole data.limit 1',
    ]);
    expect(period.stored([set])[0]).toBe('append_whole type UsageWarningReached');
  });

  it('of cents say so too, and none is given of a limit of nothing', () => {
    expect(period.decided(setTo({ downloads: 0, overage_cents: 0 }))).toEqual([]);
    const limit = { downloads: 0, overage_cents: 24, until: null };
    expect(period.stored([{ type: 'KeyLimitSet', data: { key_id: one, limit } }])).toEqual([]);
    const data = { pool: 'downloads', threshold_percent: 100, limited_key_id: one, used: 24, limit: 0 } as const;
    expect(period.stored([{ type: 'UsageWarningReached', data }])).toEqual([
      'append_whole data.pool overage',
      'append_whole data.used 0',
      'append_whole data.limit 24',
    ]);
  });

  it('come again after a larger limit, and leave those of other keys and of the allowance as they are', () => {
    period = new PeriodOfDomain({ downloads_limit: 4, warning_percents: [50, 100] });
    period.decided(setTo({ downloads: 4 }));
    period.decided(setTo({ downloads: 2 }, other));
    expect(download()).toEqual([]);
    expect(download(of(other))).toEqual([]);
    expect(download()).toEqual([]);
    // There is room again, and no warning is taken back for it.
    for (const number of [2, 3]) expect(period.corrected({ kind: 'void_download', token: token(number) })).toEqual([]);
    expect(download()).toEqual([]);
    expect(period.usage.warned).toEqual(['downloads:50', `${other}:downloads:50`, `${one}:downloads:50`]);
    expect(period.decided(setTo({ downloads: 3 }))).toEqual([]);
    expectAgreement();
    expect(period.decided(setTo({ downloads: 5 }))).toEqual([]);
    expect(period.usage.warned).toEqual(['downloads:50', `${other}:downloads:50`]);
    expectAgreement();
    expect(download()).toEqual([]);
    expect(period.usage.warned).toContain(`${one}:downloads:50`);
    expect(download(of(other))).toEqual([]);
    expectAgreement();
  });
});
