import { LRUCache } from 'lru-cache';
import type { StaffActor } from '../domain/correction-requests.ts';
import { type Actor, parseStaffEvent } from '../domain/parse-event.ts';
import { isRefused, refuse, type Refused } from '../domain/refusals.ts';
import {
  decideStaff,
  defaultTokenDays,
  evolveStaff,
  initialStaff,
  type Member,
  memberOf,
  type SignIn,
  type Staff,
  type StaffCommand,
  type StaffToken,
} from '../domain/staff.ts';
import { type StaffEvent, type StaffRole, type StaffScope, staffStream } from '../domain/staff-events.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { ownCause } from './handler/event-metadata.ts';
import { type Aggregate, handle, load, type Loaded } from './handler/handle-command.ts';
import { newApiKey } from './ids/api-key.ts';
import { tokenIdOf } from './ids/reference-ids.ts';

/**
 * The states of staff that this process has read. A stream grows with every access to personal data: each command reads only what
 * is new in it, and to record an access usually reads nothing.
 */
export type StaffCache = LRUCache<string, Loaded<Staff>>;

const maxCached = 1_000;

export const newStaffCache = (): StaffCache => new LRUCache({ max: maxCached });

export interface StaffDependencies extends CommandDependencies {
  newId: (prefix: 'stf' | 'stk') => string;
  randomBits: (bytes: number) => Buffer;
  /** One for the process. */
  staffCache: StaffCache;
}

/** Who gives an order: a member of staff, whose role the log says; or the operator at the command line, who is not signed in. */
type OrderedBy = { staffId: string; reason: string } | { operator: Extract<Actor, { type: 'staff' }> };

export interface StaffOrder {
  by: OrderedBy;
  /** Of the request; default: this command. */
  correlationId?: string;
  timeoutMs: number;
}

/**
 * A member of staff who acts, with the role that the log says now.
 *
 * @returns `staff_not_found`, `staff_removed` or `role_too_low` if this person may not
 * @throws {EventStoreUnavailable}
 */
export async function actingStaff(
  dependencies: Pick<StaffDependencies, 'store' | 'staffCache'>,
  { staffId, reason }: { staffId: string; reason: string },
  least: StaffRole = 'support',
): Promise<StaffActor | Refused> {
  const member = memberOf(await readStaff(dependencies, staffId), least);
  return isRefused(member) ? member : { type: 'staff', id: staffId, role: member.role, reason };
}

/** A member of staff as the log says now. @throws {EventStoreUnavailable} */
export async function readStaff(
  { store, staffCache }: Pick<StaffDependencies, 'store' | 'staffCache'>,
  staffId: string,
): Promise<Staff> {
  const loaded = await load(store, staffAggregate(staffCache, staffId));
  remember(staffCache, staffId, loaded);
  return loaded.state;
}

/**
 * Makes somebody a member, for whom a link to sign in can then be made.
 *
 * @param order staffId: from what it follows where the order may come twice (`reference-ids.ts`); default: a new one
 */
export async function inviteStaff(
  dependencies: StaffDependencies,
  {
    email,
    role,
    staffId = dependencies.newId('stf'),
    ...order
  }: StaffOrder & { email: string; role: StaffRole; staffId?: string | undefined },
): Promise<{ staffId: string; member: Member } | Refused> {
  const invited = await orderOfAdmin(dependencies, { kind: 'invite', staffId, email, role }, order);
  return isRefused(invited) ? invited : { staffId, member: knownMember(invited) };
}

/** Only of those who were invited: a provider says the role of its own people. */
export async function changeStaffRole(
  dependencies: StaffDependencies,
  { staffId, role, ...order }: StaffOrder & { staffId: string; role: StaffRole },
): Promise<Member | Refused> {
  const changed = await orderOfAdmin(dependencies, { kind: 'change_role', staffId, role }, order);
  return isRefused(changed) ? changed : knownMember(changed);
}

/** From here on this person neither signs in nor acts, and no token of theirs is accepted. */
export async function removeStaff(
  dependencies: StaffDependencies,
  { staffId, ...order }: StaffOrder & { staffId: string },
): Promise<Member | Refused> {
  const removed = await orderOfAdmin(dependencies, { kind: 'remove', staffId }, order);
  return isRefused(removed) ? removed : knownMember(removed);
}

export interface TokenOrder extends StaffOrder {
  staffId: string;
  label: string;
  scopes: readonly StaffScope[];
  /** Default: 90; at most 365. */
  lifetimeDays?: number;
}

/**
 * A token for programs. It is shown once and stored nowhere.
 *
 * @throws {OutcomeUnknown} when the event may be stored, of a token that nobody will ever see
 */
export async function issueStaffToken(
  dependencies: StaffDependencies,
  order: TokenOrder,
): Promise<(StaffToken & { token: string }) | Refused> {
  const issued = await issueToken(dependencies, { ...order, tokenId: dependencies.newId('stk') });
  if (isRefused(issued)) return issued;
  if (issued.token === null) throw new Error(`token ${issued.tokenId} was new, and issued before`);
  return { ...issued, token: issued.token };
}

/** The token of a form, issued once however often it is sent. @returns token: null if it was issued before */
export const issueTokenOfForm = (
  dependencies: StaffDependencies,
  { formKey, ...order }: TokenOrder & { formKey: string },
): Promise<(StaffToken & { token: string | null }) | Refused> =>
  issueToken(dependencies, { ...order, tokenId: tokenIdOf(order.staffId, formKey) });

