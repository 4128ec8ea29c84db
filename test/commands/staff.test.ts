import { describe, expect, it } from 'vitest';
import { hasApiKeyForm, hashApiKey } from '../../src/commands/ids/api-key.ts';
import { staffIdOf } from '../../src/commands/ids/reference-ids.ts';
import {
  actingStaff,
  changeStaffRole,
  inviteStaff,
  issueStaffToken,
  readStaff,
  recordAccess,
  recordSignIn,
  removeStaff,
  revokeStaffToken,
} from '../../src/commands/staff.ts';
import { newId } from '../../src/system/clock-and-chance.ts';
import { accepted } from '../support/accepted.ts';
import { logUnderTest } from './log-under-test.ts';
import { appendingBy, noteReads } from './noted-reads.ts';
import { hire, operator, staffDependencies, timeoutMs } from './staff-under-test.ts';
import { expectUnbrokenChain } from './unbroken-chain.ts';
import { upFrom } from './usage-account.ts';

const log = logUnderTest();
const parts = () => staffDependencies(log.store);
const reason = 'as agreed';

async function eventsOf(staffId: string) {
  const recorded = await log.store.read(`staff-${staffId}`, 0);
  expectUnbrokenChain(recorded);
  return recorded;
}

describe('members of staff', () => {
  it('are invited by the operator, who is marked as such, and by admins, whose role the log says', async () => {
    const ada = await hire(log.store, 'admin');
    const [first] = await eventsOf(ada);
    expect(first).toMatchObject({ type: 'StaffInvited', data: { role: 'admin' }, metadata: { actor: operator } });
    const invited = accepted(
      await inviteStaff(parts(), {
        email: 'fay@example.com',
        role: 'finance',
        by: { staffId: ada, reason },
        timeoutMs,
        correlationId: 'request-1',
      }),
    );
    expect(invited.member).toMatchObject({ role: 'finance', email: 'fay@example.com' });
    expect((await eventsOf(invited.staffId))[0]?.metadata).toMatchObject({
      $correlationId: 'request-1',
      actor: { type: 'staff', id: ada, role: 'admin', reason },
    });
  });

  it('below admin, removed or unknown give no orders', async () => {
    const [ada, fay] = [await hire(log.store, 'admin'), await hire(log.store, 'finance')];
    const promote = (by: string) =>
      changeStaffRole(parts(), { staffId: fay, role: 'admin', by: { staffId: by, reason }, timeoutMs });
    expect(await promote(fay)).toEqual({ refusal: 'role_too_low' });
    expect(await promote(newId('stf'))).toEqual({ refusal: 'staff_not_found' });
    accepted(await removeStaff(parts(), { staffId: ada, by: { operator }, timeoutMs }));
    expect(await promote(ada)).toEqual({ refusal: 'staff_removed' });
    expect(await eventsOf(fay)).toHaveLength(1);
  });

  it('act in the role that they have now, in whichever process it was changed', async () => {
    const fay = await hire(log.store, 'finance');
    const elsewhere = parts();
    const acting = () => actingStaff(elsewhere, { staffId: fay, reason }, 'finance');
    expect(await acting()).toEqual({ type: 'staff', id: fay, role: 'finance', reason });
    accepted(await changeStaffRole(parts(), { staffId: fay, role: 'support', by: { operator }, timeoutMs }));
    expect(await acting()).toEqual({ refusal: 'role_too_low' });
    accepted(await removeStaff(parts(), { staffId: fay, by: { operator }, timeoutMs }));
    expect(await acting()).toEqual({ refusal: 'staff_removed' });
  });

  it('sign in with a link in their own name and role', async () => {
    const sue = await hire(log.store, 'support');
    const member = accepted(await recordSignIn(parts(), { staffId: sue, signIn: { by: 'link' }, timeoutMs }));
    expect(member.role).toBe('support');
    expect((await eventsOf(sue)).at(-1)).toMatchObject({
      type: 'StaffSignedIn',
      metadata: { actor: { type: 'staff', id: sue, role: 'support', reason: 'signs in' } },
    });
    const unknown = { staffId: newId('stf'), signIn: { by: 'link' }, timeoutMs } as const;
    expect(await recordSignIn(parts(), unknown)).toEqual({ refusal: 'staff_not_found' });
  });

  it('of a provider are known from their first sign-in on, and refused once removed', async () => {
    const person = { unverified_email: null, issuer: 'https://id.example.com', subject: newId('stf') };
    const staffId = staffIdOf(person);
    expect(staffId).toBe(staffIdOf({ ...person }));
    expect(staffId).not.toBe(staffIdOf({ ...person, subject: 'another' }));
    const signIn = (role: 'support' | 'admin') =>
      recordSignIn(parts(), { staffId, signIn: { by: 'provider', role, email: null, ...person }, timeoutMs });
    expect(accepted(await signIn('support')).role).toBe('support');
    expect(accepted(await signIn('admin')).role).toBe('admin');
    expect((await eventsOf(staffId)).at(-1)?.metadata).toMatchObject({ actor: { role: 'admin' } });
    accepted(await removeStaff(parts(), { staffId, by: { operator }, timeoutMs }));
    expect(await signIn('admin')).toEqual({ refusal: 'staff_removed' });
  });
});

