import { plusSeconds } from './instant.ts';
import { refuse, type Refused } from './refusals.ts';
import { type StaffEvent, type StaffRole, staffRoles, type StaffScope } from './staff-events.ts';

/**
 * A member of staff, from the stream `staff-{staffId}`. Somebody invited has the role that admins give; for somebody of an
 * OpenID provider, the provider says it at each sign-in. Both are removed here, for good: who comes back is invited anew.
 *
 *     (unknown) ──StaffInvited, StaffSignedIn by the provider──▶ member ──StaffRemoved──▶ removed
 */
export interface Staff {
  member: Member | null;
  removed: boolean;
  /** Every e-mail address that this person has had here, verified or not, without what stands behind a plus sign. */
  addresses: ReadonlySet<string>;
  /** The newest sign-in, UTC ISO-8601; null before the first. */
  signedInAt: string | null;
  tokens: ReadonlyMap<string, StaffToken>;
  /** When somebody's data was read in the last 15 minutes, by whose and where (`accessRecordKey`). */
  accessRecords: ReadonlyMap<string, string>;
}

export interface Member {
  role: StaffRole;
  /** Null for somebody of a provider who has none, and if it was erased. */
  email: string | null;
  /** False: an OpenID provider knows this person. */
  invited: boolean;
  since: string;
}

export interface StaffToken {
  tokenId: string;
  tokenHash: string;
  tokenPrefix: string;
  /** Empty if there is none, or if it was erased. */
  label: string;
  scopes: readonly StaffScope[];
  createdAt: string;
  expiresAt: string;
  revoked: boolean;
}

export const initialStaff: Staff = {
  member: null,
  removed: false,
  addresses: new Set(),
  signedInAt: null,
  tokens: new Map(),
  accessRecords: new Map(),
};

type AccessRecord = Omit<Extract<StaffEvent, { type: 'PersonalDataViewed' }>['data'], 'staff_id'>;

const accessRecordKey = ({ account_id, token, page, by_token }: AccessRecord): string =>
  JSON.stringify([account_id, token, page, by_token]);

/** The same access is recorded once within this time. */
const sameAccessSeconds = 15 * 60;

export function evolveStaff(state: Staff, event: StaffEvent, { time }: { time: string }): Staff {
  switch (event.type) {
    case 'StaffInvited': {
      const { role, personal } = event.data;
      const member = { role, email: personal?.email ?? null, invited: true, since: time };
      return { ...state, member, addresses: withAddress(state, personal?.email) };
    }
    case 'StaffRoleChanged':
      return { ...state, member: state.member && { ...state.member, role: event.data.role } };
    case 'StaffRemoved':
      return { ...state, removed: true };
    case 'StaffSignedIn':
      if (event.data.by === 'link') return { ...state, signedInAt: time };
      return {
        ...state,
        signedInAt: time,
        member: memberOfProvider(state.member, event.data, time),
        addresses: withAddress(state, event.data.personal?.email ?? event.data.personal?.unverified_email),
      };
    case 'StaffTokenIssued': {
      const { token_id, token_hash, token_prefix, scopes, expires_at, personal } = event.data;
      const token: StaffToken = {
        tokenId: token_id,
        tokenHash: token_hash,
        tokenPrefix: token_prefix,
        label: personal?.label ?? '',
        scopes,
        createdAt: time,
        expiresAt: expires_at,
        revoked: false,
      };
      return { ...state, tokens: new Map(state.tokens).set(token_id, token) };
    }
    case 'StaffTokenRevoked': {
      const token = state.tokens.get(event.data.token_id);
      if (!token) return state;
      return { ...state, tokens: new Map(state.tokens).set(token.tokenId, { ...token, revoked: true }) };
    }
    case 'PersonalDataViewed': {
      const recent = [...state.accessRecords].filter(([, at]) => isRecent(at, time));
      return { ...state, accessRecords: new Map(recent).set(accessRecordKey(event.data), time) };
    }
    default:
      return event satisfies never;
  }
}

function withAddress({ addresses }: Staff, email: string | null | undefined): ReadonlySet<string> {
  if (typeof email !== 'string') return addresses;
  // Mail to sue+x@ arrives at sue@ (RFC 5233).
  const [local = '', domain = ''] = email.toLowerCase().split('@');
  return new Set(addresses).add(`${local.split('+')[0] ?? ''}@${domain}`);
}

/**
 * Whether two members may be one person, as far as the log knows: somebody may be invited and known to the OpenID provider as
 * well, or removed and invited anew, each time under another id. Without an address of each, nobody knows that they are two.
 */
export const maybeSamePerson = ({ addresses: ofOne }: Staff, { addresses: ofOther }: Staff): boolean =>
  ofOne.size === 0 || ofOther.size === 0 || [...ofOne].some((address) => ofOther.has(address));

const isRecent = (at: string, now: string): boolean => plusSeconds(at, sameAccessSeconds) > now;

const memberOfProvider = (
  before: Member | null,
  { role, personal }: Extract<StaffEvent, { type: 'StaffSignedIn' }>['data'],
  time: string,
): Member => ({ role, email: personal?.email ?? null, invited: false, since: before?.since ?? time });

/** The person as a member of at least this role. */
export function memberOf({ member, removed }: Staff, least: StaffRole = 'support'): Member | Refused {
  if (!member) return refuse('staff_not_found');
  if (removed) return refuse('staff_removed');
  return hasRole(member.role, least) ? member : refuse('role_too_low');
}

