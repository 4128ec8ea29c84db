import { Chain } from './chain.ts';
import type { Link, Terms } from './event-schemas.ts';
import { anchorAfter, type Charge } from './period.ts';

/** An API key of an account. */
export interface ApiKey extends Pick<Link['data'], 'key_id' | 'account_id' | 'key_hash' | 'key_prefix'> {
  account: Account;
  /** The position and the time of the event that issued it. */
  position: bigint;
  since: string;
  /** The time of its revocation. */
  revokedAt: string | null;
}

/** The person who opened an account has an id that follows from the account's. */
export const openerOf = (accountId: string): string => accountId.replace('acc_', 'per_');

/** A person of an account. */
export interface Person {
  accountId: string;
  personId: string;
  /** The position and the time of the event that brought the person in. */
  position: bigint;
  since: string;
  /** The time of the removal. */
  removedAt: string | null;
  /** The position of the event of the removal. */
  removal: bigint | null;
}

/** The data that the next period must be opened with. */
interface NextPeriod extends Pick<Link['data'], 'period_start' | 'period_end'> {
  previous_period_start: string | null;
  terms: Terms;
}

/**
 * The longest time that a request takes once its key or session was accepted. Its events may be stamped that much later than
 * the revocation of the key, or the removal of the person.
 */
const requestBudgetMs = 10_000;

/** True if no request that was accepted before an end can have taken that long. */
const isAfterRequest = (time: string, end: string): boolean => Date.parse(time) > Date.parse(end) + requestBudgetMs;

/** Personal data that no key opened is null, or still sealed as the log has it. */
const isOpened = (personal: unknown): boolean => personal !== null && typeof personal !== 'string';

/** An account, and the state that passes from one billing period to the next. */
export class Account extends Chain<string> {
  opened: Pick<Link['data'], 'account_id' | 'anchor_day'> | undefined;
  readonly keys = new Map<string, ApiKey>();
  readonly people = new Map<string, Person>();
  /** Undefined while a period is open. */
  next: NextPeriod | undefined;
  /** The event that requires the next period; undefined while one is open. */
  asked: Link | undefined;
  /** The hourly requests of each key, by the terms in force. */
  hourlyLimit = 0;
  /** The end of its last period. */
  lastEnded: Link | undefined;
  closed: Link | undefined;
  /** Its personal data was erased. */
  erased: Link | undefined;
  /** The first event whose personal data has no key that opens it. */
  #unreadable: Link | undefined;
  /** The newest download of each idempotency key. */
  idempotencyKeys: Map<string, Charge> | undefined;

  check(event: Link): void {
    if (event.stored !== undefined && !isOpened(event.data.personal)) this.#unreadable ??= event;
    if (event.type === 'AccountOpened') {
      this.#open(event);
      return;
    }
    if (!this.opened) {
      this.giveUp('account_events', event, 'type', 'AccountOpened, first');
      return;
    }
    this.mustEqual('account_events', event, { account_id: this.accountId });
    this.must('account_erased', !this.erased, event, 'type', 'none of an erased account');
    if (event.type === 'AccountErased') this.#erase(event);
    else if (event.type === 'AccountClosed') this.#close(event);
    else if (event.type === 'ClosingRequested') this.#requestClosing(event);
    else if (event.type === 'PersonSignedIn') this.#signIn(event);
    else if (event.type.startsWith('Person')) this.#person(event);
    else if (event.type === 'BillingDetailsChanged') this.#details(event);
    else this.#key(event);
  }

