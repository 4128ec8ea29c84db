import { beforeAll, expect, it } from 'vitest';
import type { Facts } from '../../src/audit/rules/divergence.ts';
import { Replay, type ReplayObserver } from '../../src/audit/rules/replay.ts';
import { correctionRequests } from '../../src/commands/correct.ts';
import { ownCause } from '../../src/commands/handler/event-metadata.ts';
import { type Aggregate, handle } from '../../src/commands/handler/handle-command.ts';
import { inviteStaff } from '../../src/commands/staff.ts';
import type { CorrectionEvent } from '../../src/domain/correction-events.ts';
import type { CorrectionRequests, StaffActor } from '../../src/domain/correction-requests.ts';
import { type Actor, type DomainEvent, parseStaffEvent } from '../../src/domain/parse-event.ts';
import { evolveStaff, initialStaff } from '../../src/domain/staff.ts';
import type { StaffEvent, StaffRole } from '../../src/domain/staff-events.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { chargedAccount, desk, hireTeam, type Team, waiveAll } from '../commands/corrections-under-test.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { hire, staffDependencies, timeoutMs } from '../commands/staff-under-test.ts';
import { midNovember } from '../commands/usage-account.ts';
import { accepted } from '../support/accepted.ts';

const log = logUnderTest();
let team: Team;
beforeAll(async () => {
  team = await hireTeam(log.store);
});

const daysLater = (days: number) => new Date(Date.parse(midNovember) + days * 86_400_000).toISOString();

async function invite(by: string, role: StaffRole): Promise<string> {
  const order = { email: `${newUuid()}@example.com`, role, by: { staffId: by, reason: 'joins' }, timeoutMs };
  return accepted(await inviteStaff(staffDependencies(log.store), order)).staffId;
}

/** @returns the account, after one has asked and the other approved */
async function approved({ asker, approver, days = 0 }: { asker: string; approver: string; days?: number }) {
  const account = await chargedAccount(log.store, 5);
  const at = desk(
    log.store,
    account,
    staffDependencies(log.store, () => daysLater(days)),
  );
  const { correctionId } = accepted(await at.ask(asker, { correction: waiveAll(account, [1, 2, 3, 4, 5]) }));
  expect(accepted(await at.approve(approver, correctionId)).status).toBe('permitted');
  return { accountId: account.accountId, correctionId };
}

/** What the audit says about the approvals of an account. */
async function audit({ accountId }: { accountId: string }) {
  const divergences: Facts[] = [];
  const replay = new Replay(
    (stream, from, maxCount) => log.store.read(stream, from, maxCount),
    (facts) => divergences.push(facts),
    // No event of corrections or staff is told to it.
    () => ({}) as ReplayObserver,
  );
  for (const event of await log.store.read(`corrections-${accountId}`, 0)) await replay.apply(event);
  const ofApprovals = divergences.filter(({ rule }) => rule === 'correction_approval' || rule === 'staff_role');
  return { notices: replay.notices, divergences: ofApprovals };
}

it('lists for finance what was asked by somebody whom the approver had invited, and the other way round', async () => {
  const asker = await invite(team.ada, 'support');
  const found = await approved({ asker, approver: team.ada });
  const about = { account_id: found.accountId, correction_id: found.correctionId, approved_at: midNovember };
  const place = { stream: `corrections-${found.accountId}`, revision: 1 };
  expect(await audit(found)).toEqual({
    notices: [{ notice: 'invited', ...about, ...place, asked_by: asker, approved_by: team.ada }],
    divergences: [],
  });
  const approver = await invite(team.ada, 'finance');
  const other = await audit(await approved({ asker: team.ada, approver }));
  expect(other).toMatchObject({ notices: [{ notice: 'invited', approved_by: approver }], divergences: [] });
});

it('lists it if the inviter approves under another id', async () => {
  const email = `${newUuid()}@example.com`;
  const [first, second] = [await hire(log.store, 'admin', email), await hire(log.store, 'finance', email)];
  const asker = await invite(first, 'support');
  expect(await audit(await approved({ asker, approver: second }))).toMatchObject({ notices: [{ notice: 'invited' }] });
});

it('lists nothing of others, of those whom an operator invited, or of an invitation of more than seven days ago', async () => {
  const asker = await invite(team.ada, 'support');
  const nothing = { notices: [], divergences: [] };
  expect(await audit(await approved({ asker, approver: team.flo }))).toEqual(nothing);
  expect(await audit(await approved({ asker: team.sue, approver: team.ada }))).toEqual(nothing);
  expect((await audit(await approved({ asker, approver: team.ada, days: 7 }))).notices).toHaveLength(1);
  expect(await audit(await approved({ asker, approver: team.ada, days: 7.01 }))).toEqual(nothing);
});

/** Somebody of a provider that names no address. @param unverified_email undefined: recorded by an earlier version */
async function withoutAddress(unverified_email?: null): Promise<StaffActor> {
  const actor = { type: 'staff', id: newId('stf'), role: 'finance', reason: 'signs in' } as const;
  const personal = { email: null, issuer: 'https://login.example', subject: actor.id };
  const signedIn: StaffEvent = {
    type: 'StaffSignedIn',
    data: {
      staff_id: actor.id,
      by: 'provider',
      role: 'finance',
      personal: { ...personal, ...(unverified_email === null && { unverified_email }) },
    },
  };
  const stream = { stream: `staff-${actor.id}`, initial: () => initialStaff, parse: parseStaffEvent };
  await append({ ...stream, evolve: evolveStaff }, signedIn, actor);
  return actor;
}

/** Stores what no command of today would. */
const append = <State, Event extends DomainEvent>(aggregate: Aggregate<State, Event>, event: Event, actor: Actor) =>
  handle(log.store, aggregate, {
    decide: () => [event],
    cause: ownCause(newUuid(), actor),
    now: () => midNovember,
    timeoutMs,
  });

it.each([
  ['lists, of an earlier version,', undefined, { notices: [{ notice: 'not_told_apart' }], divergences: [] }],
  ['names a divergence, of this version,', null, { notices: [], divergences: [{ rule: 'correction_approval' }] }],
] as const)('%s an approval by somebody without an address', async (_, unverified, expected) => {
  const approver = await withoutAddress(unverified);
  const account = await chargedAccount(log.store, 5);
  const asked = accepted(await desk(log.store, account).ask(team.sue, { correction: waiveAll(account, [1]) }));
  const event = { type: 'CorrectionApproved', data: { correction_id: asked.correctionId } } as const;
  await append<CorrectionRequests, CorrectionEvent>(correctionRequests(account.accountId), event, approver);
  expect(await audit(account)).toMatchObject(expected);
});