/** Each role may do what those before it may. */
export const hasRole = (role: StaffRole, least: StaffRole): boolean =>
  staffRoles.indexOf(role) >= staffRoles.indexOf(least);

/** How somebody has signed in, and what the provider says about the person. */
export type SignIn =
  | { by: 'link' }
  | {
      by: 'provider';
      role: StaffRole;
      email: string | null;
      unverified_email: string | null;
      issuer: string;
      subject: string;
    };

export interface IssueStaffToken {
  kind: 'issue_token';
  staffId: string;
  tokenId: string;
  tokenHash: string;
  tokenPrefix: string;
  /** Empty if there is none, or if it was erased. */
  label: string;
  scopes: readonly StaffScope[];
  lifetimeDays: number;
}

export type StaffCommand =
  | { kind: 'invite'; staffId: string; email: string; role: StaffRole }
  | { kind: 'change_role'; staffId: string; role: StaffRole }
  | { kind: 'remove'; staffId: string }
  | { kind: 'sign_in'; staffId: string; signIn: SignIn }
  | IssueStaffToken
  | { kind: 'revoke_token'; staffId: string; tokenId: string }
  | { kind: 'record_access'; staffId: string; accessRecords: readonly AccessRecord[] };

export const defaultTokenDays = 90;
export const maxTokenDays = 365;
/** Tokens of one member that hold at a time. */
export const maxStaffTokens = 20;

/**
 * @param now instant of the decision, UTC ISO-8601
 * @returns the events to append: none when the command has been carried out already
 */
export function decideStaff(state: Staff, command: StaffCommand, now: string): StaffEvent[] | Refused {
  const { member, removed } = state;
  const { staffId: staff_id } = command;
  if (command.kind === 'invite') {
    if (removed) return refuse('staff_removed');
    if (member) return [];
    const { role, email } = command;
    return [{ type: 'StaffInvited', data: { staff_id, role, personal: { email } } }];
  }
  if (command.kind === 'sign_in') return signIn(state, command);
  if (!member) return refuse('staff_not_found');
  if (command.kind === 'remove') return removed ? [] : [{ type: 'StaffRemoved', data: { staff_id } }];
  if (command.kind === 'revoke_token') return revokeToken(state, command);
  if (removed) return refuse('staff_removed');
  switch (command.kind) {
    case 'change_role':
      if (!member.invited) return refuse('role_of_provider');
      return command.role === member.role ? [] : [{ type: 'StaffRoleChanged', data: { staff_id, role: command.role } }];
    case 'issue_token':
      return issueToken(state, command, now);
    case 'record_access':
      return newAccessRecords(state, command.accessRecords, now).map((record) => ({
        type: 'PersonalDataViewed',
        data: { staff_id, ...record },
      }));
  }
}

/** Those that were not recorded within the time, each once. */
function newAccessRecords(
  { accessRecords: recorded }: Staff,
  records: readonly AccessRecord[],
  now: string,
): AccessRecord[] {
  const byKey = new Map(records.map((record) => [accessRecordKey(record), record]));
  const isNew = (key: string) => {
    const before = recorded.get(key);
    return before === undefined || !isRecent(before, now);
  };
  return [...byKey].flatMap(([key, record]) => (isNew(key) ? [record] : []));
}

/** A link signs in somebody who was invited; the first sign-in by a provider makes its person known. */
function signIn(
  { member, removed }: Staff,
  { staffId: staff_id, signIn: signed }: Extract<StaffCommand, { kind: 'sign_in' }>,
): StaffEvent[] | Refused {
  if (removed) return refuse('staff_removed');
  if (signed.by === 'provider') {
    const { by, role, ...personal } = signed;
    return [{ type: 'StaffSignedIn', data: { staff_id, by, role, personal } }];
  }
  if (!member?.invited) return refuse('staff_not_found');
  const personal = { email: null, unverified_email: null, issuer: null, subject: null };
  return [{ type: 'StaffSignedIn', data: { staff_id, by: 'link', role: member.role, personal } }];
}

function issueToken(state: Staff, command: IssueStaffToken, now: string): StaffEvent[] | Refused {
  const { staffId: staff_id, tokenId: token_id, tokenHash: token_hash, tokenPrefix: token_prefix } = command;
  if (state.tokens.has(token_id)) return [];
  const held = [...state.tokens.values()].filter((token) => isTokenHeld(token, now));
  if (held.length >= maxStaffTokens) return refuse('too_many_keys');
  const expires_at = plusSeconds(now, Math.min(command.lifetimeDays, maxTokenDays) * 86_400);
  const { label, scopes } = command;
  return [
    {
      type: 'StaffTokenIssued',
      data: { staff_id, token_id, token_hash, token_prefix, scopes: [...scopes], expires_at, personal: { label } },
    },
  ];
}

/** Neither revoked nor expired; a member who is removed holds none. */
export const isTokenHeld = ({ revoked, expiresAt }: StaffToken, now: string): boolean => !revoked && now < expiresAt;

function revokeToken(
  { tokens }: Staff,
  { staffId: staff_id, tokenId: token_id }: Extract<StaffCommand, { kind: 'revoke_token' }>,
): StaffEvent[] | Refused {
  const token = tokens.get(token_id);
  if (!token) return refuse('key_not_found');
  return token.revoked ? [] : [{ type: 'StaffTokenRevoked', data: { staff_id, token_id } }];
}
