import { describe, expect, it } from 'vitest';
import { decideAccount } from '../../src/domain/account.ts';
import type { AccountEvent } from '../../src/domain/account-events.ts';
import { noDetails } from '../../src/domain/billing-details.ts';
import { documentsUntil } from '../../src/domain/document-retention.ts';
import { given, now, opened } from './account-examples.ts';
import { accountId } from './usage-examples.ts';

const account_id = accountId;
const until = '2037-01-01T00:00:00.000Z';
const erase = { kind: 'erase_account', accountId, documentsUntil: until } as const;
const closed: AccountEvent = { type: 'AccountClosed', data: { account_id } };
const erased: AccountEvent = { type: 'AccountErased', data: { account_id, documents_until: until } };
const person_id = 'per_0123456789abcdef';
const personal: AccountEvent[] = [
  opened,
  {
    type: 'ApiKeyIssued',
    data: {
      account_id,
      key_id: 'key_0123456789abcdef',
      key_hash: 'a'.repeat(64),
      key_prefix: 'rtk_test',
      personal: { label: 'laptop' },
    },
  },
  { type: 'PersonInvited', data: { account_id, person_id, personal: { email: 'ada@example.com' } } },
  {
    type: 'BillingDetailsChanged',
    data: { account_id, personal: { name: 'Ada', address_lines: [], country: 'GB', tax_id: null } },
  },
];
/** The same events, as they are read once their keys are deleted. */
const unreadable = personal.map(({ type, data }) => ({ type, data: { ...data, personal: null } }) as AccountEvent);

describe('erasing an account', () => {
  it('is refused while it is not closed, and done once', () => {
    expect(decideAccount(given(), erase, now)).toEqual({ refusal: 'account_not_found' });
    expect(decideAccount(given(...personal), erase, now)).toEqual({ refusal: 'account_not_closed' });
    expect(decideAccount(given(...personal, closed), erase, now)).toEqual([erased]);
    expect(decideAccount(given(...personal, closed, erased), erase, now)).toEqual([]);
  });

  it('leaves the same state with the keys and without them', () => {
    const state = given(...personal, closed, erased);
    expect(state).toEqual(given(...unreadable, closed, erased));
    expect([...state.people.values()].map(({ email, removed }) => ({ email, removed }))).toEqual([
      { email: null, removed: true },
      { email: null, removed: true },
    ]);
    expect([...state.keys.values()].map(({ label }) => label)).toEqual(['']);
    expect(state).toMatchObject({ erased: true, billing: noDetails, opened: { personal: null } });
  });

  it('ends the changes that a closed account still takes', () => {
    const state = given(...personal, closed, erased);
    const invite = {
      kind: 'invite_person',
      accountId,
      personId: 'per_books00000000000',
      email: 'b@example.com',
    } as const;
    const details = { kind: 'change_billing_details', accountId, details: { name: 'B' } } as const;
    for (const command of [invite, details])
      expect(decideAccount(state, command, now)).toEqual({ refusal: 'account_erased' });
    expect(decideAccount(state, { kind: 'close_account', accountId }, now)).toEqual([]);
  });
});

describe('documents', () => {
  it.each([
    ['2026-11-30T17:45:12.345Z', 10, '2037-01-01T00:00:00.000Z'],
    ['2026-01-01T00:00:00.000Z', 1, '2028-01-01T00:00:00.000Z'],
    ['2026-12-31T23:59:59.999Z', 0, null],
    [null, 10, null],
  ])('of which the newest is of %s show the details for %i years more: until %s', (newest, years, expected) => {
    expect(documentsUntil(newest, years)).toBe(expected);
  });
});