  /** In their own name. */
  #signIn(event: Link): void {
    const own = { type: 'owner', id: event.data.person_id };
    this.mustEqual('actor_person', event, own, 'metadata.actor.');
    this.#requireOpen(event);
  }

  #requestClosing(event: Link): void {
    this.mustEqual('account_closed', event, { type: 'owner' }, 'metadata.actor.');
    this.#requireOpen(event);
  }

  #requireOpen(event: Link): void {
    this.must('account_closed', !this.closed, event, 'type', 'none of a closed account');
  }

  /** With it all keys are revoked. */
  #close(event: Link): void {
    this.must('account_closed', !this.closed, event, 'type', 'one for each account');
    const isByService = ['staff', 'system'].includes(event.metadata.actor.type);
    this.must('account_closed', isByService, event, 'metadata.actor.type', 'staff or system');
    this.closed = event;
    for (const key of this.keys.values()) key.revokedAt ??= this.time;
  }

  /** With it nobody of its people can be reached any more, and its keys have no labels. */
  #erase(event: Link): void {
    this.must('account_erased', this.closed !== undefined, event, 'type', 'AccountClosed before');
    const isByService = ['staff', 'system'].includes(event.metadata.actor.type);
    this.must('account_erased', isByService, event, 'metadata.actor.type', 'staff or system');
    this.erased = event;
    for (const person of this.people.values()) {
      if (person.removedAt === null) Object.assign(person, { removedAt: this.time, removal: event.position });
    }
  }

  /** Who erases an account says so in the log; a key that is missing without that was lost. */
  checkKeys(): void {
    const unreadable = this.#unreadable;
    if (unreadable && !this.erased)
      this.wrong('personal_key', unreadable, 'data.personal', 'an object that its key opens');
  }

  /** An account is closed behind the end of its last period; its own stream may have been read first. */
  checkClosed(): void {
    const { closed, lastEnded } = this;
    if (!closed) return;
    const isBehind = lastEnded !== undefined && lastEnded.position < closed.position;
    this.must('account_closed', isBehind, closed, 'type', 'one behind the end of the last period');
  }

  /** A program that holds a key downloads; it does not say who is billed. */
  #details(event: Link): void {
    const isPerson = event.metadata.actor.type !== 'api_key';
    this.must('details_actor', isPerson, event, 'metadata.actor.type', 'owner, staff or system');
  }

  #key(event: Link): void {
    const { type, data } = event;
    const { key_id, account_id, key_hash, key_prefix } = data;
    const key = this.keys.get(key_id);
    const isNew = type === 'ApiKeyIssued' && !key && !this.closed;
    const isRevoked = type === 'ApiKeyRevoked' && key?.revokedAt === null;
    this.must('account_events', isNew || isRevoked, event, 'type', 'what this key allows');
    const issued = { key_id, account_id, key_hash, key_prefix, position: event.position, since: this.time };
    if (isNew) this.keys.set(key_id, { ...issued, account: this, revokedAt: null });
    if (isRevoked) key.revokedAt = this.time;
  }

  #person(event: Link): void {
    const { type, data } = event;
    const person = this.people.get(data.person_id);
    const isNew = type === 'PersonInvited' && !person;
    const are = [...this.people.values()].filter(({ removedAt }) => removedAt === null).length;
    const isRemoved = type === 'PersonRemoved' && person?.removedAt === null && are > 1;
    this.must('account_events', isNew || isRemoved, event, 'type', 'what this person allows');
    if (isNew) this.#bringIn(data.person_id, event);
    if (isRemoved) Object.assign(person, { removedAt: this.time, removal: event.position });
  }

  #bringIn(personId: string, { position }: Link): void {
    const { accountId, time: since } = this;
    this.people.set(personId, { accountId, personId, position, since, removedAt: null, removal: null });
  }

  #open(event: Link): void {
    const { data, revision } = event;
    this.must('account_events', revision === 0 && !this.opened, event, 'type', 'AccountOpened, once');
    this.mustEqual('account_events', event, { account_id: this.accountId });
    const [period_start, anchor_day] = [`${this.time.slice(0, 10)}T00:00:00.000Z`, Number(this.time.slice(8, 10))];
    this.mustEqual('account_terms', event, {
      anchor_day,
      period_start,
      period_end: anchorAfter(period_start, anchor_day),
    });
    const terms = { ...data.terms, overage_cap_cents: null };
    const { period_start: start, period_end: end } = data;
    this.#ask(event, { previous_period_start: null, period_start: start, period_end: end, terms });
    this.opened = { account_id: data.account_id, anchor_day: data.anchor_day };
    this.#bringIn(openerOf(this.accountId), event);
    this.hourlyLimit = terms.hourly_limit;
  }

  #ask(event: Link, next: NextPeriod): void {
    this.asked = event;
    this.next = next;
  }

  /** Periods follow each other without a gap, each with the terms that the one before ended with. */
  followPeriod(event: Link): void {
    const { type, data } = event;
    if (type === 'UsagePeriodOpened') {
      const isAsked = this.next !== undefined;
      this.must('period_follows', isAsked, event, 'type', 'none before UsagePeriodEnded of the period before');
      this.mustEqual('period_follows', event, { anchor_day: this.opened?.anchor_day, ...this.next });
      [this.asked, this.next] = [undefined, undefined];
      this.hourlyLimit = data.terms.hourly_limit;
    } else if (type === 'UsagePeriodEnded') {
      if (data.next) this.#ask(event, { previous_period_start: data.period_start, ...data.next });
      else this.lastEnded = event;
    } else if (type === 'PlanChanged' && data.effective === 'now') this.hourlyLimit = data.terms.hourly_limit;
  }

  /** Whether somebody was among the people of the account before an event; they may have been removed since. */
  hadPerson(personId: string, { position }: Pick<Link, 'position'>): boolean {
    const person = this.people.get(personId);
    return person !== undefined && person.position < position;
  }

  /** Whether a person was removed before an event. */
  hadRemoved(personId: string, { position }: Pick<Link, 'position'>): boolean {
    const removal = this.people.get(personId)?.removal ?? null;
    return removal !== null && removal < position;
  }

  /** An API key acts only for its own account, and only between its issue and its revocation; a person likewise. */
  checkActor(event: Link): void {
    const { actor } = event.metadata;
    if (actor.type === 'api_key') this.#checkKey(event);
    if (actor.type === 'owner') this.#checkPerson(event);
  }

  #checkPerson(event: Link): void {
    const { actor, time } = event.metadata;
    const person = this.people.get(actor.id);
    const isOne = person !== undefined && person.position < event.position;
    const removedAt = person?.removedAt ?? null;
    const wasRemoved = removedAt !== null && isAfterRequest(time, removedAt);
    this.must('actor_person', isOne && !wasRemoved, event, 'metadata.actor.id', 'one of the people of this account');
  }

  #checkKey(event: Link): void {
    const { actor, time } = event.metadata;
    const key = this.keys.get(actor.id);
    if (!key || key.position >= event.position) {
      this.wrong('actor_key', event, 'metadata.actor.id', 'a key of this account, issued before');
      return;
    }
    this.must(
      'actor_key_revoked',
      key.revokedAt === null || !isAfterRequest(time, key.revokedAt),
      event,
      'metadata.actor.id',
      `a key that was not revoked at ${key.revokedAt ?? ''}`,
    );
  }

  /** A download takes its idempotency key unless another download that is not voided has it. @returns whether the key is new */
  takeKey(event: Link, charge: Charge, keyHash: string): boolean {
    this.idempotencyKeys ??= new Map();
    const holder = this.idempotencyKeys.get(keyHash);
    const isFree = !holder || holder.voided;
    this.must('idempotency_key', isFree, event, 'data.idempotency', 'a key that no other download has');
    this.idempotencyKeys.set(keyHash, charge);
    return !holder;
  }
}
