import { Chain } from './chain.ts';
import type { Link, Terms } from './event-schemas.ts';
import { feeLine, feeOf, type Line, sourceOf } from './invoice-lines.ts';
import { usageStream } from './streams.ts';

/** The charge of one download or metadata request, and its remainder: cents at a rate, or a credit. */
export interface Charge extends Pick<Link, 'id' | 'revision'> {
  rate: Rate | null;
  leftCents: number;
  leftCredits: number;
  confirmed: boolean;
  voided: boolean;
  key: Link['data']['idempotency'];
  /** The API key whose limit counts it. */
  limitedKey: string | undefined;
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

/** The part of `UsagePeriodOpened` that is kept. */
interface Opened extends Pick<Link, 'stream' | 'revision' | 'id' | 'data'> {
  metadata: Pick<Link['metadata'], 'time' | 'hash'>;
}

const openedBy = ({ stream, revision, id, data, metadata: { time, hash } }: Link): Opened => ({
  stream,
  revision,
  id,
  data,
  metadata: { time, hash },
});

const charges = ['DownloadCreditDebited', 'OverageCharged', 'MetadataCreditDebited'];
const changes = ['PlanChanged', 'OverageCapSet', 'OverageCapRemoved'];
/** Changes of what an account has besides its plan and its cap: always at once. */
const ownChanges = ['KeyLimitSet', 'KeyLimitRemoved', 'AccountSuspended', 'SuspensionLifted'];
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
  open: [...charges, ...changes, ...ownChanges, ...corrections, ...mails, 'UsagePeriodEnded'],
  ended: [...corrections, ...mails, 'UsagePeriodClosed'],
  closed: mails,
};

const noWarnings: ReadonlySet<string> = new Set();

/** The actor that returns charges of the service's own failures. */
const serviceFailures = 'service-failures';

export const isServiceFailure = ({ metadata: { actor } }: Link): boolean =>
  actor.type === 'system' && actor.id === serviceFailures;

/** The reference of the service's own corrections, which have no case. */
export const serviceFailureReference = (token: string): string => `service-failure-${token}`;

