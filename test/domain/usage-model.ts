import { nextBillingPeriod } from '../../src/domain/billing-period.ts';
import type { BillingPeriod } from '../../src/domain/billing-period.ts';
import type { PlanTerms, Terms } from '../../src/domain/plans.ts';

/**
 * The rules of billing once more, as a list of what happened and sums over it: slow, plain, and in other words than the
 * decisions that it is compared with.
 */
export interface ModelDownload {
  token: string;
  key: string | undefined;
  fingerprint: string;
  ordinal: number;
  /** 0: a credit. */
  chargedCents: number;
  waivedCents: number;
  confirmed: boolean;
  voided: boolean;
}

interface ModelPeriod {
  dates: BillingPeriod;
  terms: Terms;
  coming: { plan?: PlanTerms; cap?: number | null };
  downloads: ModelDownload[];
  lookups: { id: string; voided: boolean }[];
  /** The fee at opening, then what upgrades added. */
  feesCents: number[];
  /** Warnings that the owner has had. */
  warned: Set<string>;
  /** The overage cap was reported as reached, and has stayed so since. */
  capReached: boolean;
  endedAt: string | undefined;
  closed: boolean;
}

export type ModelAnswer = { took: 'credit' | 'repeat' | 'nothing'; cents?: number } | { took: 'no'; why: string };

const graceMs = 3_600_000;

export class UsageModel {
  readonly periods: ModelPeriod[] = [];
  readonly references = new Map<string, { cents: number }>();
  readonly #anchorDay: number;

  constructor(dates: BillingPeriod, terms: Terms, anchorDay: number) {
    this.#anchorDay = anchorDay;
    this.#open(dates, terms);
  }

  get current(): ModelPeriod {
    const last = this.periods.at(-1);
    if (!last) throw new Error('a model begins with a period');
    return last;
  }

  /** Periods that are over end one after the other, and the next one opens with what was due. */
  rollTo(now: string): void {
    while (now >= this.current.dates.end) {
      const { dates, terms, coming } = this.current;
      this.current.endedAt = now;
      const next = { ...terms, ...coming.plan };
      if (coming.cap !== undefined) next.overage_cap_cents = coming.cap;
      this.#open(nextBillingPeriod(dates, this.#anchorDay), next);
    }
  }

  download(token: string, request: { key?: string | undefined; fingerprint: string }): ModelAnswer {
    const same = request.key === undefined ? undefined : this.#holderOf(request.key);
    if (same) {
      if (same.fingerprint !== request.fingerprint) return { took: 'no', why: 'idempotency_key_reused' };
      return this.confirm(same.token);
    }
    const { terms, downloads } = this.current;
    const held = downloads.filter((each) => each.chargedCents === 0 && !each.voided).length;
    let chargedCents = 0;
    if (held >= terms.downloads_limit) {
      if (terms.overage_cents === null) return { took: 'no', why: 'download_quota_exceeded' };
      if (this.chargedCents() + terms.overage_cents > (terms.overage_cap_cents ?? Infinity))
        return { took: 'no', why: 'overage_cap_reached' };
      chargedCents = terms.overage_cents;
    }
    downloads.push({
      token,
      key: request.key,
      fingerprint: request.fingerprint,
      ordinal: downloads.length + 1,
      chargedCents,
      waivedCents: 0,
      confirmed: false,
      voided: false,
    });
    return { took: 'credit', cents: chargedCents };
  }

  lookUp(id: string): ModelAnswer {
    const { terms, lookups } = this.current;
    if (lookups.filter(({ voided }) => !voided).length >= terms.metadata_limit)
      return { took: 'no', why: 'metadata_quota_exceeded' };
    lookups.push({ id, voided: false });
    return { took: 'credit', cents: 0 };
  }

