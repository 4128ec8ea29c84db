import type { Pool } from 'pg';
import { apiKeys } from '../../projections/api-keys.ts';
import type { Projection } from '../../projections/runner/projection.ts';
import { catchUp, measureLag } from '../../projections/runner/wait-for-checkpoint.ts';
import { listStaffOfAddress, staff as staffModel } from '../../projections/staff.ts';
import {
  type AccountDependencies,
  type AccountRequest,
  issueApiKey,
  openAccount,
  openFirstPeriod,
  readAccount,
  revokeApiKey,
} from '../commands/accounts.ts';
import { inviteStaff, newStaffCache, type StaffDependencies } from '../commands/staff.ts';
import { mailbox } from '../domain/people.ts';
import { largestMaxKeys, type PlanCatalogue } from '../domain/plans.ts';
import { isRefused } from '../domain/refusals.ts';
import type { SignInLinks } from '../ports/console-sessions.ts';
import type { EventStore, WholeLog } from '../ports/event-store.ts';
import type { RowMacs } from '../ports/row-macs.ts';
import type { StaffLinks } from '../ports/staff-sessions.ts';

/** The service that a demo shows, and its clock and chance. */
export interface DemoDependencies extends AccountDependencies, Omit<StaffDependencies, 'newId' | 'staffCache'> {
  store: EventStore & WholeLog;
  newId: AccountDependencies['newId'] & StaffDependencies['newId'];
  pool: Pool;
  macs: RowMacs;
  plans: PlanCatalogue;
  signInLinks: Pick<SignInLinks, 'create'>;
  staffLinks: Pick<StaffLinks, 'create'>;
}

const demoEmail = 'demo@example.com';
const demoAdmin = 'admin@example.com';
const demoPlan = 'enterprise';
/** Of the keys that a start shows. */
export const demoKeyLabel = 'demo';
const timeoutMs = 10_000;
/** A read model that moves no step in this time is not being built. */
const standstillMs = 60_000;
const validDemoKeys = 5;

/**
 * Finds or opens the demo account, and issues a key for the person who tries the service; it is shown once, and never stored.
 *
 * @param ofStory the account that the story has opened (`tell-story.ts`)
 */
export async function prepareDemo(demo: DemoDependencies, ofStory: string | undefined) {
  const request: AccountRequest = { correlationId: demo.newUuid(), actor: { type: 'system', id: 'demo' }, timeoutMs };
  // The account and the admin of an earlier start are found once the read models have them.
  await Promise.all([apiKeys, staffModel].map((model) => readModelBuilt(demo, model)));
  const accountId = (await findDemoAccount(demo)) ?? ofStory ?? (await openDemoAccount(demo, request));
  await openFirstPeriod(demo, accountId, request);
  await revokeOldKeys(demo, accountId, request);
  const issued = await issueApiKey(demo, { accountId, label: demoKeyLabel, maxKeys: largestMaxKeys, ...request });
  if (isRefused(issued)) throw new Error(`no demo key could be issued: ${issued.refusal}`);
  // Shown once it is in force.
  await readModelBuilt(demo, apiKeys);
  return {
    accountId,
    key: issued.key,
    keyId: issued.keyId,
    /** Paths of links that sign in once. Null where there were many starts within a quarter of an hour. */
    signInPath: await signInPath(demo),
    staffSignInPath: await staffSignInPath(demo),
  };
}

/** With a long log and no read models, or on a slow machine, this takes as long as it takes, but never stands still. */
async function readModelBuilt({ store, pool }: DemoDependencies, model: Projection): Promise<void> {
  let before: bigint | undefined;
  while (!(await catchUp({ store, pool }, model, standstillMs))) {
    const { position = -1n } = await measureLag({ store, pool }, model);
    if (position === before) throw new Error(`the read model ${model.name} does not follow the log`);
    before = position;
  }
}

/** To the console of the demo's account. */
async function signInPath({ macs, signInLinks }: DemoDependencies): Promise<string | null> {
  const emailHashes = macs.signUnderEach('people', mailbox(demoEmail));
  const secret = await signInLinks.create({ emailHashes, browser: undefined });
  return secret === undefined ? null : `/console/sign-in/${secret}`;
}

/** To the staff console, as the demo's admin. */
async function staffSignInPath(demo: DemoDependencies): Promise<string | null> {
  const [earlier] = await listStaffOfAddress(demo.pool, { email: demoAdmin, macs: demo.macs, limit: 1 });
  const staffId = earlier?.staff_id ?? (await inviteAdmin(demo));
  const secret = await demo.staffLinks.create({ staffId, browser: undefined });
  return secret === undefined ? null : `/staff/sign-in/${secret}`;
}

async function inviteAdmin(demo: DemoDependencies): Promise<string> {
  const operator = { type: 'staff', id: 'demo', role: 'operator', reason: 'prepares the demo' } as const;
  const invited = await inviteStaff(
    { ...demo, staffCache: newStaffCache() },
    { email: demoAdmin, role: 'admin', by: { operator }, timeoutMs },
  );
  if (isRefused(invited)) throw new Error(`the demo's admin could not be invited: ${invited.refusal}`);
  return invited.staffId;
}

/** Each start issues a key, which may be lost with its screen; the last few stay valid. */
async function revokeOldKeys(demo: DemoDependencies, accountId: string, request: AccountRequest): Promise<void> {
  const { keys } = await readAccount(demo.store, accountId);
  const earlier = [...keys.values()].filter(({ label, revoked }) => label === demoKeyLabel && !revoked);
  for (const { keyId } of earlier.slice(0, -validDemoKeys)) await revokeApiKey(demo, { accountId, keyId, ...request });
}

/** The first account with a key that a demo start has issued. */
async function findDemoAccount({ pool, store }: DemoDependencies): Promise<string | undefined> {
  const { rows } = await pool.query<{ account_id: string }>(
    'select account_id from api_keys group by account_id order by min(created_at) limit 10',
  );
  for (const { account_id: accountId } of rows) {
    const { opened } = await readAccount(store, accountId);
    if (opened?.personal?.email === demoEmail) return accountId;
  }
  return undefined;
}

async function openDemoAccount(demo: DemoDependencies, request: AccountRequest): Promise<string> {
  const terms = demo.plans.get(demoPlan) ?? [...demo.plans.values()].at(-1);
  if (!terms) throw new Error('there is no plan');
  const opened = await openAccount(demo, { email: demoEmail, terms, ...request });
  if (isRefused(opened)) throw new Error(`the demo account could not be opened: ${opened.refusal}`);
  return opened.accountId;
}
