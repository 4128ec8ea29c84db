import type { AccountEvent } from './account-events.ts';
import { areSameDetails, type BillingDetails, type Change, noDetails, withChange } from './billing-details.ts';
import { firstBillingPeriod } from './billing-period.ts';
import { anHourBefore } from './instant.ts';
import {
  decideInvitation,
  decideRemoval,
  type InvitePerson,
  openerOf,
  type People,
  type Person,
  type RemovePerson,
} from './people.ts';
import type { PlanTerms } from './plans.ts';
import { refuse, type Refused } from './refusals.ts';

export interface ApiKey {
  keyId: string;
  keyHash: string;
  keyPrefix: string;
  /** Empty if there is none, or if it was erased. */
  label: string;
  createdAt: string;
  revoked: boolean;
}

export interface Account {
  opened?: Extract<AccountEvent, { type: 'AccountOpened' }>['data'];
  keys: ReadonlyMap<string, ApiKey>;
  people: People;
  billing: BillingDetails;
  /** When they were changed: the last few times, oldest first. */
  billingChangedAt: readonly string[];
  /** Somebody of the account has asked for its closing: when, UTC ISO-8601. */
  closingRequestedAt: string | null;
  /** Its keys are revoked, and nobody signs in. Its people stay, for the mails of its last documents. */
  closed: boolean;
  /** Nobody can read its personal data any more, but for what its documents show. */
  erased: boolean;
}

export const initialAccount: Account = {
  keys: new Map(),
  people: new Map(),
  billing: noDetails,
  billingChangedAt: [],
  closingRequestedAt: null,
  closed: false,
  erased: false,
};

/** Changes of the billing details within an hour: every command on an account reads its whole stream. */
export const maxBillingChanges = 20;

export const countActiveKeys = ({ keys }: Pick<Account, 'keys'>): number =>
  [...keys.values()].filter(({ revoked }) => !revoked).length;

export function evolveAccount(state: Account, event: AccountEvent, at: { time: string }): Account {
  switch (event.type) {
    case 'AccountOpened': {
      const person = { personId: openerOf(event.data.account_id), email: event.data.personal?.email ?? null };
      return {
        ...withPerson(state, { ...person, since: at.time, removed: false, hasSignedIn: false }),
        opened: event.data,
      };
    }
    case 'ApiKeyIssued': {
      const { key_id: keyId, key_hash: keyHash, key_prefix: keyPrefix, personal } = event.data;
      const key = { keyId, keyHash, keyPrefix, label: personal?.label ?? '', createdAt: at.time, revoked: false };
      return { ...state, keys: new Map(state.keys).set(keyId, key) };
    }
    case 'ApiKeyRevoked': {
      const key = state.keys.get(event.data.key_id);
      return key ? { ...state, keys: new Map(state.keys).set(key.keyId, { ...key, revoked: true }) } : state;
    }
    case 'PersonInvited': {
      const { person_id: personId, personal } = event.data;
      const email = personal?.email ?? null;
      return withPerson(state, { personId, email, since: at.time, removed: false, hasSignedIn: false });
    }
    case 'PersonRemoved': {
      const person = state.people.get(event.data.person_id);
      return person ? withPerson(state, { ...person, removed: true }) : state;
    }
    case 'BillingDetailsChanged': {
      const billingChangedAt = [...state.billingChangedAt, at.time].slice(-maxBillingChanges);
      return { ...state, billing: event.data.personal ?? noDetails, billingChangedAt };
    }
    case 'PersonSignedIn': {
      const person = state.people.get(event.data.person_id);
      return person ? withPerson(state, { ...person, hasSignedIn: true }) : state;
    }
    case 'ClosingRequested':
      return { ...state, closingRequestedAt: at.time };
    case 'AccountClosed':
      return { ...state, closed: true, keys: allRevoked(state.keys) };
    case 'AccountErased':
      return erase(state);
    default:
      return event satisfies never;
  }
}

