import { type BillingPeriod, nextBillingPeriod } from '../../src/domain/billing-period.ts';
import type { PlanTerms, Terms } from '../../src/domain/plans.ts';
import { sum } from '../support/sum.ts';

/**
 * The rules of billing once more, as a list of what happened and sums over it: slow, plain, and in other words than the
 * decisions that it is compared with.
 */
interface ModelDownload {
  token: string;
  /** 0: a credit. */
  chargedCents: number;
  waivedCents: number;
  voided: boolean;
}

interface ModelPeriod {
  dates: BillingPeriod;
  terms: Terms;
  coming: { plan?: PlanTerms; cap?: number | null };
  downloads: ModelDownload[];
  /** The fee at opening, then what upgrades added. */
  feesCents: number[];
  closed: boolean;
}

type ModelAnswer = { took: 'credit' | 'nothing'; cents?: number } | { took: 'no'; why: string };

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
      const next = { ...terms, ...coming.plan };
      if (coming.cap !== undefined) next.overage_cap_cents = coming.cap;
      this.#open(nextBillingPeriod(dates, this.#anchorDay), next);
    }
  }

  download(token: string): ModelAnswer {
    const { terms, downloads } = this.current;
    const held = downloads.filter((each) => each.chargedCents === 0 && !each.voided).length;
    let chargedCents = 0;
    if (held >= terms.downloads_limit) {
      if (terms.overage_cents === null) return { took: 'no', why: 'download_quota_exceeded' };
      if (this.chargedCents() + terms.overage_cents > (terms.overage_cap_cents ?? Infinity))
        return { took: 'no', why: 'overage_cap_reached' };
      chargedCents = terms.overage_cents;
    }
    downloads.push({ token, chargedCents, waivedCents: 0, voided: false });
    return { took: 'credit', cents: chargedCents };
  }

  changePlan(terms: PlanTerms, effective: 'now' | 'next_period'): void {
    const { current } = this;
    if (effective === 'next_period') {
      current.coming.plan = terms;
      return;
    }
    delete current.coming.plan;
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

  voidDownload(token: string): ModelAnswer {
    const { period, download } = this.#find(token);
    if (download.voided) return { took: 'nothing' };
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

  /** The overage of a period: charges less everything that was given back. */
  chargedCents(period = this.current): number {
    return sum(period.downloads.filter(({ voided }) => !voided).map((each) => each.chargedCents - each.waivedCents));
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
      feesCents: [terms.fee_cents],
      closed: false,
    });
  }
}
