import { beforeEach, describe, expect, it } from 'vitest';
import { anchorAfter, Period } from '../../src/audit/rules/period.ts';
import { linkOf } from './link-of.ts';

/** The rules of one billing period, event by event, and what they go on with. */
const [start, end, nextEnd] = ['2024-01-31', '2024-02-29', '2024-03-31'].map((day) => `${day}T00:00:00.000Z`) as [
  string,
  string,
  string,
];
const small = {
  plan: 'dev_100',
  downloads_limit: 2,
  metadata_limit: 5,
  overage_cents: 25 as number | null,
  rate_version: 'v1',
  fee_cents: 1_900,
  warning_percents: [80, 100] as number[],
  overage_cap_cents: null as number | null,
  service_failures_returned: true,
};
const staff = { type: 'staff', id: 'maria', role: 'operator' };
const service = { type: 'system', id: 'service-failures' };

let told: string[];
let period: Period;
let revision: number;
beforeEach(() => {
  told = [];
  revision = -1;
  period = new Period('usage-acc_a-20240131', 'acc_a', ({ rule, field, expected }) =>
    told.push(`${rule} ${field} ${typeof expected === 'string' ? expected : JSON.stringify(expected)}`),
  );
});

interface By {
  actor?: object;
  time?: string;
  request?: string;
  cause?: string;
}

/** Applies an event. @returns what is told of it */
function step(type: string, data: object, by: By = {}): string[] {
  const { actor = staff, time = '2024-02-10T12:00:00.000Z', request = 'one request', cause = 'one cause' } = by;
  revision += 1;
  const metadata = { actor, time, $correlationId: request, $causationId: cause };
  const event = linkOf(type, { stream: period.stream, revision, position: BigInt(100 + revision), data, metadata });
  told.length = 0;
  period.time = time;
  period.check(event);
  return [...told];
}

const opening = {
  account_id: 'acc_a',
  anchor_day: 31,
  period_start: start,
  period_end: end,
  previous_period_start: null,
};
const open = (terms: Partial<typeof small> = {}, by: By = {}) =>
  step('UsagePeriodOpened', { ...opening, terms: { ...small, ...terms } }, by);

let charged = 0;
beforeEach(() => {
  charged = 0;
});
const queued = (token: string, overage: boolean, by: By = {}) =>
  step('DownloadQueued', { token, overage, idempotency: null }, by);
/** A charge and its download. @returns what is told of both */
function credit(token: string, of: object = {}, by: By = {}): string[] {
  charged += 1;
  return [...step('DownloadCreditDebited', { token, ordinal: charged, ...of }, by), ...queued(token, false, by)];
}
function overage(token: string, of: object = {}, by: By = {}): string[] {
  charged += 1;
  const data = { token, ordinal: charged, cents: 25, rate_cents: 25, rate_version: 'v1', ...of };
  return [...step('OverageCharged', data, by), ...queued(token, true, by)];
}
const lookUp = (id: string, ordinal: number) => step('MetadataCreditDebited', { lookup_id: id, ordinal });
const warning = (threshold: number, used: number, limit = 2, pool = 'downloads') =>
  step('UsageWarningReached', { pool, threshold_percent: threshold, used, limit });

/** Opened, and its two credits are used, with the warnings. */
function used(terms: Partial<typeof small> = {}): void {
  open(terms);
  credit('a');
  credit('b');
  warning(80, 2);
  warning(100, 2);
}

