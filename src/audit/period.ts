import type { RecordedEvent } from '../commands/ports.ts';
import { Chain, Divergence, must } from './chain.ts';
import type { Link, Terms } from './chain.ts';

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

const afterwards = [
  'DownloadConfirmed',
  'DownloadVoided',
  'MetadataCreditVoided',
  'ChargeWaived',
  'UsageWarningMailed',
];
/** What must not stand in an open period: it opens or closes one, or only follows from another event of its append. */
const notOpen = [
  'UsagePeriodOpened',
  'UsagePeriodClosed',
  'DownloadQueued',
  'UsageWarningReached',
  'OverageCapReached',
];

/** One billing period, rated again: each event must be one that those before it ask for or allow. */
export class Period extends Chain {
  phase: 'absent' | 'open' | 'ended' | 'closed' = 'absent';
  opened!: Link;
  ended: Link | undefined;
  terms!: Terms;
  due: { plan?: Omit<Terms, 'overage_cap_cents'>; overage_cap_cents?: number | null } = {};
  /** By the token of the download, or the id of the lookup. */
  readonly charges = new Map<string, Charge>();
  readonly waivers: Link[] = [];
  readonly changes: Link[] = [];
  readonly counts = { downloads: 0, credits: 0, overage: 0, cents: 0, lookups: 0, lookupCredits: 0, feeDifference: 0 };
  /** Warnings given, such as `downloads:80`, with the id of their event until they are mailed. */
  readonly warned = new Map<string, string | null>();
  capReached = false;
  isInvoiced = false;
  #awaited: { type: string; data: object }[] = [];
  #leader!: Link;

  /** @throws {Divergence} where the stream ends in the middle of an append */
  requireWhole(): void {
    const [missing] = this.#awaited;
    if (missing)
      throw new Divergence({ stream: this.stream, revision: this.revision + 1 }, 'type', missing.type, 'nothing');
  }

  apply(recorded: RecordedEvent): Link {
    const event = this.follow(recorded);
    const awaited = this.#awaited.shift();
    if (awaited) {
      const { request, cause, time } = this.#leader;
      must(event, { type: awaited.type, request, cause, time }, event, '');
      must(event, awaited.data);
    } else {
      const isAllowed = {
        absent: () => event.type === 'UsagePeriodOpened',
        open: () => !notOpen.includes(event.type),
        ended: () => [...afterwards, 'UsagePeriodClosed'].includes(event.type),
        closed: () => event.type === 'UsageWarningMailed',
      };
      this.#require(event, isAllowed[this.phase](), 'type', `one that may stand here: the period is ${this.phase}`);
      this.#leader = event;
    }
    this.#change(event, event.data);
    return event;
  }