it('a token for programs is shown once, and stored as a hash', async () => {
  const sue = await hire(log.store, 'support');
  const order = { staffId: sue, label: 'nightly', scopes: ['money'], by: { operator }, timeoutMs } as const;
  const issued = accepted(await issueStaffToken(parts(), order));
  expect(hasApiKeyForm(issued.token, 'rts')).toBe(true);
  expect(hasApiKeyForm(issued.token)).toBe(false);
  expect(issued).toMatchObject({ tokenHash: hashApiKey(issued.token), expiresAt: '2027-02-12T12:00:00.000Z' });
  expect(
    JSON.stringify(await eventsOf(sue), (_, value: unknown) => (typeof value === 'bigint' ? 0 : value)),
  ).not.toContain(issued.token);
  const revocation = { staffId: sue, tokenId: issued.tokenId, by: { operator }, timeoutMs };
  expect(accepted(await revokeStaffToken(parts(), revocation)).revoked).toBe(true);
  expect((await readStaff(parts(), sue)).tokens.get(issued.tokenId)?.revoked).toBe(true);
});

describe('a look at personal data', () => {
  const account = { accountId: 'acc_aaaaaaaaaaaaaaaa', token: null, page: 'account' } as const;

  it('is recorded once in a while, by whichever process, and not in the stream of the account', async () => {
    const sue = await hire(log.store, 'support');
    const looks = upFrom(0, 6).map(() => recordAccess(parts(), { staffId: sue, accessRecords: [account], timeoutMs }));
    expect(await Promise.all(looks)).toEqual(looks.map(() => undefined));
    const [, ...viewed] = await eventsOf(sue);
    expect(viewed).toMatchObject([
      {
        type: 'PersonalDataViewed',
        data: { staff_id: sue, account_id: account.accountId, token: null, page: 'account' },
      },
    ]);
    expect(await log.store.read(`account-${account.accountId}`, 0)).toEqual([]);
  });

  it('reads nothing of a stream that the process knows, however long it is', async () => {
    const sue = await hire(log.store, 'support');
    const { store, reads } = noteReads(log.store);
    const process = staffDependencies(store);
    const tokens = upFrom(1, 20).map((number) => `TokenOfLook-${String(number).padStart(10, '0')}`);
    for (const token of tokens)
      await recordAccess(process, {
        staffId: sue,
        accessRecords: [{ ...account, token, page: 'download' }],
        timeoutMs,
      });
    expect(reads(`staff-${sue}`)).toEqual([0]);
    expect(await eventsOf(sue)).toHaveLength(21);
  });

  it('at many accounts is one append, and a program looks by its token', async () => {
    const sue = await hire(log.store, 'support');
    let appends = 0;
    const store = appendingBy(log.store, (...asked) => {
      appends += 1;
      return log.store.append(...asked);
    });
    const accessRecords = upFrom(1, 200).map((number) => ({
      ...account,
      accountId: `acc_${String(number).padStart(16, '0')}`,
    }));
    const process = staffDependencies(store);
    for (const tokenId of [undefined, undefined, 'stk_aaaaaaaaaaaaaaaa'])
      expect(await recordAccess(process, { staffId: sue, tokenId, accessRecords, timeoutMs })).toBeUndefined();
    expect(appends).toBe(2);
    const viewed = (await eventsOf(sue)).slice(1);
    expect(viewed.map(({ data }) => (data as { by_token?: string }).by_token)).toEqual([
      ...[...Array<undefined>(200), ...Array<string>(200).fill('stk_aaaaaaaaaaaaaaaa')],
    ]);
  });

  it('of somebody who was removed elsewhere is refused, so that nothing is shown', async () => {
    const sue = await hire(log.store, 'support');
    const process = parts();
    const look = (page: 'account' | 'downloads') =>
      recordAccess(process, { staffId: sue, accessRecords: [{ ...account, page }], timeoutMs });
    expect(await look('account')).toBeUndefined();
    accepted(await removeStaff(parts(), { staffId: sue, by: { operator }, timeoutMs }));
    expect(await look('downloads')).toEqual({ refusal: 'staff_removed' });
    // Also one that needs no event.
    expect(await look('account')).toEqual({ refusal: 'staff_removed' });
    expect(await recordAccess(parts(), { staffId: newId('stf'), accessRecords: [account], timeoutMs })).toEqual({
      refusal: 'staff_not_found',
    });
  });
});
