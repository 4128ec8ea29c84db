import { Chain } from './chain.ts';
import type { Link, Terms } from './event-schemas.ts';
import { feeLine, type Line, sourceOf } from './invoice-lines.ts';
import { usageStream } from './streams.ts';

/** The charge of one download or metadata request, and its remainder: cents at a rate, or a credit. */
export interface Charge extends Pick<Link, 'id' | 'revision'> {
  rate: Rate | null;
  leftCents: number;
  leftCredits: number;
  confirmed: boolean;
  voided: boolean;
  key: Link['data']['idempotency'];
}

interface Rate {
  rate_cents: number;
  rate_version: string;
}

/** The part of a charge that was given back before the books were closed. */
interface Waiver {
  event: Link;
  charge: Charge;
  cents: number;
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
const pools = ['downloads', 'metadata'] as const;
const mails = ['UsageWarningMailed', 'OverageCapMailed'];
/** The events that an append may begin with. All other events stand behind the event that they follow from. */
const mayCome = {
  absent: ['UsagePeriodOpened'],
  open: [...charges, ...changes, ...corrections, ...mails, 'UsagePeriodEnded'],
  ended: [...corrections, ...mails, 'UsagePeriodClosed'],
  closed: mails,
};

/** The actor that returns charges of the service's own failures. */
const serviceFailures = 'service-failures';

export const isServiceFailure = ({ metadata: { actor } }: Link): boolean =>
  actor.type === 'system' && actor.id === serviceFailures;

/** The reference of the service's own corrections, which have no case. */
export const serviceFailureReference = (token: string): string => `service-failure-${token}`;

/** One billing period, rated again. The events before each event must require or allow it. */
export class Period extends Chain<string> {
  phase: keyof typeof mayCome = 'absent';
  opened: Link | undefined;
  terms!: Terms;
  /** The time at which the phase began. */
  // Stryker disable next-line StringLiteral: the opening sets it
  phaseSince = '';
  /** Position of the event since which the terms give failures of the service back; undefined while they do not. */
  returnsFailuresSince: bigint | undefined;
  /** Changes that wait for the next period. */
  readonly due = new Map<'plan' | 'cap', Partial<Terms>>();
  /** By the token of the download, or by `lookup ` and the id of the metadata request. */
  readonly charges = new Map<string, Charge>();
  readonly waivers: Waiver[] = [];
  readonly #references = new Set<string>();
  /** Invoice lines besides overage and waivers: fees, and the differences that upgrades added. */
  // Stryker disable next-line ArrayDeclaration: a text is a line of no kind
  readonly lines: Line[] = [];
  /** The numbers of downloads and metadata requests so far, and of those that hold a credit. */
  readonly accepted = { downloads: 0, metadata: 0 };
  readonly credits = { downloads: 0, metadata: 0 };
  readonly totals = { overage_downloads: 0, overage_cents: 0, fee_difference_cents: 0 };
  planChanges = 0;
  /** Warnings that were given and still hold, such as `downloads:80`. */
  readonly warned = new Set<string>();
  /** Warnings that an upgrade took back, and that come again. Older logs have them only once. */
  readonly #mayComeAgain = new Set<string>();
  /** Warnings that are not mailed yet, by the id of their event. */
  readonly #unmailed = new Map<string, string>();
  capReached = false;
  /** Events of the overage cap that are not mailed yet. */
  readonly #capsReached = new Set<string>();
  /** The opening data of the next period, once this one has ended. */
  next: Link['data']['next'] | undefined;
  /** The events that must come next in the append, which the leader began. */
  awaited: { type: string; data: object; mayBeMissing?: boolean }[] = [];
  #leader: Link | undefined;

  check(event: Link): void {
    const { type, data } = event;
    if (!this.opened && type !== 'UsagePeriodOpened') {
      this.giveUp('period_order', event, 'type', 'UsagePeriodOpened, first');
      return;
    }
    if (!this.#isAwaited(event)) {
      const isAllowed = mayCome[this.phase].includes(type);
      this.must('period_order', isAllowed, event, 'type', `one that may come while the period is ${this.phase}`);
      this.#leader = event;
    }
    if (charges.includes(type)) this.#charge(event);
    else if (changes.includes(type)) this.#changeTerms(event, data);
    else if (corrections.includes(type)) this.#giveBack(event);
    else if (type === 'DownloadQueued') Object.assign(this.charges.get(data.token) ?? {}, { key: data.idempotency });
    else if (type === 'UsageWarningReached') {
      this.warned.add(warningName(data));
      this.#unmailed.set(event.id, warningName(data));
    } else if (type === 'OverageCapReached') {
      this.capReached = true;
      this.#capsReached.add(event.id);
    } else if (mails.includes(type)) this.#mailed(event);
    else this.#turn(event, type === 'UsagePeriodOpened' ? event : (this.opened ?? event));
    this.capReached &&= this.#isCapReached();
    if (['DownloadQueued', 'MetadataCreditDebited', ...changes].includes(type)) this.#awaitNotices(type);
  }