  changePlan(terms: PlanTerms, effective: 'now' | 'next_period'): void {
    const { current } = this;
    if (effective === 'next_period') {
      current.coming.plan = terms;
      return;
    }
    delete current.coming.plan;
    for (const pool of ['downloads', 'metadata'] as const) {
      const [limit, larger] = [current.terms[`${pool}_limit`], terms[`${pool}_limit`]];
      for (const percent of larger > limit ? terms.warning_percents : [])
        if (this.#held(current)[pool] * 100 < larger * percent) current.warned.delete(`${pool}:${String(percent)}`);
    }
    current.terms = { ...terms, overage_cap_cents: current.terms.overage_cap_cents };
    const paidCents = sum(current.feesCents);
    if (terms.fee_cents > paidCents) current.feesCents.push(terms.fee_cents - paidCents);
  }

  changeCap(cents: number | null, effective: 'now' | 'next_period'): void {
    if (effective === 'next_period') this.current.coming.cap = cents;
    else {
      delete this.current.coming.cap;
      this.current.terms = { ...this.current.terms, overage_cap_cents: cents };
    }
  }

  confirm(token: string): ModelAnswer {
    const { period, download } = this.#find(token);
    if (download.voided) return { took: 'no', why: 'download_voided' };
    if (download.confirmed || period.closed) return { took: 'nothing' };
    download.confirmed = true;
    return { took: 'repeat' };
  }

  voidDownload(token: string): ModelAnswer {
    const { period, download } = this.#find(token);
    if (download.voided) return { took: 'nothing' };
    if (download.confirmed) return { took: 'no', why: 'download_confirmed' };
    if (period.closed) return { took: 'no', why: 'period_closed' };
    download.voided = true;
    return { took: 'credit', cents: download.waivedCents - download.chargedCents };
  }

  waive(token: string, cents: number, reference: string): ModelAnswer {
    const { period, download } = this.#find(token);
    // A reference may stand for several charges, and for one waiver of each.
    const named = `${token} ${reference}`;
    const known = this.references.get(named);
    if (known) return known.cents === cents ? { took: 'nothing' } : { took: 'no', why: 'reference_reused' };
    const left = download.voided ? 0 : download.chargedCents - download.waivedCents;
    if (period.closed) return { took: 'no', why: 'period_closed' };
    if (left === 0) return { took: 'no', why: 'nothing_to_give_back' };
    if (cents > left) return { took: 'no', why: 'exceeds_charge' };
    download.waivedCents += cents;
    this.references.set(named, { cents });
    return { took: 'credit', cents: -cents };
  }

  close(period: ModelPeriod, now: string): ModelAnswer {
    if (period.closed) return { took: 'nothing' };
    if (period.endedAt === undefined) return { took: 'no', why: 'period_open' };
    if (Date.parse(now) < Date.parse(period.endedAt) + graceMs) return { took: 'no', why: 'grace_not_over' };
    period.closed = true;
    return { took: 'credit' };
  }

  /** After each step: what the owner has been told of. @param tells whether the step was a charge or a change of terms */
  watch(tells: boolean): void {
    const { terms, warned } = this.current;
    const held = this.#held(this.current);
    const wouldBeCents = this.chargedCents() + (terms.overage_cents ?? 0);
    const hasCap = terms.overage_cents !== null && terms.overage_cap_cents !== null;
    const isReached =
      hasCap && held.downloads >= terms.downloads_limit && wouldBeCents > (terms.overage_cap_cents ?? 0);
    this.current.capReached = isReached && (tells || this.current.capReached);
    for (const pool of ['downloads', 'metadata'] as const) {
      const limit = terms[`${pool}_limit`];
      for (const percent of terms.warning_percents) {
        if (limit > 0 && held[pool] * 100 >= limit * percent) warned.add(`${pool}:${String(percent)}`);
      }
    }
  }

  /** Credits in use. */
  #held({ downloads, lookups }: ModelPeriod) {
    return {
      downloads: downloads.filter((each) => each.chargedCents === 0 && !each.voided).length,
      metadata: lookups.filter(({ voided }) => !voided).length,
    };
  }

  /** The overage of a period: charges less everything that was given back. */
  chargedCents(period = this.current): number {
    return sum(period.downloads.filter(({ voided }) => !voided).map((each) => each.chargedCents - each.waivedCents));
  }

  /** The newest download with this key, unless it was voided. */
  #holderOf(key: string): ModelDownload | undefined {
    return this.periods.flatMap(({ downloads }) => downloads).findLast((each) => each.key === key && !each.voided);
  }

  #find(token: string): { period: ModelPeriod; download: ModelDownload } {
    const period = this.#periodOf(token);
    const download = period?.downloads.find((each) => each.token === token);
    if (!period || !download) throw new Error(`the model has no download ${token}`);
    return { period, download };
  }

  #periodOf(token: string): ModelPeriod | undefined {
    return this.periods.find(({ downloads }) => downloads.some((each) => each.token === token));
  }

  #open(dates: BillingPeriod, terms: Terms): void {
    this.periods.push({
      dates,
      terms,
      coming: {},
      downloads: [],
      lookups: [],
      feesCents: [terms.fee_cents],
      warned: new Set(),
      capReached: false,
      endedAt: undefined,
      closed: false,
    });
  }
}

export const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