describe('the order of events', () => {
  it('begins with the opening, which is asked for once', () => {
    expect(step('DownloadCreditDebited', { token: 'a', ordinal: 1 })).toEqual([
      'period_order type UsagePeriodOpened, first',
    ]);
    expect(step('UsagePeriodEnded', {})).toEqual([]);
    expect(open()).toEqual([]);
    expect(period.phase).toBe('open');
    const again = ['period_order type one that may come while the period is open'];
    expect(open({ downloads_limit: 9 })).toEqual(again);
    expect(period.terms.downloads_limit).toBe(9);
    expect(step('JobClaimed', {})).toEqual(again);
    expect(period.phase).toBe('open');
  });

  it('has each event in its phase alone', () => {
    const ended = {
      period_start: start,
      period_end: end,
      next: { period_start: end, period_end: nextEnd, terms: small },
    };
    const totals = {
      period_start: start,
      period_end: end,
      downloads: 1,
      download_credits: 1,
      metadata_credits: 0,
      overage_downloads: 0,
      overage_cents: 0,
      fee_difference_cents: 0,
    };
    open();
    expect(credit('a')).toEqual([]);
    const while_ = (phase: string) => [`period_order type one that may come while the period is ${phase}`];
    const late = { time: '2024-02-29T00:00:01.000Z' };
    expect(step('UsagePeriodClosed', totals)).toEqual(while_('open'));
    period.phase = 'open';
    expect(step('UsagePeriodEnded', ended, late)).toEqual([]);
    expect([period.phase, period.phaseSince, period.next]).toEqual(['ended', late.time, ended.next]);
    expect(step('UsagePeriodEnded', ended, late)).toEqual(while_('ended'));
    expect(step('OverageCapSet', { effective: 'now', overage_cap_cents: 1 })[0]).toBe(while_('ended')[0]);
    expect(step('DownloadConfirmed', { token: 'a' }, late)).toEqual([]);
    expect(step('UsagePeriodClosed', totals, late)).toEqual([]);
    expect(period.phase).toBe('closed');
    expect(step('DownloadConfirmed', { token: 'a' }, late)).toEqual(while_('closed'));
    expect(step('OverageCapMailed', { cap_event_id: 'x' }, late)).toHaveLength(1);
  });

  it('opens in the stream of its account and start, not before that', () => {
    expect(open({}, { time: start })).toEqual([]);
    period = new Period('usage-acc_b-20240131', 'acc_b', ({ rule, field, expected }) =>
      told.push(`${rule} ${field} ${String(expected)}`),
    );
    expect(open({}, { time: '2024-01-30T23:59:59.999Z' })).toEqual([
      'period_account stream usage-acc_a-20240131',
      `period_time metadata.time at or after ${start}`,
    ]);
  });

  it('ends at its end or later, with what waits for the next period', () => {
    open();
    step('PlanChanged', {
      effective: 'next_period',
      terms: { plan: 'studio', fee_cents: 5_900 },
      fee_difference_cents: 0,
    });
    step('OverageCapSet', { effective: 'next_period', overage_cap_cents: 100 });
    const terms = { ...small, plan: 'studio', fee_cents: 5_900, overage_cap_cents: 100 };
    const ended = { period_start: start, period_end: end, next: { period_start: end, period_end: nextEnd, terms } };
    expect(step('UsagePeriodEnded', ended, { time: '2024-02-28T23:59:59.999Z' })).toEqual([
      `period_time metadata.time at or after ${end}`,
    ]);
    period.phase = 'open';
    expect(step('UsagePeriodEnded', ended, { time: end })).toEqual([]);
    period.phase = 'open';
    const others = { period_start: end, period_end: start, next: { ...ended.next, terms: small } };
    expect(step('UsagePeriodEnded', others, { time: end })).toEqual([
      `period_follows data.period_start ${start}`,
      `period_follows data.period_end ${end}`,
      `period_follows data.next ${JSON.stringify({ period_start: end, period_end: nextEnd, terms })}`,
    ]);
    expect(period.lines.at(-1)).toMatchObject({ kind: 'fee', plan: 'dev_100', cents: 1_900, event: { revision } });
  });

  it('is the last one of an account that is closed: staff end it at any time, and no fee follows', () => {
    open();
    const last = { period_start: start, period_end: end, next: null };
    expect(step('UsagePeriodEnded', last)).toEqual([]);
    expect([period.phase, period.next, period.lines]).toEqual(['ended', null, []]);
    period.phase = 'open';
    const others = { ...last, period_start: end, period_end: start };
    expect(step('UsagePeriodEnded', others, { actor: { type: 'owner', id: 'per_a' } })).toEqual([
      `period_follows data.period_start ${start}`,
      `period_follows data.period_end ${end}`,
      'account_closed metadata.actor.type staff',
    ]);
  });

  it('closes with the sums of its events', () => {
    used({ metadata_limit: 50 });
    overage('c');
    overage('d');
    lookUp('l', 1);
    step('PlanChanged', { effective: 'now', terms: { plan: 'studio', fee_cents: 2_000 }, fee_difference_cents: 100 });
    step('ChargeWaived', {
      token: 'd',
      charge_event_id: period.charges.get('d')?.id,
      reference: 'r',
      cents: 5,
      overage_downloads: 0,
    });
    period.phase = 'ended';
    const wrong = step('UsagePeriodClosed', {
      period_start: end,
      period_end: start,
      downloads: 0,
      download_credits: 0,
      metadata_credits: 0,
      overage_downloads: 0,
      overage_cents: 0,
      fee_difference_cents: 0,
    });
    expect(wrong).toEqual([
      `period_totals data.period_start ${start}`,
      `period_totals data.period_end ${end}`,
      'period_totals data.overage_downloads 2',
      'period_totals data.overage_cents 45',
      'period_totals data.fee_difference_cents 100',
      'period_totals data.downloads 4',
      'period_totals data.download_credits 2',
      'period_totals data.metadata_credits 1',
    ]);
  });
});

