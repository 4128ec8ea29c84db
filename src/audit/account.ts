import { must, mustEqual } from '../verify/divergence.ts';
import type { Link } from '../verify/forms.ts';
import { Chain } from './chain.ts';
import { anchorAfter, type Charge } from './period.ts';

/** An account, and what goes from one billing period to the next. */
export class Account extends Chain {
  opened!: Link;
  readonly #apiKeys = new Map<string, 'valid' | 'revoked'>();
  /** What the next period must be opened with; not known while one is open. */
  next: Pick<Link['data'], 'previous_period_start' | 'period_start' | 'period_end' | 'terms'> | undefined;
  /** The newest download of each idempotency key. */
  readonly idempotencyKeys = new Map<string, Charge>();

  check(event: Link): void {
    const { type, data, revision } = event;
    mustEqual(event, { stream: `account-${data.account_id}` }, '');
    const key = this.#apiKeys.get(data.key_id);
    must(revision > 0 ? type.startsWith('ApiKey') : type === 'AccountOpened', event, 'type', 'AccountOpened, once');
    must(key === (type === 'ApiKeyRevoked' ? 'valid' : undefined), event, 'type', 'what this key allows');
    if (revision > 0) return void this.#apiKeys.set(data.key_id, type === 'ApiKeyIssued' ? 'valid' : 'revoked');
    const [period_start, anchor_day] = [`${this.time.slice(0, 10)}T00:00:00.000Z`, Number(this.time.slice(8, 10))];
    const period_end = anchorAfter(period_start, anchor_day);
    mustEqual(event, { anchor_day, period_start, period_end });
    const terms = { ...data.terms, overage_cap_cents: null };
    Object.assign(this, { opened: event, next: { previous_period_start: null, period_start, period_end, terms } });
  }

  /** Periods follow each other without a gap, each with the terms that the one before ended with. */
  followPeriod(event: Link): void {
    const { type, data } = event;
    if (type === 'UsagePeriodOpened') {
      must(this.next !== undefined, event, 'type', 'none before UsagePeriodEnded of the period before');
      mustEqual(event, { anchor_day: this.opened.data.anchor_day, ...this.next });
      this.next = undefined;
    } else if (type === 'UsagePeriodEnded') this.next = { previous_period_start: data.period_start, ...data.next };
  }

  /** A download takes its idempotency key, unless another has it that is not voided. @returns whether nobody had it before */
  takeKey(event: Link, charge: Charge, keyHash: string): boolean {
    const holder = this.idempotencyKeys.get(keyHash);
    must(!holder || holder.voided, event, 'data.idempotency', 'a key that no other download has');
    this.idempotencyKeys.set(keyHash, charge);
    return !holder;
  }
}
