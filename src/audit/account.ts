import type { RecordedEvent } from '../commands/ports.ts';
import { Chain, Divergence, must } from './chain.ts';
import type { Link } from './chain.ts';
import { Invoices } from './invoices.ts';
import { anchorAfter } from './period.ts';
import type { Charge, Period } from './period.ts';

/** An account with its keys, and what is to be remembered from one billing period to the next. */
export class Account extends Chain {
  opened!: Link;
  readonly apiKeys = new Map<string, 'valid' | 'revoked'>();
  readonly invoices: Invoices;
  /** The newest period, and what the next must be opened with. */
  newest: Period | undefined;
  /** Idempotency keys whose newest download was voided. */
  readonly freed = new Set<string>();
  /** The newest download of each idempotency key, of the periods that are not forgotten. */
  readonly keys = new Map<string, Charge>();

  constructor(id: string) {
    super(`account-${id}`);
    this.invoices = new Invoices(`invoices-${id}`);
  }

  apply(recorded: RecordedEvent): Link {
    const event = this.follow(recorded);
    const { type, data } = event;
    must(event, { stream: `account-${data.account_id}` }, event, '');
    const isFirst = event.revision === 0;
    const state = this.apiKeys.get(data.key_id);
    const isAllowed = isFirst
      ? type === 'AccountOpened'
      : type === 'ApiKeyIssued'
        ? !state
        : type === 'ApiKeyRevoked' && state === 'valid';
    if (!isAllowed)
      throw new Divergence(event, 'type', isFirst ? 'AccountOpened' : 'one that this account and key allow', type);
    if (!isFirst) this.apiKeys.set(data.key_id, type === 'ApiKeyIssued' ? 'valid' : 'revoked');
    else {
      const period_start = `${event.time.slice(0, 10)}T00:00:00.000Z`;
      const anchor_day = Number(event.time.slice(8, 10));
      must(event, { period_start, anchor_day, period_end: anchorAfter(period_start, anchor_day) });
      this.opened = event;
    }
    return event;
  }

  /** Name of the usage stream that the next period has, as far as is known. */
  get nextStream(): string | undefined {
    const next = this.newest ? this.newest.ended?.data.next : this.opened.data;
    return next && `usage-${this.opened.data.account_id}-${dayOf(next.period_start)}`;
  }

  /** What the next period must be opened with. */
  opening(event: Link): object {
    const { newest, opened } = this;
    if (!newest) {
      const { account_id, anchor_day, period_start, period_end, terms } = opened.data;
      return {
        account_id,
        anchor_day,
        period_start,
        period_end,
        terms: { ...terms, overage_cap_cents: null },
        previous_period_start: null,
      };
    }
    if (!newest.ended)
      throw new Divergence(event, 'type', 'none before UsagePeriodEnded of the period before', event.type);
    const { account_id, anchor_day, period_start: previous_period_start } = newest.opened.data;
    return { account_id, anchor_day, previous_period_start, ...newest.ended.data.next };
  }
}

const dayOf = (instant: string) => instant.slice(0, 10).replaceAll('-', '');
