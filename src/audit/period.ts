import type { RecordedEvent } from '../commands/ports.ts';
import { must, mustEqual } from '../verify/divergence.ts';
import type { Link, Terms } from '../verify/forms.ts';
import { Chain, mustBeStaff } from './chain.ts';

/** What was taken for one download or lookup, and what of it is left. */
export interface Charge {
  id: string;
  revision: number;
  /** Null for a credit. */
  rate: { rate_cents: number; rate_version: string } | null;
  leftCents: number;
  confirmed: boolean;
  voided: boolean;
  key: Link['data']['idempotency'];
}

interface Due {
  type: string;
  data: object;
}

const corrections = [
  'DownloadConfirmed',
  'DownloadVoided',
  'MetadataCreditVoided',
  'ChargeWaived',
  'UsageWarningMailed',
];
const changes = ['PlanChanged', 'OverageCapSet', 'OverageCapRemoved'];
const charges = ['DownloadCreditDebited', 'OverageCharged', 'MetadataCreditDebited'];
/** What an append may begin with. The other events stand only behind the event that they follow from. */
const mayCome = {
  absent: ['UsagePeriodOpened'],
  open: [...charges, ...changes, ...corrections, 'UsagePeriodEnded'],
  ended: [...corrections, 'UsagePeriodClosed'],
  closed: ['UsageWarningMailed'],
};

/** One billing period, rated again: each event must be one that those before it ask for or allow. */
export class Period extends Chain {
  phase: keyof typeof mayCome = 'absent';
  opened!: Link;
  ended: Link | undefined;
  terms!: Terms;
  /** Changes that the next period begins with. */
  readonly due = new Map<'plan' | 'cap', Partial<Terms>>();
  /** By the token of the download, or the id of the lookup. */
  readonly charges = new Map<string, Charge>();
  readonly waivers: Link[] = [];
  readonly planChanges: Link[] = [];
  lookups = 0;
  /** What UsagePeriodClosed adds up to. */
  readonly totals = {
    ...{ downloads: 0, download_credits: 0, overage_downloads: 0, overage_cents: 0 },
    ...{ metadata_credits: 0, fee_difference_cents: 0 },
  };
  /** Warnings given, such as `downloads:80`, with the id of their event until they are mailed. */
  readonly warned = new Map<string, string | null>();
  capReached = false;
  isInvoiced = false;
  /** What must come next, in the append that the leader began. */
  awaited: Due[] = [];
  #leader!: Link;

  apply(recorded: RecordedEvent): Link {
    const event = this.follow(recorded);
    const awaited = this.awaited.shift();
    if (awaited) {
      const { $correlationId, $causationId, time } = this.#leader.metadata;
      mustEqual(event, { type: awaited.type }, '');
      mustEqual(event, { $correlationId, $causationId, time }, 'metadata.');
      mustEqual(event, awaited.data);
    } else {
      const isRight = mayCome[this.phase].includes(event.type);
      must(isRight, event, 'type', `one that may stand here: the period is ${this.phase}`);
      this.#leader = event;
    }
    this.#change(event, event.data);
    this.capReached &&= this.#isCapReached();
    if (['DownloadQueued', 'MetadataCreditDebited', ...changes].includes(event.type)) this.awaited = this.#notices();
    // A lookup uses up nothing that the ceiling is about.
    if (event.type === 'MetadataCreditDebited')
      this.awaited = this.awaited.filter(({ type }) => type === 'UsageWarningReached');
    return event;
  }