  /** @returns whether the current append requires this event; reports required events that are missing before it */
  #isAwaited(event: Link): boolean {
    for (let awaited = this.awaited.shift(); awaited; awaited = this.awaited.shift()) {
      if (awaited.mayBeMissing === true && awaited.type !== event.type) continue;
      if (this.must('append_whole', awaited.type === event.type, event, 'type', awaited.type)) {
        // Stryker disable next-line OptionalChaining: an append that has to go on has begun
        const { $correlationId, $causationId, time } = this.#leader?.metadata ?? event.metadata;
        this.mustEqual('append_whole', event, { $correlationId, $causationId, time }, 'metadata.');
        this.mustEqual('append_whole', event, awaited.data);
        return true;
      }
    }
    return false;
  }

  /** A credit while there is one, then the rate in force, up to the cap in force; a metadata request takes credits alone. */
  #charge(event: Link): void {
    const { type, id, revision, data } = event;
    const { overage_cents: cents, rate_version, ...limits } = this.terms;
    const pool = type === 'MetadataCreditDebited' ? 'metadata' : 'downloads';
    const name = pool === 'metadata' ? `lookup ${data.lookup_id}` : data.token;
    const limit = limits[`${pool}_limit`];
    const hasCredit = this.credits[pool] < limit;
    const isOverage = type === 'OverageCharged';
    const dueRate = hasCredit || cents === null ? null : { rate_cents: cents, rate_version };
    const isDue = isOverage ? dueRate !== null : hasCredit;
    this.#requireTime(event);
    this.must('charge_due', isDue, event, 'type', dueRate ? 'OverageCharged' : 'a credit, while there is one');
    if (!isDue) this.credits[pool] = isOverage ? limit : limit - 1;
    this.mustEqual('charge_ordinal', event, { ordinal: this.accepted[pool] + 1 });
    this.accepted[pool] = data.ordinal;
    this.must('charge_once', !this.charges.has(name), event, 'data', 'a token or an id that has no charge yet');
    const rate = isOverage ? { rate_cents: data.rate_cents, rate_version: data.rate_version } : null;
    const left = { leftCents: rate ? data.cents : 0, leftCredits: rate ? 0 : 1 };
    this.charges.set(name, { id, revision, rate, ...left, confirmed: false, voided: false, key: null });
    if (pool === 'downloads') this.awaited = [{ type: 'DownloadQueued', data: { token: name, overage: isOverage } }];
    if (!rate) return void (this.credits[pool] += 1);
    const isInForce = !dueRate || this.mustEqual('charge_rate', event, dueRate);
    if (!isInForce) this.terms = { ...this.terms, overage_cents: rate.rate_cents, rate_version: rate.rate_version };
    this.mustEqual('charge_rate', event, { cents: rate.rate_cents });
    this.totals.overage_downloads += 1;
    this.totals.overage_cents += data.cents;
    const isWithin = this.totals.overage_cents <= (this.terms.overage_cap_cents ?? Infinity);
    this.must('overage_cap', isWithin, event, 'data.cents', 'within the overage cap');
  }

  /** Events of an open period must also lie within it by their time. */
  #requireTime(event: Link): void {
    // Stryker disable next-line OptionalChaining: only an opened period comes here
    const { period_start, period_end } = this.opened?.data ?? event.data;
    const isWithin = this.time >= period_start && this.time < period_end;
    this.must('period_time', isWithin, event, 'metadata.time', `from ${period_start} on, before ${period_end}`);
  }

  /** An immediate change of plan raises the fee at once, by the whole difference. Other changes wait for the next period. */
  #changeTerms(event: Link, { terms: plan, effective, overage_cap_cents }: Link['data']): void {
    const isNow = effective === 'now';
    this.#requireTime(event);
    this.must('plan_change', isNow || effective === 'next_period', event, 'data.effective', 'now or next_period');
    const name = event.type === 'PlanChanged' ? 'plan' : 'cap';
    const cap = { overage_cap_cents: event.type === 'OverageCapSet' ? overage_cap_cents : null };
    const change = name === 'plan' ? plan : cap;
    if (isNow) this.due.delete(name);
    else this.due.set(name, change);
    if (name === 'plan') {
      this.planChanges += 1;
      // Stryker disable next-line OptionalChaining: only an opened period comes here
      const feeCents = (this.opened?.data.terms.fee_cents ?? 0) + this.totals.fee_difference_cents;
      const cents = isNow ? Math.max(0, plan.fee_cents - feeCents) : 0;
      this.mustEqual('plan_change', event, { fee_difference_cents: cents });
      this.mustEqual('plan_change', event, { overage_cap_cents: undefined }, 'data.terms.');
      const { fee_difference_cents: addedCents } = event.data;
      this.totals.fee_difference_cents += addedCents;
      this.lines.push({ kind: 'fee_difference', plan: plan.plan, cents: addedCents, event: sourceOf(event) });
    }
    if (!isNow) return;
    const before = this.terms;
    this.terms = { ...before, ...change };
    this.#noteReturns(event);
    for (const pool of pools) if (this.terms[`${pool}_limit`] > before[`${pool}_limit`]) this.#warnAnew(pool);
  }

  #noteReturns({ position }: Link): void {
    if (this.terms.service_failures_returned !== true) this.returnsFailuresSince = undefined;
    else this.returnsFailuresSince ??= position;
  }

  /** A larger limit takes back the warnings whose thresholds are no longer reached. */
  #warnAnew(pool: (typeof pools)[number]): void {
    const reached = this.#reachedOf(pool).map((percent) => `${pool}:${percent}`);
    for (const name of this.warned) {
      if (!name.startsWith(`${pool}:`) || reached.includes(name)) continue;
      this.warned.delete(name);
      this.#mayComeAgain.add(name);
    }
  }

  #reachedOf(pool: (typeof pools)[number]): number[] {
    const [credits, limit] = [this.credits[pool], this.terms[`${pool}_limit`]];
    const percents = this.terms.warning_percents as number[];
    return percents.filter((percent) => limit > 0 && Math.min(credits, limit) * 100 >= limit * percent);
  }

  /** A charge is confirmed or voided, never both, and voided once. Corrections stay within the charge. */
  #giveBack(event: Link): void {
    const { type, data } = event;
    const charge = this.charges.get(type === 'MetadataCreditVoided' ? `lookup ${data.lookup_id}` : data.token);
    if (!charge) {
      this.wrong('correction_charge', event, 'data', 'about what was charged in this period');
      return;
    }
    this.must('correction_charge', !charge.voided, event, 'type', 'nothing more about a charge that was voided');
    if (type === 'DownloadConfirmed') return void (charge.confirmed = true);
    this.mustEqual('correction_charge', event, { charge_event_id: charge.id });
    if (type === 'ChargeWaived') this.#waive(event, charge);
    else if (type === 'DownloadCreditReturned') this.#returnCredit(event, charge);
    else this.#void(event, charge);
  }

  #waive(event: Link, charge: Charge): void {
    const { cents, reference, token, overage_downloads } = event.data;
    const { leftCents } = charge;
    if (isServiceFailure(event)) {
      const returned = { cents: leftCents, reference: serviceFailureReference(token) };
      this.mustEqual('correction_amount', event, returned);
      this.#requireReturns(event);
    } else this.mustEqual('correction_actor', event, { type: 'staff' }, 'metadata.actor.');
    const name = `${reference} ${token}`;
    this.must(
      'correction_reference',
      !this.#references.has(name),
      event,
      'data.reference',
      'a new one for this charge',
    );
    const isWithin = cents > 0 && cents <= leftCents;
    this.must('correction_amount', isWithin, event, 'data.cents', `at least 1 and at most ${leftCents}`);
    this.mustEqual('correction_amount', event, { overage_downloads: cents === leftCents ? 1 : 0 });
    this.#references.add(name);
    this.waivers.push({ event, charge, cents });
    charge.leftCents -= cents;
    this.totals.overage_cents -= cents;
    this.totals.overage_downloads -= overage_downloads;
  }

  #returnCredit(event: Link, charge: Charge): void {
    this.must('correction_actor', isServiceFailure(event), event, 'metadata.actor', `system, ${serviceFailures}`);
    this.#requireReturns(event);
    this.must('correction_amount', charge.leftCredits === 1, event, 'data.token', 'a download that holds a credit');
    this.credits.downloads -= charge.leftCredits;
    charge.leftCredits = 0;
  }

  #requireReturns(event: Link): void {
    const isOn = this.terms.service_failures_returned === true;
    this.must('correction_actor', isOn, event, 'metadata.actor', 'nobody: the terms return no failures of the service');
  }

  #void(event: Link, charge: Charge): void {
    const { leftCents, leftCredits } = charge;
    const { cents, credits, overage_downloads } = event.data;
    this.must('void_confirmed', !charge.confirmed, event, 'type', 'no void of a download that was confirmed');
    Object.assign(charge, { voided: true, leftCents: 0, leftCredits: 0 });
    if (event.type === 'MetadataCreditVoided') return void (this.credits.metadata -= 1);
    const taken = { credits: leftCredits, overage_downloads: leftCents > 0 ? 1 : 0, cents: leftCents };
    this.mustEqual('correction_amount', event, taken);
    this.credits.downloads -= credits;
    this.totals.overage_cents -= cents;
    this.totals.overage_downloads -= overage_downloads;
  }

  #mailed(event: Link): void {
    const { data, type } = event;
    if (type === 'OverageCapMailed') {
      const isOpen = this.#capsReached.delete(data.cap_event_id);
      this.must('notice_mailed', isOpen, event, 'data.cap_event_id', 'that of a notice that was not mailed yet');
      return;
    }
    const isRight = this.#unmailed.get(data.warning_event_id) === warningName(data);
    const expected = 'that of a warning that was not mailed yet';
    this.must('notice_mailed', isRight, event, 'data.warning_event_id', expected);
    this.#unmailed.delete(data.warning_event_id);
  }

  /** Opens, ends and closes the period. The next one begins where this one ends, and the totals are those of the events. */
  #turn(event: Link, { data: { account_id, anchor_day, ...opened } }: Link): void {
    const { period_start, period_end } = opened;
    if (event.type === 'UsagePeriodOpened') {
      this.mustEqual('period_account', event, { stream: usageStream(account_id, period_start) }, '');
      this.must('period_time', this.time >= period_start, event, 'metadata.time', `at or after ${period_start}`);
      this.phase = 'open';
      this.opened = event;
      this.terms = opened.terms;
      this.#noteReturns(event);
    } else if (event.type === 'UsagePeriodEnded') {
      this.must('period_time', this.time >= period_end, event, 'metadata.time', `at or after ${period_end}`);
      const terms = Object.assign({}, this.terms, ...this.due.values()) as Terms;
      const next = { period_start: period_end, period_end: anchorAfter(period_end, anchor_day), terms };
      this.mustEqual('period_follows', event, { period_start, period_end, next });
      this.phase = 'ended';
      this.next = event.data.next;
      this.lines.push(feeLine(event, event.data.next));
    } else if (event.type === 'UsagePeriodClosed') {
      const { downloads } = this.accepted;
      this.mustEqual('period_totals', event, { period_start, period_end, ...this.totals, downloads });
      const [download_credits, metadata_credits] = [this.credits.downloads, this.credits.metadata];
      this.mustEqual('period_totals', event, { download_credits, metadata_credits });
      this.phase = 'closed';
    }
    this.phaseSince = this.time;
  }

  /** Requires notices to the owner: for thresholds that a pool has reached, and when no further charge fits under the cap. */
  #awaitNotices(type: string): void {
    for (const pool of pools) {
      const limit = this.terms[`${pool}_limit`];
      const used = Math.min(this.credits[pool], limit);
      for (const threshold_percent of this.#reachedOf(pool)) {
        const name = `${pool}:${threshold_percent}`;
        if (this.warned.has(name)) continue;
        const data = { pool, threshold_percent, used, limit };
        this.awaited.push({ type: 'UsageWarningReached', data, mayBeMissing: this.#mayComeAgain.has(name) });
      }
    }
    if (this.capReached || type === 'MetadataCreditDebited' || !this.#isCapReached()) return;
    const data = { overage_cents: this.totals.overage_cents, overage_cap_cents: this.terms.overage_cap_cents };
    this.awaited.push({ type: 'OverageCapReached', data });
  }

  /** The allowance is used up, and one more charge would exceed the cap. */
  #isCapReached(): boolean {
    const { downloads_limit, overage_cents: cents, overage_cap_cents } = this.terms;
    if (cents === null || this.credits.downloads < downloads_limit) return false;
    return this.totals.overage_cents + cents > (overage_cap_cents ?? Infinity);
  }
}

const warningName = ({ pool, threshold_percent }: Link['data']) => `${pool}:${threshold_percent}`;

/** The end of a period: the same day of the next month, or that month's last day. */
export function anchorAfter(start: string, anchorDay: number): string {
  const [year, month] = [Number(start.slice(0, 4)), Number(start.slice(5, 7))];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return new Date(Date.UTC(year, month, Math.min(anchorDay, lastDay))).toISOString();
}