const allRevoked = (keys: Account['keys']): Account['keys'] =>
  new Map([...keys].map(([keyId, key]) => [keyId, { ...key, revoked: true }]));

/** The same state comes from events whose keys are still there and from those whose keys are deleted. */
const erase = (state: Account): Account => ({
  ...state,
  ...(state.opened && { opened: { ...state.opened, personal: null } }),
  keys: new Map([...state.keys].map(([keyId, key]) => [keyId, { ...key, label: '' }])),
  people: new Map([...state.people].map(([personId, person]) => [personId, { ...person, email: null, removed: true }])),
  billing: noDetails,
  erased: true,
});

const withPerson = (state: Account, person: Person): Account => ({
  ...state,
  people: new Map(state.people).set(person.personId, person),
});

interface IssueKey {
  kind: 'issue_key';
  accountId: string;
  keyId: string;
  keyHash: string;
  keyPrefix: string;
  label: string;
  /** Limit of the account's terms on active keys, and on keys issued within an hour. */
  maxKeys: number;
}

interface RevokeKey {
  kind: 'revoke_key';
  accountId: string;
  keyId: string;
}

export interface ChangeBillingDetails {
  kind: 'change_billing_details';
  accountId: string;
  details: Change<BillingDetails>;
}

interface SignIn {
  kind: 'sign_in';
  accountId: string;
  personId: string;
  browser: string;
}

interface EraseAccount {
  kind: 'erase_account';
  accountId: string;
  /** As in `AccountErased`. */
  documentsUntil: string | null;
}

export type AccountCommand =
  | { kind: 'open_account'; accountId: string; email: string; terms: PlanTerms }
  | IssueKey
  | RevokeKey
  | InvitePerson
  | RemovePerson
  | ChangeBillingDetails
  | SignIn
  /** By somebody of the account. */
  | { kind: 'request_closing'; accountId: string }
  /** After the end of its last period. */
  | { kind: 'close_account'; accountId: string }
  | EraseAccount;

/** Billing details and people stay open to staff: the last documents need a name, and somebody who gets them. */
const openAfterClosing = ['change_billing_details', 'invite_person', 'remove_person'] as const;
type OpenAfterClosing = (typeof openAfterClosing)[number];

const isOpenAfterClosing = (kind: AccountCommand['kind']): kind is OpenAfterClosing =>
  (openAfterClosing as readonly string[]).includes(kind);

interface Decisions {
  issue_key: ReturnType<typeof decideKey>;
  revoke_key: ReturnType<typeof decideRevocation>;
  invite_person: ReturnType<typeof decideInvitation>;
  remove_person: ReturnType<typeof decideRemoval>;
  change_billing_details: ReturnType<typeof decideBillingDetails>;
  sign_in: ReturnType<typeof decideSignIn>;
  erase_account: ReturnType<typeof decideErasure>;
}

/** The refusals of a command of this kind. */
export type AccountRefusal<Kind extends AccountCommand['kind']> =
  | 'account_not_found'
  | (Kind extends 'erase_account' ? never : Kind extends OpenAfterClosing ? 'account_erased' : 'account_closed')
  | (Kind extends keyof Decisions ? Extract<Decisions[Kind], Refused>['refusal'] : never);

/**
 * @param now instant of the decision, UTC ISO-8601
 * @returns the events to append: none when the command has been carried out already
 */
export function decideAccount(state: Account, command: AccountCommand, now: string): AccountEvent[] | Refused {
  if (command.kind === 'open_account') return state.opened ? [] : [openAccount(command, now)];
  if (!state.opened) return refuse('account_not_found');
  if (command.kind === 'close_account') return state.closed ? [] : [accountEvent('AccountClosed', command)];
  if (command.kind === 'erase_account') return decideErasure(state, command);
  if (state.closed && !isOpenAfterClosing(command.kind)) return refuse('account_closed');
  if (state.erased) return refuse('account_erased');
  switch (command.kind) {
    case 'issue_key':
      return decideKey(state, command, now);
    case 'revoke_key':
      return decideRevocation(state, command);
    case 'invite_person':
      return decideInvitation(state.people, command, now);
    case 'remove_person':
      return decideRemoval(state.people, command);
    case 'change_billing_details':
      return decideBillingDetails(state, command, now);
    case 'sign_in':
      return decideSignIn(state, command);
    case 'request_closing':
      return state.closingRequestedAt === null ? [accountEvent('ClosingRequested', command)] : [];
  }
}