async function issueToken(
  dependencies: StaffDependencies,
  { staffId, tokenId, label, scopes, lifetimeDays = defaultTokenDays, ...order }: TokenOrder & { tokenId: string },
): Promise<(StaffToken & { token: string | null }) | Refused> {
  const { key, keyHash: tokenHash, keyPrefix: tokenPrefix } = newApiKey(dependencies.randomBits, 'rts');
  const issued = await orderOfAdmin(
    dependencies,
    { kind: 'issue_token', staffId, tokenId, tokenHash, tokenPrefix, label, scopes, lifetimeDays },
    order,
  );
  if (isRefused(issued)) return issued;
  const record = issued.tokens.get(tokenId);
  if (!record) throw new Error(`token ${tokenId} was issued and is not there`);
  return { ...record, token: record.tokenHash === tokenHash ? key : null };
}

export async function revokeStaffToken(
  dependencies: StaffDependencies,
  { staffId, tokenId, ...order }: StaffOrder & { staffId: string; tokenId: string },
): Promise<StaffToken | Refused> {
  const revoked = await orderOfAdmin(dependencies, { kind: 'revoke_token', staffId, tokenId }, order);
  return isRefused(revoked) ? revoked : (revoked.tokens.get(tokenId) ?? refuse('key_not_found'));
}

/**
 * Records that somebody has signed in, before the session begins.
 *
 * @returns the member with the role that holds from here on; a refusal for somebody who is not a member, or no more
 */
export async function recordSignIn(
  dependencies: StaffDependencies,
  { staffId, signIn, ...request }: { staffId: string; signIn: SignIn; correlationId?: string; timeoutMs: number },
): Promise<Member | Refused> {
  const { member } = await readStaff(dependencies, staffId);
  const role = signIn.by === 'provider' ? signIn.role : member?.role;
  if (!role) return refuse('staff_not_found');
  const actor = { type: 'staff', id: staffId, role, reason: 'signs in' } as const;
  const signedIn = await command(dependencies, { kind: 'sign_in', staffId, signIn }, { actor, ...request });
  return isRefused(signedIn) ? signedIn : knownMember(signedIn);
}

export interface AccessRecord {
  /** Null for the names in lists. */
  accountId: string | null;
  /** The download that is looked at; null for anything else of the account. */
  token: string | null;
  page: Extract<StaffEvent, { type: 'PersonalDataViewed' }>['data']['page'];
}

interface AccessToRecord {
  staffId: string;
  /** Token of the program that looks for this person; undefined: the person looks. */
  tokenId?: string | undefined;
  accessRecords: readonly AccessRecord[];
  correlationId?: string;
  timeoutMs: number;
}

/**
 * Records that somebody reads personal data, before they are shown: all of it in one append. The same access within 15 minutes is
 * recorded once.
 *
 * @returns a refusal for somebody who is not a member, or no more: nothing is shown
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}: nothing is shown
 */
export async function recordAccess(
  dependencies: Pick<StaffDependencies, 'store' | 'now' | 'newUuid' | 'staffCache'>,
  { staffId, tokenId, accessRecords, ...request }: AccessToRecord,
): Promise<Refused | undefined> {
  const { staffCache } = dependencies;
  const member = memberOf(staffCache.get(staffId)?.state ?? (await readStaff(dependencies, staffId)));
  if (isRefused(member)) return member;
  const pages = new Set(accessRecords.map(({ page }) => page));
  const actor = { type: 'staff', id: staffId, role: member.role, reason: `looks at ${[...pages].join(', ')}` } as const;
  const recorded = accessRecords.map(({ accountId, token, page }) => ({
    account_id: accountId,
    token,
    page,
    ...(tokenId !== undefined && { by_token: tokenId }),
  }));
  const written = await command(
    dependencies,
    { kind: 'record_access', staffId, accessRecords: recorded },
    { actor, presumedCurrent: true, ...request },
  );
  return isRefused(written) ? written : undefined;
}

/** Admins manage staff in the console, operators at the command line. */
async function orderOfAdmin(
  dependencies: StaffDependencies,
  order: StaffCommand,
  { by, ...request }: StaffOrder,
): Promise<Staff | Refused> {
  const actor = 'operator' in by ? by.operator : await actingStaff(dependencies, by, 'admin');
  return isRefused(actor) ? actor : command(dependencies, order, { actor, ...request });
}

async function command(
  { store, now, newUuid, staffCache }: Pick<StaffDependencies, 'store' | 'now' | 'newUuid' | 'staffCache'>,
  asked: StaffCommand,
  request: { actor: Actor; correlationId?: string; timeoutMs: number; presumedCurrent?: boolean },
): Promise<Staff | Refused> {
  const { actor, correlationId, timeoutMs, presumedCurrent = false } = request;
  const handled = await handle(
    store,
    { ...staffAggregate(staffCache, asked.staffId), presumedCurrent },
    {
      decide: (state, time) => decideStaff(state, asked, time),
      cause: ownCause(newUuid(), actor, correlationId),
      now,
      timeoutMs,
    },
  );
  if (isRefused(handled)) return handled;
  remember(staffCache, asked.staffId, handled.loaded);
  return handled.state;
}

function staffAggregate(cache: StaffCache, staffId: string): Aggregate<Staff, StaffEvent> {
  const known = cache.get(staffId);
  return {
    stream: staffStream(staffId),
    initial: () => initialStaff,
    parse: parseStaffEvent,
    evolve: evolveStaff,
    ...(known && { known }),
  };
}

/** An empty stream is not remembered: ids of people who do not exist would push out those who do. */
function remember(cache: StaffCache, staffId: string, loaded: Loaded<Staff>): void {
  if (loaded.revision > (cache.get(staffId)?.revision ?? -1)) cache.set(staffId, loaded);
}

function knownMember({ member }: Staff): Member {
  if (!member) throw new Error('a member of staff was recorded and is not there');
  return member;
}