/** One billing period, rated again. The events before each event must require or allow it. */
export class Period extends Chain<string> {
  phase: keyof typeof mayCome = 'absent';
  opened: Opened | undefined;
  terms!: Terms;
  /** The time at which the phase began. */
  // Stryker disable next-line StringLiteral: the opening sets it
  phaseSince = '';
  /** Position of the event since which the terms give failures of the service back; undefined while they do not. */
  returnsFailuresSince: bigint | undefined;
  /** Changes that wait for the next period. */
  due: { plan?: Partial<Terms> | undefined; cap?: Partial<Terms> | undefined } = {};
  /** Of the plan in it. */
  dueIsOfOwner = false;
  /** By the token of the download, or by `lookup ` and the id of the metadata request. */
  readonly charges = new Map<string, Charge>();
  readonly waivers: Waiver[] = [];
  #references: Set<string> | undefined;
  /** Invoice lines besides overage and waivers: fees, and the differences that upgrades added. */
  // Stryker disable next-line ArrayDeclaration: a text is a line of no kind
  readonly lines: Line[] = [];
  /** The numbers of downloads and metadata requests so far, and of those that hold a credit. */
  readonly accepted = { downloads: 0, metadata: 0 };
  readonly credits = { downloads: 0, metadata: 0 };
  /** By API key: what of its limit is used, since it was first set in this period or carried into it. */
  keyUse: Map<string, { downloads: number; overage_cents: number }> | undefined;
  readonly totals = { overage_downloads: 0, overage_cents: 0, fee_difference_cents: 0 };
  planChanges = 0;
  /** Warnings that were given and still hold, such as `downloads:80`. */
  warned: ReadonlySet<string> = noWarnings;
  /** Warnings that an upgrade took back, and that come again. Older logs have them only once. */
  #mayComeAgain: ReadonlySet<string> = noWarnings;
  /** Warnings that are not mailed yet, and `cap` for the overage cap, by the id of their event. */
  #unmailed: Map<string, string> | undefined;
  capReached = false;
  /** The opening data of the next period, once this one has ended; null after an account's last one. */
  next: Link['data']['next'] | undefined;
  /** The events that must come next in the append, which the leader began. */
  awaited: { type: string; data: object; mayBeMissing?: boolean }[] = [];
  #leader: Link | undefined;
  #newestRate: Rate | undefined;

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
    else if (ownChanges.includes(type)) this.#changeOwn(event);
    else if (corrections.includes(type)) this.#giveBack(event);
    else if (type === 'DownloadQueued') Object.assign(this.charges.get(data.token) ?? {}, { key: data.idempotency });
    else if (type === 'UsageWarningReached') {
      this.warned = new Set([...this.warned, warningName(data)]);
      this.#noteUnmailed(event, warningName(data));
    } else if (type === 'OverageCapReached') {
      this.capReached = true;
      this.#noteUnmailed(event, 'cap');
    } else if (mails.includes(type)) this.#mailed(event);
    else this.#turn(event, type === 'UsagePeriodOpened' ? event : (this.opened ?? event));
    this.capReached &&= this.#isCapReached();
    if (['DownloadQueued', 'MetadataCreditDebited', ...changes, ...ownChanges].includes(type)) this.#awaitNotices(type);
    if (this.awaited.length === 0) this.#leader = undefined;
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
    const rate = isOverage ? this.#rateOf(data) : null;
    const left = { leftCents: rate ? data.cents : 0, leftCredits: rate ? 0 : 1 };
    const limitedKey = this.#checkKey(event, pool);
    this.charges.set(name, { id, revision, rate, ...left, confirmed: false, voided: false, key: null, limitedKey });
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

  /** Charges at the same rate share it. */
  #rateOf({ rate_cents, rate_version }: Rate): Rate {
    const newest = this.#newestRate;
    if (newest?.rate_cents === rate_cents && newest.rate_version === rate_version) return newest;
    return (this.#newestRate = { rate_cents, rate_version });
  }