describe('a charge', () => {
  const during = `period_time metadata.time from ${start} on, before ${end}`;

  it('is within the period by its time', () => {
    open();
    expect(credit('a', {}, { time: start })).toEqual([]);
    expect(credit('b', {}, { time: end })).toContain(during);
    expect(
      step('OverageCapSet', { effective: 'now', overage_cap_cents: 1 }, { time: '2024-01-30T23:59:59.999Z' }),
    ).toContain(during);
  });

  it('takes a credit while there is one, then the rate', () => {
    open();
    expect(credit('a')).toEqual([]);
    const other = { rate_cents: 30, rate_version: 'v2', cents: 30 };
    expect(overage('b', other)).toEqual(['charge_due type a credit, while there is one']);
    expect(period.terms).toMatchObject({ overage_cents: 25, rate_version: 'v1' });
    // From here on as if the credits were used.
    expect(overage('c')[0]).toMatch(/^append_whole type UsageWarningReached/);
    expect(period.credits.downloads).toBe(2);
  });

  it('takes the rate once the credits are used', () => {
    used();
    expect(credit('c')).toEqual(['charge_due type OverageCharged']);
    expect(period.credits.downloads).toBe(2);
    expect(overage('d')).toEqual([]);
    expect(period.totals).toMatchObject({ overage_downloads: 1, overage_cents: 25 });
  });

  it('is refused without a rate: a credit is due that there is not', () => {
    used({ overage_cents: null });
    expect(credit('c')).toEqual(['charge_due type a credit, while there is one']);
    expect(overage('d')).toEqual(['charge_due type a credit, while there is one']);
  });

  it('counts its pool, and comes once for each token and look-up', () => {
    open();
    expect(credit('a', { ordinal: 2 })).toEqual(['charge_ordinal data.ordinal 1']);
    expect(credit('b', { ordinal: 3 })).toEqual([]);
    warning(80, 2);
    warning(100, 2);
    expect(lookUp('a', 1)).toEqual([]);
    expect(lookUp('b', 3)).toEqual(['charge_ordinal data.ordinal 2']);
    const once = 'charge_once data a token or an id that has no charge yet';
    expect(lookUp('a', 4)).toContain(once);
    expect(overage('a', { ordinal: 4 })).toContain(once);
  });

  it('has the rate in force, and its price; another rate is told once', () => {
    used();
    const inForce = ['charge_rate data.rate_cents 25', 'charge_rate data.rate_version v1', 'charge_rate data.cents 24'];
    expect(overage('c', { rate_cents: 24, rate_version: 'v2', cents: 23 })).toEqual(inForce);
    expect(overage('d', { rate_cents: 24, rate_version: 'v2', cents: 24 })).toEqual([]);
    expect(period.totals).toMatchObject({ overage_downloads: 2, overage_cents: 47 });
    expect(period.charges.get('d')).toMatchObject({ leftCents: 24, leftCredits: 0, rate: { rate_cents: 24 } });
    expect(period.charges.get('a')).toMatchObject({ leftCents: 0, leftCredits: 1, rate: null });
  });

  it('stays within the cap, to the cent', () => {
    used({ overage_cap_cents: 50 });
    expect(overage('c')).toEqual([]);
    expect(overage('d')).toEqual([]);
    expect(step('OverageCapReached', { overage_cents: 50, overage_cap_cents: 50 })).toEqual([]);
    expect(overage('e')).toEqual(['overage_cap data.cents within the overage cap']);
  });

  it('is followed by its download, in the same append', () => {
    open();
    const both = (data: object, by: By) => {
      charged += 1;
      step('DownloadCreditDebited', { token: `t${String(charged)}`, ordinal: charged });
      return step('DownloadQueued', { token: `t${String(charged)}`, overage: false, ...data }, by);
    };
    expect(both({}, {})).toEqual([]);
    expect(both({ token: 'other', overage: true }, {}).slice(0, 2)).toEqual([
      'append_whole data.token t2',
      'append_whole data.overage false',
    ]);
    warning(80, 2);
    warning(100, 2);
    const late = { request: 'another', cause: 'another', time: '2024-02-11T00:00:00.000Z' };
    charged += 1;
    step('OverageCharged', { token: 'c', ordinal: charged, cents: 25, rate_cents: 25, rate_version: 'v1' });
    expect(queued('c', true, late)).toEqual([
      'append_whole metadata.$correlationId one request',
      'append_whole metadata.$causationId one cause',
      'append_whole metadata.time 2024-02-10T12:00:00.000Z',
    ]);
    charged += 1;
    step('OverageCharged', { token: 'd', ordinal: charged, cents: 25, rate_cents: 25, rate_version: 'v1' });
    expect(step('OverageCapRemoved', { effective: 'now' })).toEqual(['append_whole type DownloadQueued']);
    expect(queued('e', true)).toEqual(['period_order type one that may come while the period is open']);
  });

  it('keeps the key of its download', () => {
    open();
    step('DownloadCreditDebited', { token: 'a', ordinal: 1 });
    const idempotency = { key_hash: 'hash', fingerprint: 'print' };
    step('DownloadQueued', { token: 'a', overage: false, idempotency });
    expect(period.charges.get('a')?.key).toEqual(idempotency);
  });
});

