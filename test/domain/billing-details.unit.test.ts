import { describe, expect, it } from 'vitest';
import {
  type AccountCommand,
  type ChangeBillingDetails,
  decideAccount,
  maxBillingChanges,
} from '../../src/domain/account.ts';
import type { AccountEvent } from '../../src/domain/account-events.ts';
import { type BillingDetails, issuerDetails, noDetails } from '../../src/domain/billing-details.ts';
import { given, now, opened } from './account-examples.ts';
import { accountId } from './usage-examples.ts';

const anHourLater = '2026-11-30T18:45:12.345Z';
const ada: BillingDetails = {
  name: 'Ada Lovelace',
  address_lines: ['12 St James’s Square', 'London'],
  country: 'GB',
  tax_id: null,
};

const changed = (personal: BillingDetails): AccountEvent => ({
  type: 'BillingDetailsChanged',
  data: { account_id: accountId, personal },
});
const change = (details: ChangeBillingDetails['details']): AccountCommand => ({
  kind: 'change_billing_details',
  accountId,
  details,
});

describe('changing the billing details of an account', () => {
  it('records all of them, apart from the rest', () => {
    expect(decideAccount(given(opened), change({ name: 'Ada' }), now)).toEqual([
      changed({ ...noDetails, name: 'Ada' }),
    ]);
    expect(decideAccount(given(opened, changed(ada)), change({ tax_id: 'GB1' }), now)).toEqual([
      changed({ ...ada, tax_id: 'GB1' }),
    ]);
  });

  it('removes what is set to null, and keeps what is missing or undefined', () => {
    const events = decideAccount(given(opened, changed(ada)), change({ country: null, name: undefined }), now);
    expect(events).toEqual([changed({ ...ada, country: null })]);
  });

  it('to what they are yields nothing new', () => {
    expect(decideAccount(given(opened, changed(ada)), change({ ...ada }), now)).toEqual([]);
    expect(decideAccount(given(opened), change({}), now)).toEqual([]);
  });

  it('is refused after as many changes within an hour, and for an account that is not there', () => {
    const names = Array.from({ length: maxBillingChanges }, (_, index) => changed({ ...ada, name: String(index) }));
    const account = given(opened, ...names);
    expect(decideAccount(account, change({ name: 'once more' }), now)).toEqual({
      refusal: 'too_many_billing_changes',
    });
    expect(decideAccount(account, change({ name: 'once more' }), anHourLater)).toHaveLength(1);
    expect(decideAccount(given(), change({ name: 'x' }), now)).toEqual({ refusal: 'account_not_found' });
  });
});

describe('billing details', () => {
  const turned = 'has invisible characters that change the direction of writing';
  const issuer = { ...ada, name: 'Tally & Co', email: null };

  it.each([
    ['no name', { name: '' }, 'is empty'],
    ['a country that is a name', { country: 'Germany' }, 'is not a country code of two capital letters, such as DE'],
    ['a line that is empty', { address_lines: [''] }, 'is empty'],
    ['too many lines', { address_lines: Array<string>(7).fill('a line') }, 'has more than 6 lines'],
    ['a control character', { tax_id: 'GB\n1' }, 'has control characters'],
    ['a turned line', { address_lines: ['\u202etenalP'] }, turned],
    ['a mark of direction', { name: 'Tally\u200f & Co' }, turned],
    ['a turned address', { email: 'a\u2066@b' }, turned],
    ['no address', { email: 'billing' }, 'is not an e-mail address'],
  ])('with %s are refused, and it is said why', (_what, wrong, message) => {
    expect(issuerDetails.safeParse(issuer).success).toBe(true);
    expect(issuerDetails.safeParse({ ...issuer, ...wrong }).error?.issues[0]?.message).toBe(message);
  });
});
