import { describe, expect, it } from 'vitest';
import {
  decideStaff,
  evolveStaff,
  hasRole,
  initialStaff,
  type IssueStaffToken,
  isTokenHeld,
  maxStaffTokens,
  memberOf,
  type Staff,
  type StaffCommand,
} from '../../src/domain/staff.ts';
import { type StaffEvent, staffRoles } from '../../src/domain/staff-events.ts';
import { accountId, token } from './usage-examples.ts';

const staffId = 'stf_aaaaaaaaaaaaaaaaaaaa';
const staff_id = staffId;
const now = '2026-11-14T12:00:00.000Z';
const email = 'sue@example.com';

const given = (...events: StaffEvent[]): Staff =>
  events.reduce((state, event) => evolveStaff(state, event, { time: now }), initialStaff);
const decide = (state: Staff, command: StaffCommand, at = now) => decideStaff(state, command, at);

const invited: StaffEvent = { type: 'StaffInvited', data: { staff_id, role: 'support', personal: { email } } };
const removed: StaffEvent = { type: 'StaffRemoved', data: { staff_id } };
const known = { email, unverified_email: null, issuer: 'https://id.example.com', subject: 's-1' } as const;
const provider = { by: 'provider', role: 'finance', ...known } as const;
const signedIn: StaffEvent = {
  type: 'StaffSignedIn',
  data: {
    staff_id,
    by: 'provider',
    role: 'finance',
    personal: known,
  },
};
const notFound = { refusal: 'staff_not_found' };
const gone = { refusal: 'staff_removed' };

describe('a member of staff', () => {
  it('has the role of the invitation, until it is changed', () => {
    expect(decide(initialStaff, { kind: 'invite', staffId, email, role: 'support' })).toEqual([invited]);
    expect(decide(given(invited), { kind: 'invite', staffId, email, role: 'admin' })).toEqual([]);
    const change = { kind: 'change_role', staffId, role: 'admin' } as const;
    const changed: StaffEvent = { type: 'StaffRoleChanged', data: { staff_id, role: 'admin' } };
    expect(decide(given(invited), change)).toEqual([changed]);
    expect(decide(given(invited, changed), change)).toEqual([]);
    expect(memberOf(given(invited, changed), 'admin')).toMatchObject({ role: 'admin', invited: true, email });
    expect(decide(initialStaff, change)).toEqual(notFound);
    expect(decide(given(invited, removed), change)).toEqual(gone);
  });

  it('of a provider has the role that the provider said last, which nobody here changes', () => {
    const signIn = { kind: 'sign_in', staffId, signIn: provider } as const;
    expect(decide(initialStaff, signIn)).toEqual([signedIn]);
    expect(decide(given(signedIn), signIn)).toEqual([signedIn]);
    expect(memberOf(given(signedIn))).toEqual({ role: 'finance', email, invited: false, since: now });
    const lower = given(signedIn, { type: 'StaffSignedIn', data: { ...signedIn.data, role: 'support' } });
    expect(memberOf(lower, 'finance')).toEqual({ refusal: 'role_too_low' });
    const change = { kind: 'change_role', staffId, role: 'admin' } as const;
    expect(decide(given(signedIn), change)).toEqual({ refusal: 'role_of_provider' });
  });

  it('signs in with a link only when invited, in the role of then', () => {
    const signIn = { kind: 'sign_in', staffId, signIn: { by: 'link' } } as const;
    const personal = { email: null, unverified_email: null, issuer: null, subject: null };
    expect(decide(given(invited), signIn)).toEqual([
      { type: 'StaffSignedIn', data: { staff_id, by: 'link', role: 'support', personal } },
    ]);
    for (const state of [initialStaff, given(signedIn)]) expect(decide(state, signIn)).toEqual(notFound);
  });

  it('is removed once, and then neither signs in nor does anything, whatever a provider says', () => {
    expect(decide(given(invited), { kind: 'remove', staffId })).toEqual([removed]);
    expect(decide(given(invited, removed), { kind: 'remove', staffId })).toEqual([]);
    expect(decide(initialStaff, { kind: 'remove', staffId })).toEqual(notFound);
    expect(memberOf(given(invited, removed))).toEqual(gone);
    for (const signIn of [provider, { by: 'link' } as const])
      expect(decide(given(signedIn, removed), { kind: 'sign_in', staffId, signIn })).toEqual(gone);
  });

  it('may do what the roles below may', () => {
    const allowed = staffRoles.map((role) => staffRoles.map((least) => hasRole(role, least)));
    expect(allowed).toEqual([
      [true, false, false],
      [true, true, false],
      [true, true, true],
    ]);
  });
});