describe('notices', () => {
  it('come in the append that reaches a threshold, lowest first, once', () => {
    open({ downloads_limit: 5 });
    for (const token of ['a', 'b', 'c']) expect(credit(token)).toEqual([]);
    expect(credit('d')).toEqual([]);
    expect(warning(80, 4, 5)).toEqual([]);
    expect(credit('e')).toEqual([]);
    expect(warning(100, 5, 5)).toEqual([]);
    expect(overage('f')).toEqual([]);
    expect([...period.warned]).toEqual(['downloads:80', 'downloads:100']);
    expect(step('OverageCapRemoved', { effective: 'now' })).toEqual([]);
  });

  it('say the pool, the threshold and what is used of the limit', () => {
    open({ downloads_limit: 1 });
    credit('a');
    expect(step('UsageWarningReached', { pool: 'metadata', threshold_percent: 70, used: 0, limit: 9 })).toEqual([
      'append_whole data.pool downloads',
      'append_whole data.threshold_percent 80',
      'append_whole data.used 1',
      'append_whole data.limit 1',
    ]);
  });

  it('are of look-ups too, and of no pool without a limit', () => {
    open({ metadata_limit: 1, downloads_limit: 0 });
    expect(lookUp('a', 1)).toEqual([]);
    expect(warning(80, 1, 1, 'metadata')).toEqual([]);
    expect(warning(100, 1, 1, 'metadata')).toEqual([]);
    expect(overage('a')).toEqual([]);
    expect(step('OverageCapRemoved', { effective: 'now' })).toEqual([]);
  });

  it('come again after a larger limit, or not, as in older logs', () => {
    used();
    const larger = { plan: 'studio', fee_cents: 1_900, downloads_limit: 4 };
    const change = (terms: object) => step('PlanChanged', { effective: 'now', terms, fee_difference_cents: 0 });
    expect(change(larger)).toEqual([]);
    expect([...period.warned]).toEqual([]);
    expect(credit('c')).toEqual([]);
    expect(credit('d')).toEqual([]);
    expect(warning(80, 4, 4)).toEqual([]);
    expect(warning(100, 4, 4)).toEqual([]);
    // Within the larger limit some are still reached: they stay given.
    expect(change({ ...larger, downloads_limit: 5 })).toEqual([]);
    expect([...period.warned]).toEqual(['downloads:80']);
    expect(credit('e')).toEqual([]);
    expect(overage('f')).toEqual([]);
    expect(change({ ...larger, downloads_limit: 5, metadata_limit: 50 })).toEqual([]);
    expect([...period.warned]).toEqual(['downloads:80']);
  });

  it('tell that the cap is reached once no further charge fits, and again once there was room', () => {
    used({ overage_cap_cents: 49 });
    expect(overage('c')).toEqual([]);
    expect(step('OverageCapReached', { overage_cents: 20, overage_cap_cents: 40 })).toEqual([
      'append_whole data.overage_cents 25',
      'append_whole data.overage_cap_cents 49',
    ]);
    expect(period.capReached).toBe(true);
    const cap = (overage_cap_cents: number) => step('OverageCapSet', { effective: 'now', overage_cap_cents });
    expect(cap(49)).toEqual([]);
    expect(cap(50)).toEqual([]);
    expect(period.capReached).toBe(false);
    expect(lookUp('l', 1)).toEqual([]);
    expect(cap(30)).toEqual([]);
    expect(step('OverageCapReached', { overage_cents: 25, overage_cap_cents: 30 })).toEqual([]);
  });

  it('do not tell of a cap at the opening, however small it is', () => {
    open({ downloads_limit: 0, overage_cap_cents: 0 });
    expect(period.capReached).toBe(false);
    expect(step('OverageCapSet', { effective: 'now', overage_cap_cents: 1 })).toEqual([]);
    expect(step('OverageCapReached', { overage_cents: 0, overage_cap_cents: 1 })).toEqual([]);
  });

  it('do not tell of a cap below what was charged, where nothing more can be', () => {
    used();
    overage('c');
    period.terms = { ...period.terms, overage_cents: null };
    expect(step('OverageCapSet', { effective: 'now', overage_cap_cents: 0 })).toEqual([]);
    expect(step('OverageCapRemoved', { effective: 'now' })).toEqual([]);
  });

  it('stay given after a change that leaves the limit as it is, though a void has made room', () => {
    used();
    const id = period.charges.get('b')?.id;
    step('DownloadVoided', { token: 'b', charge_event_id: id, credits: 1, overage_downloads: 0, cents: 0 });
    const change = (downloads_limit: number) =>
      step('PlanChanged', {
        effective: 'now',
        terms: { plan: 'dev_100', fee_cents: 1_900, downloads_limit },
        fee_difference_cents: 0,
      });
    expect(change(2)).toEqual([]);
    expect([...period.warned]).toEqual(['downloads:80', 'downloads:100']);
  });

  it('do not tell of a cap while there are credits, or without a rate, or in an append of a look-up', () => {
    open({ overage_cap_cents: 0 });
    expect(credit('a')).toEqual([]);
    expect(credit('b')).toEqual([]);
    expect(warning(80, 2)).toEqual([]);
    expect(warning(100, 2)).toEqual([]);
    expect(step('OverageCapReached', { overage_cents: 0, overage_cap_cents: 0 })).toEqual([]);
    period.capReached = false;
    expect(lookUp('l', 1)).toEqual([]);
    expect(step('OverageCapRemoved', { effective: 'now' })).toEqual([]);
    period.terms = { ...period.terms, overage_cents: null };
    expect(step('OverageCapSet', { effective: 'now', overage_cap_cents: 0 })).toEqual([]);
    expect(step('OverageCapRemoved', { effective: 'now' })).toEqual([]);
  });

  it('are mailed once', () => {
    open({ overage_cap_cents: 0 });
    credit('a');
    credit('b');
    const given: string[] = [];
    for (const threshold of [80, 100]) {
      warning(threshold, 2);
      given.push(`event ${String(revision)}`);
    }
    step('OverageCapReached', { overage_cents: 0, overage_cap_cents: 0 });
    const cap = `event ${String(revision)}`;
    const mailed = (id: string | undefined, threshold_percent: number) =>
      step('UsageWarningMailed', { warning_event_id: id, pool: 'downloads', threshold_percent, message_id: '<a>' });
    const notThat = ['notice_mailed data.warning_event_id that of a warning that was not mailed yet'];
    expect(mailed(given[0], 80)).toEqual([]);
    expect(mailed(given[0], 80)).toEqual(notThat);
    expect(mailed(given[1], 80)).toEqual(notThat);
    const capMailed = () => step('OverageCapMailed', { cap_event_id: cap, message_id: '<a>' });
    expect(capMailed()).toEqual([]);
    expect(capMailed()).toEqual(['notice_mailed data.cap_event_id that of a notice that was not mailed yet']);
  });
});