  #change(event: Link, data: Link['data']): void {
    const { type } = event;
    const warning = `${data.pool}:${data.threshold_percent}`;
    if (type === 'UsagePeriodOpened') {
      mustEqual(event, { stream: `usage-${data.account_id}-${dayOf(data.period_start)}` }, '');
      mustEqual(event, { period_end: anchorAfter(data.period_start, data.anchor_day) });
      must(this.time >= data.period_start, event, 'data.period_start', `at or before ${this.time}`);
      Object.assign(this, { phase: 'open', opened: event, terms: data.terms });
    } else if (charges.includes(type)) this.#charge(event, data);
    else if (changes.includes(type)) this.#changeTerms(event, data);
    else if (type === 'DownloadQueued') this.chargeOf(event).key = data.idempotency;
    else if (type === 'UsageWarningReached') this.warned.set(warning, event.id);
    else if (type === 'UsageWarningMailed') {
      mustEqual(event, { warning_event_id: this.warned.get(warning) ?? 'that of a warning that was not mailed yet' });
      this.warned.set(warning, null);
    } else if (type === 'OverageCapReached') this.capReached = true;
    else if (type.startsWith('UsagePeriod')) this.#end(event);
    else this.#giveBack(event, data);
  }

  /** A credit while there is one, then the rate in force, up to the ceiling in force. */
  #charge(event: Link, { token, lookup_id }: Link['data']): void {
    const { totals, terms } = this;
    const { overage_cents: cents, rate_version, overage_cap_cents } = terms;
    const isLookup = event.type === 'MetadataCreditDebited';
    const [used, limit] = isLookup
      ? [totals.metadata_credits, terms.metadata_limit]
      : [totals.download_credits, terms.downloads_limit];
    const hasCredit = used < limit;
    const rate = hasCredit || isLookup || cents === null ? null : { rate_cents: cents, rate_version };
    const due = rate ? 'OverageCharged' : isLookup ? 'MetadataCreditDebited' : 'DownloadCreditDebited';
    must(hasCredit || rate !== null, event, 'type', 'no charge: the pool is empty');
    mustEqual(event, { type: due }, '');
    mustEqual(event, { ordinal: isLookup ? (this.lookups += 1) : (totals.downloads += 1) });
    const name = isLookup ? lookup_id : token;
    must(!this.charges.has(name), event, isLookup ? 'data.lookup_id' : 'data.token', 'one that has no charge yet');
    const leftCents = rate?.rate_cents ?? 0;
    const { id, revision } = event;
    this.charges.set(name, { id, revision, rate, leftCents, confirmed: false, voided: false, key: null });
    if (!isLookup) this.awaited = [{ type: 'DownloadQueued', data: { token, overage: !hasCredit } }];
    if (!rate) totals[isLookup ? 'metadata_credits' : 'download_credits'] += 1;
    else {
      mustEqual(event, { cents, ...rate });
      totals.overage_downloads += 1;
      totals.overage_cents += leftCents;
      const cap = overage_cap_cents ?? Infinity;
      must(
        totals.overage_cents <= cap,
        event,
        'data.cents',
        `what keeps ${totals.overage_cents} within the ceiling of ${cap}`,
      );
    }
  }

  chargeOf(event: Link): Charge {
    const field = event.type.startsWith('Metadata') ? 'lookup_id' : 'token';
    const charge = this.charges.get(event.data[field]);
    must(charge !== undefined, event, `data.${field}`, 'one that was charged in this period');
    return charge;
  }

  #changeTerms(event: Link, { terms: plan, effective, overage_cap_cents }: Link['data']): void {
    const isNow = effective === 'now';
    must(isNow || effective === 'next_period', event, 'data.effective', 'now or next_period');
    let change: Partial<Terms> = { overage_cap_cents: event.type === 'OverageCapSet' ? overage_cap_cents : null };
    if (event.type === 'PlanChanged') {
      const rise = isNow ? Math.max(0, plan.fee_cents - this.feeCents) : 0;
      mustEqual(event, { fee_difference_cents: rise });
      mustEqual(event, { overage_cap_cents: undefined }, 'data.terms.');
      this.totals.fee_difference_cents += rise;
      this.planChanges.push(event);
      change = plan;
    }
    const name = event.type === 'PlanChanged' ? 'plan' : 'cap';
    if (!isNow) this.due.set(name, change);
    else {
      this.due.delete(name);
      this.terms = { ...this.terms, ...change };
    }
  }

  /** The fee of the period with what upgrades have added to it. */
  get feeCents(): number {
    return this.opened.data.terms.fee_cents + this.totals.fee_difference_cents;
  }

  #end(event: Link): void {
    const { period_start, period_end, anchor_day } = this.opened.data;
    if (event.type === 'UsagePeriodClosed') {
      mustEqual(event, { period_start, period_end, ...this.totals });
      this.phase = 'closed';
    } else {
      must(this.time >= period_end, event, 'data.period_end', `at or before ${this.time}`);
      const terms = Object.assign({}, this.terms, ...this.due.values()) as Terms;
      const next = { period_start: period_end, period_end: anchorAfter(period_end, anchor_day), terms };
      mustEqual(event, { period_start, period_end, next });
      Object.assign(this, { phase: 'ended', ended: event });
    }
  }

  /** A charge is confirmed or voided, never both, and voided once; waivers take back no more than it was. */
  #giveBack(event: Link, { cents, reference }: Link['data']): void {
    const { totals } = this;
    const charge = this.chargeOf(event);
    must(!charge.voided, event, 'type', 'nothing more about a charge that was voided');
    if (event.type === 'DownloadConfirmed') return void (charge.confirmed = true);
    mustEqual(event, { charge_event_id: charge.id });
    const nothingLeft = charge.leftCents > 0 ? 1 : 0;
    if (event.type === 'ChargeWaived') {
      mustBeStaff(event);
      const isNew = !this.waivers.some(({ data }) => data.reference === reference);
      must(isNew, event, 'data.reference', 'one that was not used in this period');
      must(cents > 0 && cents <= charge.leftCents, event, 'data.cents', `at least 1 and at most ${charge.leftCents}`);
      mustEqual(event, { overage_downloads: cents === charge.leftCents ? 1 : 0 });
      this.waivers.push(event);
    } else {
      must(!charge.confirmed, event, 'type', 'no void of a download that was confirmed');
      charge.voided = true;
      if (event.type === 'MetadataCreditVoided') return void (totals.metadata_credits -= 1);
      mustEqual(event, { credits: charge.rate ? 0 : 1, overage_downloads: nothingLeft, cents: charge.leftCents });
      totals.download_credits -= event.data.credits;
    }
    charge.leftCents -= cents;
    totals.overage_cents -= cents;
    totals.overage_downloads -= event.data.overage_downloads;
  }

  /** What the owner must hear of: thresholds that a pool has reached, and that no other charge fits under the ceiling. */
  #notices(): Due[] {
    const { terms, totals, warned } = this;
    const pools = [
      { pool: 'downloads', used: totals.download_credits, limit: terms.downloads_limit },
      { pool: 'metadata', used: totals.metadata_credits, limit: terms.metadata_limit },
    ];
    const warnings = pools.flatMap(({ pool, used, limit }) =>
      (terms.warning_percents as number[])
        .filter((percent) => limit > 0 && used * 100 >= limit * percent && !warned.has(`${pool}:${percent}`))
        .map((threshold_percent) => ({ pool, threshold_percent, used: Math.min(used, limit), limit }))
        .map((data) => ({ type: 'UsageWarningReached', data })),
    );
    const data = { overage_cents: totals.overage_cents, overage_cap_cents: terms.overage_cap_cents };
    const isNew = this.#isCapReached() && !this.capReached;
    return isNew ? [...warnings, { type: 'OverageCapReached', data }] : warnings;
  }

  /** The allowance is used up, and one more charge does not fit. */
  #isCapReached(): boolean {
    const { downloads_limit, overage_cents: cents, overage_cap_cents } = this.terms;
    if (cents === null || this.totals.download_credits < downloads_limit) return false;
    return this.totals.overage_cents + cents > (overage_cap_cents ?? Infinity);
  }
}

/** Of an instant: its day, as the names of streams have it. */
export const dayOf = (instant: string) => instant.slice(0, 10).replaceAll('-', '');

/** The end of a period: the same day of the next month, or its last day where it has none. */
export function anchorAfter(start: string, anchorDay: number): string {
  const [year, month] = [Number(start.slice(0, 4)), Number(start.slice(5, 7))];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return new Date(Date.UTC(year, month, Math.min(anchorDay, lastDay))).toISOString();
}