  #require(event: Link, isRight: boolean, field: string, expected: unknown): void {
    const name = field.replace('data.', '') as keyof Link['data'];
    if (!isRight) throw new Divergence(event, field, expected, field === 'type' ? event.type : event.data[name]);
  }

  #change(event: Link, data: Link['data']): void {
    const { counts, terms } = this;
    switch (event.type) {
      case 'UsagePeriodOpened': {
        const day = data.period_start.slice(0, 10).replaceAll('-', '');
        must(event, { stream: `usage-${data.account_id}-${day}` }, event, '');
        must(event, { period_end: anchorAfter(data.period_start, data.anchor_day) });
        this.#require(event, event.time >= data.period_start, 'data.period_start', `at or before ${event.time}`);
        return void Object.assign(this, { phase: 'open', opened: event, terms: data.terms });
      }
      case 'DownloadCreditDebited':
      case 'OverageCharged': {
        this.#charge(event, data);
        return;
      }
      case 'DownloadQueued': {
        const charge = this.#charges(event, data.token);
        charge.key = data.idempotency;
        this.#await(this.#notices(), this.#ceiling());
        return;
      }
      case 'MetadataCreditDebited':
        this.#require(event, counts.lookupCredits < terms.metadata_limit, 'type', 'no lookup: the pool is empty');
        must(event, { ordinal: (counts.lookups += 1) });
        counts.lookupCredits += 1;
        this.#add(event, data.lookup_id, null);
        {
          this.#await(this.#notices());
          return;
        }
      case 'PlanChanged':
      case 'OverageCapSet':
      case 'OverageCapRemoved':
        this.#changeTerms(event, data);
        {
          this.#await(this.#notices(), this.#ceiling());
          return;
        }
      case 'UsageWarningReached':
        return void this.warned.set(`${data.pool}:${String(data.threshold_percent)}`, event.id);
      case 'UsageWarningMailed': {
        const name = `${data.pool}:${String(data.threshold_percent)}`;
        must(event, { warning_event_id: this.warned.get(name) ?? 'that of a warning that was not mailed yet' });
        return void this.warned.set(name, null);
      }
      case 'OverageCapReached':
        return void (this.capReached = true);
      default: {
        this.#settle(event, data);
        return;
      }
    }
  }

  /** A credit while there is one, then the rate in force, up to the ceiling in force. */
  #charge(event: Link, data: Link['data']): void {
    const { counts, terms } = this;
    const hasCredit = counts.credits < terms.downloads_limit;
    const { overage_cents: cents, overage_cap_cents: capCents, rate_version } = terms;
    const due = hasCredit ? 'DownloadCreditDebited' : cents === null ? 'no download' : 'OverageCharged';
    this.#require(event, event.type === due, 'type', due);
    must(event, { ordinal: (counts.downloads += 1) });
    if (hasCredit || cents === null) counts.credits += 1;
    else {
      must(event, { cents, rate_cents: cents, rate_version });
      counts.overage += 1;
      counts.cents += cents;
      const fits = capCents === null || counts.cents <= capCents;
      this.#require(
        event,
        fits,
        'data.cents',
        `what keeps ${String(counts.cents)} within the ceiling of ${String(capCents)}`,
      );
    }
    this.#add(event, data.token, hasCredit || cents === null ? null : { rate_cents: cents, rate_version });
    this.#await([{ type: 'DownloadQueued', data: { token: data.token, overage: !hasCredit } }]);
  }

  #add({ id, revision, ...event }: Link, name: string, rate: Charge['rate']): void {
    this.#require({ id, revision, ...event }, !this.charges.has(name), 'data.token', 'one that has no charge yet');
    const leftCents = rate?.rate_cents ?? 0;
    this.charges.set(name, { id, revision, rate, leftCents, confirmed: false, voided: false, key: null });
  }

  #charges(event: Link, name: string): Charge {
    const charge = this.charges.get(name);
    if (!charge) throw new Divergence(event, 'data.token', 'one that was charged in this period', name);
    return charge;
  }

  #changeTerms(event: Link, data: Link['data']): void {
    const isNow = data.effective === 'now';
    if (event.type === 'PlanChanged') {
      const { terms: plan } = data;
      const feeCents = this.opened.data.terms.fee_cents + this.counts.feeDifference;
      const rise = isNow ? Math.max(0, plan.fee_cents - feeCents) : 0;
      must(event, { fee_difference_cents: rise });
      this.counts.feeDifference += rise;
      this.changes.push(event);
      if (!isNow) this.due.plan = plan;
      else {
        this.terms = { ...plan, overage_cap_cents: this.terms.overage_cap_cents };
        delete this.due.plan;
      }
    } else {
      const overage_cap_cents = event.type === 'OverageCapSet' ? data.overage_cap_cents : null;
      if (!isNow) this.due.overage_cap_cents = overage_cap_cents;
      else {
        this.terms = { ...this.terms, overage_cap_cents };
        delete this.due.overage_cap_cents;
      }
    }
    this.capReached &&= this.#isCapReached();
  }

  /** What is given back, and what ends. */
  #settle(event: Link, data: Link['data']): void {
    const { counts } = this;
    const { period_start, period_end, anchor_day } = this.opened.data;
    if (event.type === 'UsagePeriodEnded') {
      this.#require(event, event.time >= period_end, 'data.period_end', `at or before ${event.time}`);
      const terms = {
        ...this.terms,
        ...this.due.plan,
        ...('overage_cap_cents' in this.due && { overage_cap_cents: this.due.overage_cap_cents }),
      };
      const next = { period_start: period_end, period_end: anchorAfter(period_end, anchor_day), terms };
      must(event, { period_start, period_end, next });
      return void Object.assign(this, { phase: 'ended', ended: event });
    }
    if (event.type === 'UsagePeriodClosed') {
      const { downloads, credits: download_credits, overage: overage_downloads, cents: overage_cents } = counts;
      const { lookupCredits: metadata_credits, feeDifference: fee_difference_cents } = counts;
      must(event, {
        period_start,
        period_end,
        downloads,
        download_credits,
        overage_downloads,
        overage_cents,
        metadata_credits,
        fee_difference_cents,
      });
      return void (this.phase = 'closed');
    }
    const charge = this.#charges(event, event.type === 'MetadataCreditVoided' ? data.lookup_id : data.token);
    this.#require(event, !charge.voided, 'type', 'nothing more about a charge that was voided');
    if (event.type === 'DownloadConfirmed') return void (charge.confirmed = true);
    must(event, { charge_event_id: charge.id });
    if (event.type === 'ChargeWaived') {
      const isNew = !this.waivers.some((other) => other.data.reference === data.reference);
      this.#require(event, isNew, 'data.reference', 'one that was not used in this period');
      this.#require(event, data.cents <= charge.leftCents, 'data.cents', `at most ${String(charge.leftCents)}`);
      must(event, { type: 'staff' }, event.actor, 'metadata.actor.');
      must(event, { overage_downloads: data.cents === charge.leftCents ? 1 : 0 });
      this.waivers.push(event);
    } else {
      this.#require(event, !charge.confirmed, 'type', 'no void of a download that was confirmed');
      charge.voided = true;
      if (event.type === 'MetadataCreditVoided') return void (counts.lookupCredits -= 1);
      must(event, {
        credits: charge.rate ? 0 : 1,
        overage_downloads: charge.leftCents > 0 ? 1 : 0,
        cents: charge.leftCents,
      });
      counts.credits -= data.credits;
    }
    charge.leftCents -= data.cents;
    counts.cents -= data.cents;
    counts.overage -= data.overage_downloads;
    this.capReached &&= this.#isCapReached();
  }

  #await(...awaited: { type: string; data: object }[][]): void {
    this.#awaited.push(...awaited.flat());
  }

  #notices() {
    const { terms, counts } = this;
    const pools = [
      ['downloads', counts.credits, terms.downloads_limit],
      ['metadata', counts.lookupCredits, terms.metadata_limit],
    ] as const;
    return pools.flatMap(([pool, credits, limit]) => {
      const used = Math.min(credits, limit);
      return terms.warning_percents
        .filter(
          (percent) => limit > 0 && used * 100 >= limit * percent && !this.warned.has(`${pool}:${String(percent)}`),
        )
        .map((percent) => ({ type: 'UsageWarningReached', data: { pool, threshold_percent: percent, used, limit } }));
    });
  }

  #ceiling() {
    if (this.capReached || !this.#isCapReached()) return [];
    const { overage_cap_cents } = this.terms;
    return [{ type: 'OverageCapReached', data: { overage_cents: this.counts.cents, overage_cap_cents } }];
  }

  #isCapReached(): boolean {
    const { downloads_limit, overage_cents: cents, overage_cap_cents: capCents } = this.terms;
    if (cents === null || capCents === null || this.counts.credits < downloads_limit) return false;
    return this.counts.cents + cents > capCents;
  }
}

/** The end of a period: the same day of the next month, or its last day where it has none. */
export function anchorAfter(start: string, anchorDay: number): string {
  const [year, month] = [Number(start.slice(0, 4)), Number(start.slice(5, 7))];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return new Date(Date.UTC(year, month, Math.min(anchorDay, lastDay))).toISOString();
}