describe('a change of terms', () => {
  it('of the next period says that an owner has chosen it, if one has', () => {
    open();
    const change = (type: string, of: object) =>
      step(
        'PlanChanged',
        { effective: 'next_period', terms: { plan: 'studio', fee_cents: 5_900 }, fee_difference_cents: 0, ...of },
        { actor: { type, id: 'per_a' } },
      );
    expect(change('owner', { chosen_by_owner: true })).toEqual([]);
    expect(period.dueIsOfOwner).toBe(true);
    expect(change('staff', { chosen_by_owner: true })).toEqual(['plan_change data.chosen_by_owner undefined']);
    expect(period.dueIsOfOwner).toBe(false);
    expect(change('owner', {})).toEqual(['plan_change data.chosen_by_owner true']);
    const now = { effective: 'now', fee_difference_cents: 4_000, chosen_by_owner: true };
    expect(change('owner', now)).toEqual(['plan_change data.chosen_by_owner undefined']);
  });

  const change = (of: object, terms: object = {}) =>
    step('PlanChanged', {
      effective: 'now',
      terms: { plan: 'studio', fee_cents: 5_900, ...terms },
      fee_difference_cents: 4_000,
      ...of,
    });

  it('of now raises the fee at once by what exceeds it, and never lowers it', () => {
    open();
    expect(change({})).toEqual([]);
    expect(period.lines.at(-1)).toMatchObject({
      kind: 'fee_difference',
      plan: 'studio',
      cents: 4_000,
      event: { revision },
    });
    expect(change({ fee_difference_cents: 1 }, { fee_cents: 6_000 })).toEqual([
      'plan_change data.fee_difference_cents 100',
    ]);
    expect(change({ fee_difference_cents: 0 }, { fee_cents: 100 })).toEqual([]);
    expect(period.totals.fee_difference_cents).toBe(4_001);
    expect(period.planChanges).toBe(3);
    expect(period.terms).toMatchObject({ plan: 'studio', fee_cents: 100, downloads_limit: 2 });
  });

  it('of later costs nothing now, and waits; one of now ends what waits', () => {
    open();
    expect(change({ effective: 'next_period', fee_difference_cents: 0 })).toEqual([]);
    expect(change({ effective: 'next_period', fee_difference_cents: 1 })).toEqual([
      'plan_change data.fee_difference_cents 0',
    ]);
    expect(period.terms.plan).toBe('dev_100');
    expect(period.due.plan).toMatchObject({ plan: 'studio' });
    step('OverageCapSet', { effective: 'next_period', overage_cap_cents: 5 });
    expect(period.due.cap).toEqual({ overage_cap_cents: 5 });
    expect(period.terms.overage_cap_cents).toBeNull();
    change({});
    expect(period.due).toEqual({ cap: { overage_cap_cents: 5 } });
    step('OverageCapRemoved', { effective: 'now' });
    expect(period.due).toEqual({});
    step('OverageCapSet', { effective: 'now', overage_cap_cents: 7 });
    expect(period.terms.overage_cap_cents).toBe(7);
    step('OverageCapRemoved', { effective: 'now', overage_cap_cents: 7 });
    expect(period.terms.overage_cap_cents).toBeNull();
  });

  it('holds at one of two times, and leaves the cap alone', () => {
    open();
    expect(change({ effective: 'soon', fee_difference_cents: 0 })).toEqual([
      'plan_change data.effective now or next_period',
    ]);
    expect(change({}, { overage_cap_cents: 5 })).toEqual(['plan_change data.terms.overage_cap_cents undefined']);
  });

  it('says since when failures of the service are given back', () => {
    open();
    expect(period.returnsFailuresSince).toBe(100n);
    change({ fee_difference_cents: 0 }, { service_failures_returned: false, fee_cents: 0 });
    expect(period.returnsFailuresSince).toBeUndefined();
    change({}, { service_failures_returned: true });
    const since = period.returnsFailuresSince;
    expect(since).toBe(BigInt(100 + revision));
    change({ fee_difference_cents: 0 }, { service_failures_returned: true });
    expect(period.returnsFailuresSince).toBe(since);
    change({ fee_difference_cents: 0 }, { service_failures_returned: false });
    expect(period.returnsFailuresSince).toBeUndefined();
  });
});

