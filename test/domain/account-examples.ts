import { type Account, evolveAccount, initialAccount } from '../../src/domain/account.ts';
import type { AccountEvent } from '../../src/domain/account-events.ts';
import { accountId, plan } from './usage-examples.ts';

/** An account for the examples of its rules. */

export const now = '2026-11-30T17:45:12.345Z';

export const given = (...events: AccountEvent[]): Account =>
  events.reduce((state, event) => evolveAccount(state, event, { time: now }), initialAccount);

export const opened: AccountEvent = {
  type: 'AccountOpened',
  data: {
    account_id: accountId,
    terms: plan,
    anchor_day: 30,
    period_start: '2026-11-30T00:00:00.000Z',
    period_end: '2026-12-30T00:00:00.000Z',
    personal: { email: 'owner@example.com' },
  },
};
