import type { Link } from '../rules/event-schemas.ts';
import { usageStream } from '../rules/streams.ts';

/** Sources of rows (see `columns.ts`) of which the rules keep nothing. */

/** Cents, apart from `charges`. */
export const noMoney = {
  charges: 0,
  charged_cents: 0,
  voided_cents: 0,
  waived_cents: 0,
  fee_cents: 0,
  fee_difference_cents: 0,
  invoiced_overage_cents: 0,
  invoiced_fee_cents: 0,
  invoiced_fee_difference_cents: 0,
  credited_overage_cents: 0,
  credited_fee_cents: 0,
  /** Overage that no invoice carries. */
  difference_cents: 0,
};
export type Money = typeof noMoney;

/** A row of `period_money`. */
export const emptyPeriod = (account_id: string, period_start: string) => ({
  account_id,
  period_start,
  month: period_start.slice(0, 7),
  stream: usageStream(account_id, period_start),
  plan: '',
  phase: 'open',
  ...noMoney,
});
export type PeriodMoney = ReturnType<typeof emptyPeriod>;

/** A row of `month_money`. */
export const emptyMonth = (month: string, phase: string) => ({ month, phase, periods: 0, ...noMoney });

/** A row of `staff`. */
export const newMember = (staff_id: string) => ({
  staff_id,
  role: '',
  invited: false,
  since: '',
  removed_at: null as string | null,
});

export interface Token {
  issued: Link;
  revokedAt: string | null;
}

export interface Correction {
  asked: Link;
  status: string;
  revision: number;
  decided: Link | null;
  ended: Link | null;
  madeCents: number | null;
  why: string | null;
}