describe('what is given back', () => {
  const idOf = (token: string) => period.charges.get(token)?.id;
  const waive = (token: string, of: object = {}, by: By = {}) =>
    step(
      'ChargeWaived',
      { token, charge_event_id: idOf(token), reference: 'case-1', cents: 5, overage_downloads: 0, ...of },
      by,
    );
  const returned = (token: string, by: By = { actor: service }) =>
    step('DownloadCreditReturned', { token, charge_event_id: idOf(token) }, by);
  const voided = (token: string, of: object) => step('DownloadVoided', { token, charge_event_id: idOf(token), ...of });
  beforeEach(() => {
    used();
    overage('c');
  });

  it('is about a charge of this period, by its event', () => {
    expect(waive('nothing')).toEqual(['correction_charge data about what was charged in this period']);
    expect(waive('c', { charge_event_id: 'another' })).toEqual([
      `correction_charge data.charge_event_id ${String(idOf('c'))}`,
    ]);
    lookUp('l', 1);
    expect(step('MetadataCreditVoided', { lookup_id: 'l', charge_event_id: idOf('lookup l') })).toEqual([]);
    expect(period.credits.metadata).toBe(0);
  });

  it('is a waiver of a part by staff, under one reference, within what is left', () => {
    expect(waive('c')).toEqual([]);
    expect(waive('c')).toEqual(['correction_reference data.reference a new one for this charge']);
    expect(waive('c', { reference: 'case-2', cents: 0 })).toEqual([
      'correction_amount data.cents at least 1 and at most 15',
    ]);
    expect(waive('c', { reference: 'case-3', cents: 16 })).toEqual([
      'correction_amount data.cents at least 1 and at most 15',
    ]);
    period.charges.get('c')!.leftCents = 15;
    expect(waive('c', { reference: 'case-4', cents: 14, overage_downloads: 1 })).toEqual([
      'correction_amount data.overage_downloads 0',
    ]);
    expect(waive('c', { reference: 'case-5', cents: 1, overage_downloads: 0 })).toEqual([
      'correction_amount data.overage_downloads 1',
    ]);
    const owner = { type: 'owner', id: 'per_a' };
    expect(waive('c', { reference: 'case-6' }, { actor: owner })[0]).toBe('correction_actor metadata.actor.type staff');
    expect(period.waivers[0]).toMatchObject({ cents: 5, event: { type: 'ChargeWaived' } });
    overage('d');
    expect(waive('d')).toEqual([]);
  });

  it('lowers the sums of the period', () => {
    waive('c', { cents: 25, overage_downloads: 1 });
    expect(period.totals).toMatchObject({ overage_cents: 0, overage_downloads: 0 });
    expect(period.charges.get('c')?.leftCents).toBe(0);
  });

  it('is all of a charge for a failure of the service, where the terms say so', () => {
    const all = { cents: 25, overage_downloads: 1, reference: 'service-failure-c' };
    expect(waive('c', { ...all, cents: 24, overage_downloads: 0, reference: 'x' }, { actor: service })).toEqual([
      'correction_amount data.cents 25',
      'correction_amount data.reference service-failure-c',
    ]);
    period.charges.get('c')!.leftCents = 25;
    expect(waive('c', { reference: 'by staff' }, { actor: { ...staff, id: service.id } })).toEqual([]);
    period.charges.get('c')!.leftCents = 25;
    expect(waive('c', all, { actor: service })).toEqual([]);
    expect(returned('a')).toEqual([]);
    expect(period.credits.downloads).toBe(1);
    expect(returned('a')).toEqual(['correction_amount data.token a download that holds a credit']);
    expect(period.credits.downloads).toBe(1);
    expect(returned('b', { actor: { type: 'system', id: 'others' } })).toEqual([
      'correction_actor metadata.actor system, service-failures',
    ]);
    period.terms = { ...period.terms, service_failures_returned: false };
    const nobody = ['correction_actor metadata.actor nobody: the terms return no failures of the service'];
    overage('d');
    expect(returned('d')).toContain(nobody[0]);
    const ofD = { cents: 25, overage_downloads: 1, reference: 'service-failure-d' };
    expect(waive('d', ofD, { actor: service })).toEqual(nobody);
  });

  it('is all of a charge that is voided, which is never confirmed', () => {
    expect(voided('a', { credits: 0, overage_downloads: 1, cents: 1 })).toEqual([
      'correction_amount data.credits 1',
      'correction_amount data.overage_downloads 0',
      'correction_amount data.cents 0',
    ]);
    expect(voided('c', { credits: 0, overage_downloads: 1, cents: 25 })).toEqual([]);
    expect(period.totals).toMatchObject({ overage_downloads: -1, overage_cents: -1 });
    expect(voided('b', { credits: 1, overage_downloads: 0, cents: 0 })).toEqual([]);
    expect(period.credits.downloads).toBe(1);
    expect(period.charges.get('b')).toMatchObject({ voided: true, leftCredits: 0, leftCents: 0 });
    const more = 'correction_charge type nothing more about a charge that was voided';
    expect(voided('b', { credits: 0, overage_downloads: 0, cents: 0 })).toEqual([more]);
    expect(step('DownloadConfirmed', { token: 'b' })).toEqual([more]);
  });

  it('is not given back of a download that was confirmed', () => {
    expect(step('DownloadConfirmed', { token: 'c' })).toEqual([]);
    expect(voided('c', { credits: 0, overage_downloads: 1, cents: 25 })).toEqual([
      'void_confirmed type no void of a download that was confirmed',
    ]);
    expect(waive('c').slice(0, 1)).toEqual(['correction_charge type nothing more about a charge that was voided']);
  });
});

it.each([
  ['2024-01-31', 31, '2024-02-29'],
  ['2023-01-31', 31, '2023-02-28'],
  ['2024-02-29', 31, '2024-03-31'],
  ['2024-02-29', 29, '2024-03-29'],
  ['2024-12-05', 5, '2025-01-05'],
  ['2024-11-30', 30, '2024-12-30'],
])('a period from %s with the day %s ends on %s', (from, anchorDay, to) => {
  expect(anchorAfter(`${from}T00:00:00.000Z`, anchorDay)).toBe(`${to}T00:00:00.000Z`);
});
