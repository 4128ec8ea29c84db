import type { AccountEvent } from './account-events.ts';
import { anHourBefore } from './instant.ts';
import { refuse, type Refused } from './refusals.ts';

/** The people who act for an account. Whoever opened it is the first; each may invite and remove others. */
export interface Person {
  personId: string;
  /** Null if it was erased. */
  email: string | null;
  /** When the account was opened, or the person invited. */
  since: string;
  removed: boolean;
  /** At least once. */
  hasSignedIn: boolean;
}

export type ActivePerson = Person & { email: string };

export type People = ReadonlyMap<string, Person>;

/** People of an account at a time, and invitations within an hour. */
export const maxPeople = 20;

/** The person who opened an account has an id that follows from the account's, because no event draws one. */
export const openerOf = (accountId: string): string => `per_${accountId.slice('acc_'.length)}`;

/** Everybody who acts for the account now. Without the address, nobody can sign in or get a mail. */
export const listPeople = (people: People): ActivePerson[] =>
  [...people.values()].filter((person): person is ActivePerson => !person.removed && person.email !== null);

/** The person with an id, unless removed. */
export const activePerson = (people: People, personId: string): ActivePerson | undefined =>
  listPeople(people).find((person) => person.personId === personId);

/** Mail servers may tell capital letters apart (RFC 5321 §2.4), but none that people use does. */
export const mailbox = (email: string) => email.toLowerCase();

/** The person with an e-mail address, unless removed. */
export const findPerson = (people: People, email: string): ActivePerson | undefined =>
  listPeople(people).find((person) => mailbox(person.email) === mailbox(email));

export interface InvitePerson {
  kind: 'invite_person';
  accountId: string;
  personId: string;
  email: string;
}

/** @returns no event for an address that the account has already */
export function decideInvitation(
  people: People,
  { accountId, personId, email }: InvitePerson,
  now: string,
): AccountEvent[] | Refused<'too_many_people' | 'too_many_invitations'> {
  if (findPerson(people, email)) return [];
  if (listPeople(people).length >= maxPeople) return refuse('too_many_people');
  // Someone removed makes room for another, but only after an hour, as with keys.
  const anHourAgo = anHourBefore(now);
  const invited = [...people.values()].filter(({ since }) => since > anHourAgo);
  if (invited.length >= maxPeople) return refuse('too_many_invitations');
  return [{ type: 'PersonInvited', data: { account_id: accountId, person_id: personId, personal: { email } } }];
}

export interface RemovePerson {
  kind: 'remove_person';
  accountId: string;
  personId: string;
}

/** @returns no event for someone who is removed already */
export function decideRemoval(
  people: People,
  { accountId, personId }: RemovePerson,
): AccountEvent[] | Refused<'person_not_found' | 'last_person'> {
  const person = people.get(personId);
  if (!person) return refuse('person_not_found');
  if (person.removed) return [];
  if (listPeople(people).length === 1) return refuse('last_person');
  return [{ type: 'PersonRemoved', data: { account_id: accountId, person_id: personId } }];
}
