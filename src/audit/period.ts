import { must, mustEqual } from '../verify/divergence.ts';
import { feeLine, sourceOf, usageStream, type Line, type Link, type Terms } from '../verify/forms.ts';
import { Chain } from './chain.ts';

/** What was taken for one download or lookup, and what of it is left: cents at a rate, or a credit. */
export interface Charge extends Pick<Link, 'id' | 'revision'> {
  rate: { rate_cents: number; rate_version: string } | null;
  leftCents: number;
  confirmed: boolean;
  voided: boolean;
  returned?: true;
  key: Link['data']['idempotency'];
}

const charges = ['DownloadCreditDebited', 'OverageCharged', 'MetadataCreditDebited'];
const changes = ['PlanChanged', 'OverageCapSet', 'OverageCapRemoved'];
const corrections = [
  'DownloadConfirmed',
  'DownloadVoided',
  'MetadataCreditVoided',
  'ChargeWaived',
  'DownloadCreditReturned',
];
const mails = ['UsageWarningMailed', 'OverageCapMailed'];
/** What an append may begin with. All others stand only behind the event that they follow from. */
const mayCome = {
  absent: ['UsagePeriodOpened'],
  open: [...charges, ...changes, ...corrections, ...mails, 'UsagePeriodEnded'],
  ended: [...corrections, ...mails, 'UsagePeriodClosed'],
  closed: mails,
};

/** One billing period, rated again: each event must be one that those before it ask for or allow. */
export class Period extends Chain {
  phase: keyof typeof mayCome = 'absent';
  opened!: Link;
  terms!: Terms;
  /** Changes that wait for the next period. */
  readonly due = new Map<'plan' | 'cap', Partial<Terms>>();
  /** By the token of the download, or by `lookup ` and the id of the lookup. */
  readonly charges = new Map<string, Charge>();
  /** What an invoice has besides overage: fees, what upgrades added to them, what was waived. */
  readonly lines: Line[] = [];
  /** Downloads and lookups so far, each of which has its ordinal, and those of them that hold a credit. */
  readonly accepted = { downloads: 0, metadata: 0 };
  readonly credits = { downloads: 0, metadata: 0 };
  readonly totals = { overage_downloads: 0, overage_cents: 0, fee_difference_cents: 0 };
  /** Warnings given, such as `downloads:80`, and by the id of their event those that are not mailed. */
  readonly warned = new Set<string>();
  readonly #unmailed = new Map<string, string>();
  capReached = false;
  /** What must come next, in the append that the leader began. */
  awaited: { type: string; data: object }[] = [];
  #leader!: Link;

  check(event: Link): void {
    const { type, data } = event;
    const awaited = this.awaited.shift();
    if (awaited) {
      const { $correlationId, $causationId, time } = this.#leader.metadata;
      mustEqual(event, { type: awaited.type }, '');
      mustEqual(event, { $correlationId, $causationId, time }, 'metadata.');
      mustEqual(event, awaited.data);
    } else {
      must(mayCome[this.phase].includes(type), event, 'type', `one that may come while the period is ${this.phase}`);
      this.#leader = event;
    }
    const warning = `${data.pool}:${data.threshold_percent}`;
    if (charges.includes(type)) this.#charge(event);
    else if (changes.includes(type)) this.#changeTerms(event, data);
    else if (corrections.includes(type)) this.#giveBack(event, data);
    else if (type === 'DownloadQueued') Object.assign(this.charges.get(data.token) ?? {}, { key: data.idempotency });
    else if (type === 'OverageCapReached') this.capReached = true;
    else if (type === 'OverageCapMailed') return;
    else if (type === 'UsageWarningReached') {
      this.warned.add(warning);
      this.#unmailed.set(event.id, warning);
    } else if (type === 'UsageWarningMailed') {
      const isRight = this.#unmailed.get(data.warning_event_id) === warning;
      must(isRight, event, 'data.warning_event_id', 'that of a warning that was not mailed yet');
      this.#unmailed.delete(data.warning_event_id);
    } else this.#turn(event, type === 'UsagePeriodOpened' ? event : this.opened);
    this.capReached &&= this.#isCapReached();
    if (['DownloadQueued', 'MetadataCreditDebited', ...changes].includes(type)) this.#awaitNotices(type);
  }

