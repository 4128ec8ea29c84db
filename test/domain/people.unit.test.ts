import { describe, expect, it } from 'vitest';
import { type AccountCommand, decideAccount } from '../../src/domain/account.ts';
import type { AccountEvent } from '../../src/domain/account-events.ts';
import { maxPeople } from '../../src/domain/people.ts';
import { given, now, opened } from './account-examples.ts';
import { accountId } from './usage-examples.ts';

const anHourLater = '2026-11-30T18:45:12.345Z';
const justBefore = '2026-11-30T18:45:12.344Z';
const opener = accountId.replace('acc_', 'per_');

const personIdOf = (number: number) => `per_${String(number).padStart(16, '0')}`;
const emailOf = (number: number) => `person${String(number)}@example.com`;

const invited = (number: number, email = emailOf(number)): AccountEvent => ({
  type: 'PersonInvited',
  data: { account_id: accountId, person_id: personIdOf(number), personal: { email } },
});
const removed = (personId: string): AccountEvent => ({
  type: 'PersonRemoved',
  data: { account_id: accountId, person_id: personId },
});
const invite = (number: number, email = emailOf(number)): AccountCommand => ({
  kind: 'invite_person',
  accountId,
  personId: personIdOf(number),
  email,
});
const remove = (personId: string): AccountCommand => ({ kind: 'remove_person', accountId, personId });

/** As many people as an account may have, with its opener. */
const everybody = [opened, ...Array.from({ length: maxPeople - 1 }, (_, index) => invited(index))];

describe('inviting a person', () => {
  it('records the address, apart from the rest', () => {
    expect(decideAccount(given(opened), invite(1), now)).toEqual([invited(1)]);
  });

  it('twice yields nothing new, whatever the capital letters; the opener is one of the people', () => {
    expect(decideAccount(given(opened, invited(1)), invite(2, 'Person1@EXAMPLE.com'), now)).toEqual([]);
    expect(decideAccount(given(opened), invite(1, 'Owner@example.com'), now)).toEqual([]);
  });

  it('who was removed makes a new person', () => {
    const account = given(opened, invited(1), removed(personIdOf(1)));
    expect(decideAccount(account, invite(2, emailOf(1)), now)).toEqual([invited(2, emailOf(1))]);
  });

  it('is refused while the account has as many as it may have', () => {
    expect(decideAccount(given(...everybody), invite(99), anHourLater)).toEqual({ refusal: 'too_many_people' });
  });

  it('is refused after as many within an hour, although some were removed', () => {
    const account = given(...everybody, removed(personIdOf(1)));
    expect(decideAccount(account, invite(99), justBefore)).toEqual({ refusal: 'too_many_invitations' });
    expect(decideAccount(account, invite(99), anHourLater)).toEqual([invited(99)]);
  });

  it('is refused for an account that is not there', () => {
    expect(decideAccount(given(), invite(1), now)).toEqual({ refusal: 'account_not_found' });
  });
});

describe('removing a person', () => {
  it('is an event, once; the opener may be removed too', () => {
    const account = given(opened, invited(1));
    expect(decideAccount(account, remove(personIdOf(1)), now)).toEqual([removed(personIdOf(1))]);
    expect(decideAccount(account, remove(opener), now)).toEqual([removed(opener)]);
    expect(decideAccount(given(opened, invited(1), removed(opener)), remove(opener), now)).toEqual([]);
  });

  it('is refused for the last one', () => {
    expect(decideAccount(given(opened), remove(opener), now)).toEqual({ refusal: 'last_person' });
    const account = given(opened, invited(1), removed(opener));
    expect(decideAccount(account, remove(personIdOf(1)), now)).toEqual({ refusal: 'last_person' });
  });

  it('is refused for one whom nobody invited, and for an account that is not there', () => {
    expect(decideAccount(given(opened), remove(personIdOf(1)), now)).toEqual({ refusal: 'person_not_found' });
    expect(decideAccount(given(), remove(opener), now)).toEqual({ refusal: 'account_not_found' });
  });
});
