import { apiKeys, waitForKey } from '../../../projections/api-keys.ts';
import type { Projection } from '../../../projections/runner/projection.ts';
import { catchUp, measureLag } from '../../../projections/runner/wait-for-checkpoint.ts';
import { listStaffOfAddress, staff as staffModel } from '../../../projections/staff.ts';
import { createSignInLinks } from '../../adapters/postgres/sign-in-links.ts';
import { createStaffLinks } from '../../adapters/postgres/staff-links.ts';
import type { Started } from '../../cli/start-screen.ts';
import {
  type AccountDependencies,
  type AccountRequest,
  issueApiKey,
  openAccount,
  openFirstPeriod,
  readAccount,
  revokeApiKey,
} from '../../commands/accounts.ts';
import { inviteStaff, newStaffCache, type StaffDependencies } from '../../commands/staff.ts';
import { mailbox } from '../../domain/people.ts';
import { largestMaxKeys, type PlanTerms } from '../../domain/plans.ts';
import { isRefused } from '../../domain/refusals.ts';
import { newId, newUuid, randomBits } from '../../system/clock-and-chance.ts';
import type { Connections } from '../connect.ts';
import { ConfigurationRefused } from '../settings/configuration-refused.ts';

const demoEmail = 'demo@example.com';
const demoPlan = 'enterprise';
/** Of the keys that a start shows. */
export const demoKeyLabel = 'demo';
const timeoutMs = 10_000;
/** A read model that moves no step in this time is not being built. */
const standstillMs = 60_000;
const keptDemoKeys = 5;

/**
 * Finds or opens the demo account, and issues a key for the person who tries the service; it is shown once, and never stored.
 *
 * @param told the account that the story has opened (`tell-story.ts`)
 */
export async function prepareDemo(
  connections: Connections,
  told: string | undefined,
): Promise<NonNullable<Started['demo']>> {
  const { store, pool, clock, config } = connections;
  const accounts: AccountDependencies = { store, now: clock.now, newUuid, newId, randomBits };
  const request: AccountRequest = { correlationId: newUuid(), actor: { type: 'system', id: 'demo' }, timeoutMs };
  const terms = config.plans.get(demoPlan) ?? [...config.plans.values()].at(-1);
  if (!terms) throw new ConfigurationRefused('PLANS_FILE: has no plan');
  // The account and the admin of an earlier start are found once the read models have them.
  await Promise.all([apiKeys, staffModel].map((model) => readModelBuilt(connections, model)));
  const accountId = (await findDemoAccount(connections)) ?? told ?? (await openDemoAccount(accounts, terms, request));
  await openFirstPeriod(accounts, accountId, request);
  await revokeOldKeys(accounts, accountId, request);
  const issued = await issueApiKey(accounts, { accountId, label: demoKeyLabel, maxKeys: largestMaxKeys, ...request });
  if (isRefused(issued)) throw new Error(`no demo key could be issued: ${issued.refusal}`);
  if (!(await waitForKey(pool, issued.keyId, { revoked: false, timeoutMs }))) {
    throw new Error('the demo key did not come into force in time');
  }
  return {
    accountId,
    key: issued.key,
    keyId: issued.keyId,
    signInPath: await signInPath(connections),
    staffSignInPath: await staffSignInPath(connections),
  };
}

/** A restored data folder has a long log and no read models: this takes as long as it takes, but never stands still. */
async function readModelBuilt({ store, pool }: Connections, model: Projection): Promise<void> {
  let before: bigint | undefined;
  while (!(await catchUp({ store, pool }, model, standstillMs))) {
    const { position = -1n } = await measureLag({ store, pool }, model);
    if (position === before) throw new Error(`the read model ${model.name} does not follow the log`);
    before = position;
  }
}

/** A link that signs in to the demo's account, once. Null where there were many starts within a quarter of an hour. */
async function signInPath({ pool, macs }: Connections): Promise<string | null> {
  const links = createSignInLinks(pool, { macs, randomBits });
  const emailHashes = macs.signUnderEach('people', mailbox(demoEmail));
  const secret = await links.create({ emailHashes, browser: undefined });
  return secret === undefined ? null : `/console/sign-in/${secret}`;
}

const demoAdmin = 'admin@example.com';

/** A link that signs in to the staff console as the demo's admin, once. Null where there were many starts within a quarter of an hour. */
async function staffSignInPath({ pool, macs, store, clock }: Connections): Promise<string | null> {
  const [known] = await listStaffOfAddress(pool, { email: demoAdmin, macs, limit: 1 });
  const staffId = known?.staffId ?? (await inviteAdmin({ store, now: clock.now }));
  const secret = await createStaffLinks(pool, { macs, randomBits }).create({ staffId, browser: undefined });
  return secret === undefined ? null : `/staff/sign-in/${secret}`;
}

async function inviteAdmin(given: Pick<StaffDependencies, 'store' | 'now'>): Promise<string> {
  const operator = { type: 'staff', id: 'demo', role: 'operator', reason: 'prepares the demo' } as const;
  const invited = await inviteStaff(
    { ...given, newUuid, newId, randomBits, staffCache: newStaffCache() },
    { email: demoAdmin, role: 'admin', by: { operator }, timeoutMs },
  );
  if (isRefused(invited)) throw new Error(`the demo's admin could not be invited: ${invited.refusal}`);
  return invited.staffId;
}

/** Each start issues a key, which may be lost with its screen; the last few stay valid. */
async function revokeOldKeys(accounts: AccountDependencies, accountId: string, request: AccountRequest): Promise<void> {
  const { keys } = await readAccount(accounts.store, accountId);
  const earlier = [...keys.values()].filter(({ label, revoked }) => label === demoKeyLabel && !revoked);
  for (const { keyId } of earlier.slice(0, -keptDemoKeys))
    await revokeApiKey(accounts, { accountId, keyId, ...request });
}

/** The first account with a key that a demo start has issued. */
async function findDemoAccount({ pool, store }: Connections): Promise<string | undefined> {
  const { rows } = await pool.query<{ account_id: string }>(
    'select account_id from api_keys where label = $1 order by created_at limit 10',
    [demoKeyLabel],
  );
  for (const { account_id: accountId } of rows) {
    const { opened } = await readAccount(store, accountId);
    if (opened?.personal.email === demoEmail) return accountId;
  }
  return undefined;
}

async function openDemoAccount(
  accounts: AccountDependencies,
  terms: PlanTerms,
  request: AccountRequest,
): Promise<string> {
  const opened = await openAccount(accounts, { email: demoEmail, terms, ...request });
  if (isRefused(opened)) throw new Error(`the demo account could not be opened: ${opened.refusal}`);
  return opened.accountId;
}