  /** A credit while there is one, then the rate in force, up to the ceiling in force; a lookup takes credits alone. */
  #charge(event: Link): void {
    const { type, id, revision, data } = event;
    const { overage_cents: cents, overage_cap_cents, rate_version, ...limits } = this.terms;
    const pool = type === 'MetadataCreditDebited' ? 'metadata' : 'downloads';
    const name = pool === 'metadata' ? `lookup ${data.lookup_id}` : data.token;
    const hasCredit = this.credits[pool] < limits[`${pool}_limit`];
    const rate = hasCredit || cents === null ? null : { rate_cents: cents, rate_version };
    const isDue = type === 'OverageCharged' ? rate !== null : hasCredit;
    must(isDue, event, 'type', rate ? 'OverageCharged' : 'a credit, while there is one');
    mustEqual(event, { ordinal: (this.accepted[pool] += 1) });
    must(!this.charges.has(name), event, 'data', 'a token or an id that has no charge yet');
    const charge = { id, revision, rate, leftCents: rate ? rate.rate_cents : 0, key: null };
    this.charges.set(name, { ...charge, confirmed: false, voided: false });
    if (pool === 'downloads') this.awaited = [{ type: 'DownloadQueued', data: { token: name, overage: !hasCredit } }];
    if (!rate) return void (this.credits[pool] += 1);
    mustEqual(event, { ...rate, cents });
    this.totals.overage_downloads += 1;
    this.totals.overage_cents += rate.rate_cents;
    must(this.totals.overage_cents <= (overage_cap_cents ?? Infinity), event, 'data.cents', 'within the ceiling');
  }

  /** A plan for now raises the fee at once, by the whole difference; everything else asked for the next period waits for it. */
  #changeTerms(event: Link, { terms: plan, effective, overage_cap_cents }: Link['data']): void {
    const isNow = effective === 'now';
    must(isNow || effective === 'next_period', event, 'data.effective', 'now or next_period');
    const name = event.type === 'PlanChanged' ? 'plan' : 'cap';
    const cap = { overage_cap_cents: event.type === 'OverageCapSet' ? overage_cap_cents : null };
    const change = name === 'plan' ? plan : cap;
    if (isNow) this.due.delete(name);
    else this.due.set(name, change);
    if (name === 'plan') {
      const feeCents = this.opened.data.terms.fee_cents + this.totals.fee_difference_cents;
      const cents = isNow ? Math.max(0, plan.fee_cents - feeCents) : 0;
      mustEqual(event, { fee_difference_cents: cents });
      mustEqual(event, { overage_cap_cents: undefined }, 'data.terms.');
      this.totals.fee_difference_cents += cents;
      this.lines.push({ kind: 'fee_difference', plan: plan.plan, cents, event: sourceOf(event) });
    }
    if (!isNow) return;
    const before = this.terms;
    this.terms = { ...this.terms, ...change };
    for (const given of this.warned) {
      const limit = given.startsWith('downloads') ? 'downloads_limit' : 'metadata_limit';
      if (this.terms[limit] > before[limit] && !this.#isReached(given)) this.warned.delete(given);
    }
  }

  /** @param name such as `downloads:80` */
  #isReached(name: string): boolean {
    const [pool, percent] = name.split(':') as ['downloads' | 'metadata', string];
    const limit = this.terms[`${pool}_limit`];
    return limit > 0 && this.credits[pool] * 100 >= limit * Number(percent);
  }

  /** A charge is confirmed or voided, never both, and voided once; all that is given back is within what was charged. */
  #giveBack(event: Link, { cents, reference, charge_event_id, ...data }: Link['data']): void {
    const charge = this.charges.get(event.type === 'MetadataCreditVoided' ? `lookup ${data.lookup_id}` : data.token);
    must(charge !== undefined, event, 'data', 'about what was charged in this period');
    const { leftCents } = charge;
    must(!charge.voided, event, 'type', 'nothing more about a charge that was voided');
    if (event.type === 'DownloadConfirmed') return void (charge.confirmed = true);
    mustEqual(event, { charge_event_id: charge.id });
    if (event.type === 'DownloadCreditReturned') {
      must(!charge.rate && !charge.returned, event, 'type', 'one of a credit that was not returned');
      charge.returned = true;
      return void (this.credits.downloads -= 1);
    }
    if (event.type === 'ChargeWaived') {
      const isOther = (line: Line) => line['reference'] !== reference || line['charge_event_id'] !== charge_event_id;
      must(this.lines.every(isOther), event, 'data.reference', 'a new one');
      must(cents > 0 && cents <= leftCents, event, 'data.cents', `at least 1 and at most ${leftCents}`);
      mustEqual(event, { overage_downloads: cents === leftCents ? 1 : 0 });
      this.lines.push({ kind: 'waiver', reference, charge_event_id, cents: -cents, event: sourceOf(event) });
    } else {
      must(!charge.confirmed, event, 'type', 'no void of a download that was confirmed');
      charge.voided = true;
      if (event.type === 'MetadataCreditVoided') return void (this.credits.metadata -= 1);
      mustEqual(event, {
        credits: charge.rate || charge.returned ? 0 : 1,
        overage_downloads: leftCents > 0 ? 1 : 0,
        cents: leftCents,
      });
      this.credits.downloads -= data.credits;
    }
    charge.leftCents -= cents;
    this.totals.overage_cents -= cents;
    this.totals.overage_downloads -= data.overage_downloads;
  }

  /** Opened, ended and closed: the next period begins where this one ends, and the books close on what the events add up to. */
  #turn(event: Link, { data: { account_id, anchor_day, ...opened } }: Link): void {
    const { period_start, period_end } = opened;
    if (event.type === 'UsagePeriodOpened') {
      mustEqual(event, { stream: usageStream(account_id, period_start) }, '');
      must(this.time >= period_start, event, 'data.period_start', `at or before ${this.time}`);
      Object.assign(this, { phase: 'open', opened: event, terms: opened.terms });
    } else if (event.type === 'UsagePeriodEnded') {
      must(this.time >= period_end, event, 'data.period_end', `at or before ${this.time}`);
      const terms = Object.assign({}, this.terms, ...this.due.values()) as Terms;
      const next = { period_start: period_end, period_end: anchorAfter(period_end, anchor_day), terms };
      mustEqual(event, { period_start, period_end, next });
      this.phase = 'ended';
      this.lines.push(feeLine(event, next));
    } else {
      mustEqual(event, { period_start, period_end, ...this.totals, downloads: this.accepted.downloads });
      mustEqual(event, { download_credits: this.credits.downloads, metadata_credits: this.credits.metadata });
      this.phase = 'closed';
    }
  }

  /** What the owner must hear of: thresholds that a pool has reached, and that no further charge fits under the ceiling. */
  #awaitNotices(type: string): void {
    for (const pool of ['downloads', 'metadata'] as const) {
      const [credits, limit] = [this.credits[pool], this.terms[`${pool}_limit`]];
      for (const threshold_percent of this.terms.warning_percents as number[]) {
        const name = `${pool}:${threshold_percent}`;
        if (!this.#isReached(name) || this.warned.has(name)) continue;
        const data = { pool, threshold_percent, used: Math.min(credits, limit), limit };
        this.awaited.push({ type: 'UsageWarningReached', data });
      }
    }
    if (this.capReached || type === 'MetadataCreditDebited' || !this.#isCapReached()) return;
    const data = { overage_cents: this.totals.overage_cents, overage_cap_cents: this.terms.overage_cap_cents };
    this.awaited.push({ type: 'OverageCapReached', data });
  }

  /** The allowance is used up, and one more charge does not fit. */
  #isCapReached(): boolean {
    const { downloads_limit, overage_cents: cents, overage_cap_cents } = this.terms;
    if (cents === null || this.credits.downloads < downloads_limit) return false;
    return this.totals.overage_cents + cents > (overage_cap_cents ?? Infinity);
  }
}

/** The end of a period: the same day of the next month, or its last day where it has none. */
export function anchorAfter(start: string, anchorDay: number): string {
  const [year, month] = [Number(start.slice(0, 4)), Number(start.slice(5, 7))];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return new Date(Date.UTC(year, month, Math.min(anchorDay, lastDay))).toISOString();
}