  /**
   * A charge of a key that has a limit names the key, and stays within the limit. Nothing is charged while the account is
   * suspended.
   *
   * @returns the key, if it has a limit
   */
  #checkKey(event: Link, pool: (typeof pools)[number]): string | undefined {
    const { data, metadata } = event;
    this.must('account_suspended', this.terms.suspended !== true, event, 'type', 'no charge of a suspended account');
    const { id } = metadata.actor;
    const limit = this.terms.key_limits?.[id];
    const { until = null } = limit ?? {};
    this.must('key_limit', until === null || this.time < until, event, 'metadata.time', `before ${String(until)}`);
    if (pool === 'metadata') return undefined;
    this.mustEqual('key_limit', event, { limited_key_id: limit && id });
    if (!limit) return undefined;
    const use = this.#useOf(id, 1, event.type === 'OverageCharged' ? data.cents : 0);
    const isWithin = use.downloads <= (limit.downloads ?? Infinity);
    this.must('key_limit', isWithin, event, 'type', `none beyond ${String(limit.downloads)} downloads of this key`);
    const isAffordable = event.type !== 'OverageCharged' || use.overage_cents <= (limit.overage_cents ?? Infinity);
    this.must('key_limit', isAffordable, event, 'data.cents', 'within the limit of this key');
    return id;
  }

  /** @param downloads less than 0: given back */
  #useOf(keyId: string, downloads: number, cents: number) {
    this.keyUse ??= new Map();
    const before = this.keyUse.get(keyId) ?? { downloads: 0, overage_cents: 0 };
    const use = { downloads: before.downloads + downloads, overage_cents: before.overage_cents + cents };
    this.keyUse.set(keyId, use);
    return use;
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
    const isPlan = event.type === 'PlanChanged';
    this.must('account_suspended', !isPlan || this.terms.suspended !== true, event, 'type', 'none while suspended');
    const name = isPlan ? 'plan' : 'cap';
    const cap = { overage_cap_cents: event.type === 'OverageCapSet' ? overage_cap_cents : null };
    const change = name === 'plan' ? plan : cap;
    const isOfOwner = isPlan && !isNow && event.metadata.actor.type === 'owner';
    if (isPlan) this.dueIsOfOwner = isOfOwner;
    this.due = { ...this.due, [name]: isNow ? undefined : change };
    if (name === 'plan') {
      this.planChanges += 1;
      const cents = isNow ? Math.max(0, plan.fee_cents - this.#feeCents()) : 0;
      this.mustEqual('plan_change', event, {
        fee_difference_cents: cents,
        chosen_by_owner: isOfOwner ? true : undefined,
      });
      const ofAccount = { overage_cap_cents: undefined, suspended: undefined, key_limits: undefined };
      this.mustEqual('plan_change', event, ofAccount, 'data.terms.');
      this.#addFee(event, plan.plan);
    }
    if (!isNow) return;
    const before = this.terms;
    this.terms = { ...before, ...change };
    this.#noteReturns(event);
    for (const pool of pools) if (this.terms[`${pool}_limit`] > before[`${pool}_limit`]) this.#warnAnew(pool);
  }

  /** The fee of this period so far. */
  #feeCents(): number {
    return (this.opened ? feeOf(this.opened.data.terms) : 0) + this.totals.fee_difference_cents;
  }

  /** People of the account and staff set limits of keys, staff alone suspend; a program with a key does neither. */
  #changeOwn(event: Link): void {
    const { type, data, metadata } = event;
    this.#requireTime(event);
    if (type === 'AccountSuspended' || type === 'SuspensionLifted') {
      this.mustEqual('account_suspended', event, { type: 'staff' }, 'metadata.actor.');
      this.#suspend(event);
      return;
    }
    this.must(
      'key_limit_actor',
      metadata.actor.type !== 'api_key',
      event,
      'metadata.actor.type',
      'owner, staff or system',
    );
    const { key_limits: limits = {}, ...others } = this.terms;
    const { [data.key_id]: before, ...kept } = limits;
    if (type === 'KeyLimitRemoved')
      this.must('key_limit', before !== undefined, event, 'data.key_id', 'a key with a limit');
    const changed = type === 'KeyLimitSet' ? { ...kept, [data.key_id]: data.limit } : kept;
    this.terms = (Object.keys(changed).length === 0 ? others : { ...others, key_limits: changed }) as Terms;
    const reached = this.#thresholds().map(warningName);
    this.#unwarn((name) => name.startsWith(`${data.key_id}:`) && !reached.includes(name));
  }

  /** A period that began without a fee has one as soon as the suspension is lifted. */
  #suspend(event: Link): void {
    const { suspended, ...others } = this.terms;
    const isLifted = event.type === 'SuspensionLifted';
    this.must('account_suspended', (suspended === true) === isLifted, event, 'type', 'a change of what is so');
    this.terms = (isLifted ? others : { ...others, suspended: true }) as Terms;
    if (!isLifted) {
      this.mustEqual('account_suspended', event, { account_id: this.accountId });
      return;
    }
    const { plan, fee_cents } = this.terms;
    const cents = Math.max(0, fee_cents - this.#feeCents());
    this.mustEqual('account_suspended', event, { plan, fee_difference_cents: cents });
    this.#addFee(event, event.data.plan);
  }

  #addFee(event: Link, plan: string): void {
    const { fee_difference_cents: cents } = event.data;
    this.totals.fee_difference_cents += cents;
    this.lines.push({ kind: 'fee_difference', plan, cents, event: sourceOf(event) });
  }

  #noteReturns({ position }: Link): void {
    if (this.terms.service_failures_returned !== true) this.returnsFailuresSince = undefined;
    else this.returnsFailuresSince ??= position;
  }

  /** A larger limit takes back the warnings whose thresholds are no longer reached. */
  #warnAnew(pool: (typeof pools)[number]): void {
    const reached = this.#reachedOf(pool).map((percent) => `${pool}:${percent}`);
    const gone = this.#unwarn((name) => name.startsWith(`${pool}:`) && !reached.includes(name));
    if (gone.length > 0) this.#mayComeAgain = new Set([...this.#mayComeAgain, ...gone]);
  }

  /** @returns the warnings that held, and no longer do */
  #unwarn(isGone: (name: string) => boolean): string[] {
    const gone = [...this.warned].filter(isGone);
    if (gone.length > 0) this.warned = new Set([...this.warned].filter((name) => !isGone(name)));
    return gone;
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
    this.mustEqual('key_limit', event, { limited_key_id: charge.limitedKey });
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
      this.#references?.has(name) !== true,
      event,
      'data.reference',
      'a new one for this charge',
    );
    const isWithin = cents > 0 && cents <= leftCents;
    this.must('correction_amount', isWithin, event, 'data.cents', `at least 1 and at most ${leftCents}`);
    this.mustEqual('correction_amount', event, { overage_downloads: cents === leftCents ? 1 : 0 });
    (this.#references ??= new Set()).add(name);
    this.waivers.push({ event, charge, cents });
    charge.leftCents -= cents;
    if (charge.limitedKey !== undefined) this.#useOf(charge.limitedKey, -overage_downloads, -cents);
    this.totals.overage_cents -= cents;
    this.totals.overage_downloads -= overage_downloads;
  }

  #returnCredit(event: Link, charge: Charge): void {
    this.must('correction_actor', isServiceFailure(event), event, 'metadata.actor', `system, ${serviceFailures}`);
    this.#requireReturns(event);
    this.must('correction_amount', charge.leftCredits === 1, event, 'data.token', 'a download that holds a credit');
    this.credits.downloads -= charge.leftCredits;
    if (charge.limitedKey !== undefined) this.#useOf(charge.limitedKey, -1, 0);
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
    if (charge.limitedKey !== undefined) this.#useOf(charge.limitedKey, -credits - overage_downloads, -cents);
    this.credits.downloads -= credits;
    this.totals.overage_cents -= cents;
    this.totals.overage_downloads -= overage_downloads;
  }

  #noteUnmailed({ id }: Link, name: string): void {
    (this.#unmailed ??= new Map()).set(id, name);
  }

  #mailed(event: Link): void {
    const { data, type } = event;
    const isCap = type === 'OverageCapMailed';
    const field = isCap ? 'cap_event_id' : 'warning_event_id';
    const isRight = this.#unmailed?.get(data[field]) === (isCap ? 'cap' : warningName(data));
    const expected = `that of a ${isCap ? 'notice' : 'warning'} that was not mailed yet`;
    this.must('notice_mailed', isRight, event, `data.${field}`, expected);
    if (isRight) this.#unmailed?.delete(data[field]);
  }

  /** Opens, ends and closes the period. The next one begins where this one ends, and the totals are those of the events. */
  #turn(event: Link, { data: { account_id, anchor_day, ...opened } }: Pick<Link, 'data'>): void {
    const { period_start, period_end } = opened;
    if (event.type === 'UsagePeriodOpened') {
      this.mustEqual('period_account', event, { stream: usageStream(account_id, period_start) }, '');
      this.must('period_time', this.time >= period_start, event, 'metadata.time', `at or after ${period_start}`);
      this.phase = 'open';
      this.opened = openedBy(event);
      this.terms = opened.terms;
      this.#noteReturns(event);
    } else if (event.type === 'UsagePeriodEnded') {
      const { next } = event.data;
      if (next === null) {
        this.mustEqual('period_follows', event, { period_start, period_end });
        this.mustEqual('account_closed', event, { type: 'staff' }, 'metadata.actor.');
      } else {
        this.must('period_time', this.time >= period_end, event, 'metadata.time', `at or after ${period_end}`);
        const terms = Object.assign({}, this.terms, ...Object.values(this.due)) as Terms;
        const following = { period_start: period_end, period_end: anchorAfter(period_end, anchor_day), terms };
        this.mustEqual('period_follows', event, { period_start, period_end, next: following });
        this.lines.push(feeLine(event, next));
      }
      this.phase = 'ended';
      this.next = next;
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
    for (const data of this.#thresholds()) {
      const name = warningName(data);
      if (this.warned.has(name)) continue;
      this.awaited.push({ type: 'UsageWarningReached', data, mayBeMissing: this.#mayComeAgain.has(name) });
    }
    if (this.capReached || type === 'MetadataCreditDebited' || !this.#isCapReached()) return;
    const data = { overage_cents: this.totals.overage_cents, overage_cap_cents: this.terms.overage_cap_cents };
    this.awaited.push({ type: 'OverageCapReached', data });
  }

  /** All thresholds that are reached: those of the pools, then those of keys in the order of their ids. */
  #thresholds(): Threshold[] {
    const ofPools = pools.flatMap((pool) => {
      const limit = this.terms[`${pool}_limit`];
      const used = Math.min(this.credits[pool], limit);
      return this.#reachedOf(pool).map((threshold_percent) => ({ pool, threshold_percent, used, limit }));
    });
    const keys = Object.keys(this.terms.key_limits ?? {}).toSorted();
    return [...ofPools, ...keys.flatMap((keyId) => this.#thresholdsOfKey(keyId))];
  }

  /** All of a key's overage is used when no further charge fits under its limit. */
  #thresholdsOfKey(limited_key_id: string): Threshold[] {
    // Stryker disable next-line OptionalChaining: only keys with limits come here
    const { downloads, overage_cents } = this.terms.key_limits?.[limited_key_id] ?? {};
    const [mostDownloads, mostCents] = [downloads ?? 0, overage_cents ?? 0];
    const use = this.keyUse?.get(limited_key_id) ?? { downloads: 0, overage_cents: 0 };
    const percents = this.terms.warning_percents as number[];
    const isSpent = use.overage_cents + (this.terms.overage_cents ?? 1) > mostCents;
    const reached = (pool: string, used: number, limit: number, isFull = false) =>
      percents
        .filter((percent) => limit > 0 && (used * 100 >= limit * percent || (percent === 100 && isFull)))
        .map((threshold_percent) => ({
          pool,
          threshold_percent,
          limited_key_id,
          used: Math.min(used, limit),
          limit,
        }));
    return [
      ...reached('downloads', use.downloads, mostDownloads),
      ...reached('overage', use.overage_cents, mostCents, isSpent),
    ];
  }

  /** The allowance is used up, and one more charge would exceed the cap. */
  #isCapReached(): boolean {
    const { downloads_limit, overage_cents: cents, overage_cap_cents } = this.terms;
    if (cents === null || this.credits.downloads < downloads_limit) return false;
    return this.totals.overage_cents + cents > (overage_cap_cents ?? Infinity);
  }
}

interface Threshold {
  pool: string;
  threshold_percent: number;
  limited_key_id?: string | undefined;
  used: number;
  limit: number;
}

const warningName = ({ pool, threshold_percent, limited_key_id: keyId }: Omit<Threshold, 'used' | 'limit'>) =>
  `${keyId === undefined ? '' : `${keyId}:`}${pool}:${threshold_percent}`;

/** The end of a period: the same day of the next month, or that month's last day. */
export function anchorAfter(start: string, anchorDay: number): string {
  const [year, month] = [Number(start.slice(0, 4)), Number(start.slice(5, 7))];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return new Date(Date.UTC(year, month, Math.min(anchorDay, lastDay))).toISOString();
}