describe('a token of staff', () => {
  const issue = (number = 1, changed: Partial<IssueStaffToken> = {}): IssueStaffToken => ({
    kind: 'issue_token',
    staffId,
    tokenId: `stk_${String(number).padStart(20, 'a')}`,
    tokenHash: 'f'.repeat(64),
    tokenPrefix: 'rts_abcdefgh',
    label: 'nightly',
    scopes: ['money'],
    lifetimeDays: 90,
    ...changed,
  });
  const issued = (number = 1): StaffEvent => (decide(given(invited), issue(number)) as StaffEvent[])[0]!;

  it('holds for so many days, at most a year, and once under its id', () => {
    expect(issued()).toMatchObject({ data: { expires_at: '2027-02-12T12:00:00.000Z', scopes: ['money'] } });
    expect(decide(given(invited), issue(1, { lifetimeDays: 1_000 }))).toMatchObject([
      { data: { expires_at: '2027-11-14T12:00:00.000Z' } },
    ]);
    expect(decide(given(invited, issued()), issue())).toEqual([]);
    expect(decide(initialStaff, issue())).toEqual(notFound);
    expect(decide(given(invited, removed), issue())).toEqual(gone);
    const [held] = given(invited, issued()).tokens.values();
    expect(isTokenHeld(held!, '2027-02-12T11:59:59.999Z')).toBe(true);
    expect(isTokenHeld(held!, '2027-02-12T12:00:00.000Z')).toBe(false);
  });

  it('is revoked once, also after its member has gone', () => {
    const tokenId = issue().tokenId;
    const revoked: StaffEvent = { type: 'StaffTokenRevoked', data: { staff_id, token_id: tokenId } };
    expect(decide(given(invited, issued()), { kind: 'revoke_token', staffId, tokenId })).toEqual([revoked]);
    expect(decide(given(invited, issued(), removed), { kind: 'revoke_token', staffId, tokenId })).toEqual([revoked]);
    const after = given(invited, issued(), revoked);
    expect(decide(after, { kind: 'revoke_token', staffId, tokenId })).toEqual([]);
    expect([...after.tokens.values()].map((held) => isTokenHeld(held, now))).toEqual([false]);
    expect(decide(given(invited), { kind: 'revoke_token', staffId, tokenId })).toEqual({ refusal: 'key_not_found' });
  });

  it('is one of at most twenty that hold', () => {
    const all = Array.from({ length: maxStaffTokens }, (_, index) => issued(index + 1));
    expect(decide(given(invited, ...all), issue(99))).toEqual({ refusal: 'too_many_keys' });
    const revoked: StaffEvent = { type: 'StaffTokenRevoked', data: { staff_id, token_id: issue(1).tokenId } };
    expect(decide(given(invited, ...all, revoked), issue(99))).toHaveLength(1);
    expect(decide(given(invited, ...all), issue(99), '2027-02-12T12:00:00.000Z')).toHaveLength(1);
  });
});

describe('a look at personal data', () => {
  const look = (changed: object = {}): StaffCommand => ({
    kind: 'record_access',
    staffId,
    accessRecords: [{ account_id: accountId, token: null, page: 'account', ...changed }],
  });
  const looked = (decide(given(invited), look()) as StaffEvent[])[0]!;

  it('is recorded once within 15 minutes', () => {
    expect(looked).toEqual({
      type: 'PersonalDataViewed',
      data: { staff_id, account_id: accountId, token: null, page: 'account' },
    });
    expect(decide(given(invited, looked), look(), '2026-11-14T12:14:59.999Z')).toEqual([]);
    expect(decide(given(invited, looked), look(), '2026-11-14T12:15:00.000Z')).toEqual([looked]);
    for (const other of [
      { page: 'download' },
      { token: token(1) },
      { account_id: 'acc_bbbbbbbbbbbbbbbb' },
      { by_token: 'stk_aaaaaaaaaaaaaaaa' },
    ])
      expect(decide(given(invited, looked), look(other))).toHaveLength(1);
  });

  it('at several accounts is an event for each that is new, once', () => {
    const own = { account_id: accountId, token: null, page: 'search' } as const;
    const accessRecords = [own, { ...own, account_id: 'acc_bbbbbbbbbbbbbbbb' }, own];
    const all = decide(given(invited), { kind: 'record_access', staffId, accessRecords }) as StaffEvent[];
    expect(all.map(({ data }) => (data as { account_id: string }).account_id)).toEqual([
      accountId,
      'acc_bbbbbbbbbbbbbbbb',
    ]);
    expect(decide(given(invited, all[0]!), { kind: 'record_access', staffId, accessRecords })).toEqual([all[1]]);
  });

  it('is refused to somebody who is not staff, or no more', () => {
    expect(decide(initialStaff, look())).toEqual(notFound);
    expect(decide(given(invited, looked, removed), look())).toEqual(gone);
  });
});