function decideSignIn(
  { people }: Account,
  { accountId, personId, browser }: SignIn,
): AccountEvent[] | Refused<'person_not_found'> {
  const person = people.get(personId);
  if (!person || person.removed) return refuse('person_not_found');
  const data = { account_id: accountId, person_id: personId, personal: { browser } };
  return [{ type: 'PersonSignedIn', data }];
}

function decideErasure(
  { closed, erased }: Account,
  { accountId, documentsUntil }: EraseAccount,
): AccountEvent[] | Refused<'account_not_closed'> {
  if (!closed) return refuse('account_not_closed');
  if (erased) return [];
  return [{ type: 'AccountErased', data: { account_id: accountId, documents_until: documentsUntil } }];
}

const accountEvent = (
  type: 'ClosingRequested' | 'AccountClosed',
  { accountId }: { accountId: string },
): AccountEvent => ({ type, data: { account_id: accountId } });

function decideBillingDetails(
  { billing, billingChangedAt }: Account,
  { accountId, details }: ChangeBillingDetails,
  now: string,
): AccountEvent[] | Refused<'too_many_billing_changes'> {
  const personal = withChange(billing, details);
  if (areSameDetails(personal, billing)) return [];
  const anHourAgo = anHourBefore(now);
  if (billingChangedAt.filter((time) => time > anHourAgo).length >= maxBillingChanges)
    return refuse('too_many_billing_changes');
  return [{ type: 'BillingDetailsChanged', data: { account_id: accountId, personal } }];
}

function decideRevocation(
  { keys }: Account,
  { accountId, keyId }: RevokeKey,
): AccountEvent[] | Refused<'key_not_found'> {
  const key = keys.get(keyId);
  if (!key) return refuse('key_not_found');
  return key.revoked ? [] : [{ type: 'ApiKeyRevoked', data: { account_id: accountId, key_id: keyId } }];
}

function decideKey(state: Account, command: IssueKey, now: string): AccountEvent[] | Refused<TooManyKeys> {
  if (state.keys.has(command.keyId)) return [];
  const refused = refuseKey(state, command, now);
  if (refused) return refused;
  return [
    {
      type: 'ApiKeyIssued',
      data: {
        account_id: command.accountId,
        key_id: command.keyId,
        key_hash: command.keyHash,
        key_prefix: command.keyPrefix,
        personal: { label: command.label },
      },
    },
  ];
}

type TooManyKeys = 'too_many_keys' | 'too_many_new_keys';

/** A revoked key makes room for another, but only after an hour: else an owner could replace keys as fast as they run out. */
function refuseKey(account: Account, { maxKeys }: IssueKey, now: string): Refused<TooManyKeys> | undefined {
  const issued = [...account.keys.values()];
  if (countActiveKeys(account) >= maxKeys) return refuse('too_many_keys');
  const anHourAgo = anHourBefore(now);
  if (issued.filter(({ createdAt }) => createdAt > anHourAgo).length >= maxKeys) return refuse('too_many_new_keys');
  return undefined;
}

function openAccount(command: Extract<AccountCommand, { kind: 'open_account' }>, now: string): AccountEvent {
  const { start, end, anchorDay } = firstBillingPeriod(now);
  return {
    type: 'AccountOpened',
    data: {
      account_id: command.accountId,
      terms: command.terms,
      anchor_day: anchorDay,
      period_start: start,
      period_end: end,
      personal: { email: command.email },
    },
  };
}
