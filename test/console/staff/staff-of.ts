import { hash, randomBytes, randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import type { ConnectedEventStore } from '../../../src/adapters/event-store/event-store.ts';
import { createStaffLinks } from '../../../src/adapters/postgres/staff-links.ts';
import { inviteStaff, issueStaffToken, newStaffCache, type StaffDependencies } from '../../../src/commands/staff.ts';
import type { StaffRole, StaffScope } from '../../../src/domain/staff-events.ts';
import { newId } from '../../../src/system/clock-and-chance.ts';
import { accepted } from '../../support/accepted.ts';
import { connectLogWithKeys } from '../../support/log-with-keys.ts';
import { openTestPool } from '../../support/postgres.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { Browser } from '../browser.ts';
import type { Owners } from '../owner/owners-of.ts';

export interface StaffMember {
  staffId: string;
  email: string;
  role: StaffRole;
}

/** The means of the staff console's tests, beside those of the owners' console. */
interface OfStaff {
  /** Origin of the staff console. */
  staffUrl: string;
  /** For commands about staff in this process; its store is the log. */
  commands: Omit<StaffDependencies, 'store'> & { store: ConnectedEventStore };
  operator: { operator: { type: 'staff'; id: string; role: string; reason: string } };
  /** Somebody invited, whom sessions and tokens hold for. @param now UTC ISO-8601 */
  invite: (role: StaffRole, now?: string) => Promise<StaffMember>;
  /** A new browser of such a person: signed in by a row in the place of a link. */
  newStaffSession: (person: StaffMember, startedSecondsAgo?: number) => Promise<Browser>;
  /** The same with a new person. */
  signedInAs: (role: StaffRole) => Promise<Browser>;
  /** Path of a link as the command line prints it. */
  printedPath: (person: Pick<StaffMember, 'staffId'>) => Promise<string>;
  /** A token that holds for 90 days. @param now UTC ISO-8601 */
  issueToken: (
    staffId: string,
    scopes: readonly StaffScope[],
    now?: string,
  ) => Promise<{ token: string; tokenId: string }>;
}

/** Both consoles of a running service, as tests use them. */
export type Staff = Owners & OfStaff;

/** Adds to the owners' console of a running service what tests do with its staff console. */
export function withStaff<Console extends Owners>(ground: Console): Console & OfStaff {
  const service = ground as Console & OfStaff;
  let store: ConnectedEventStore;
  let pool: pg.Pool;
  beforeAll(() => {
    pool = openTestPool(ground.installation.environment.DATABASE_URL);
    store = connectLogWithKeys({
      url: ground.installation.environment.EVENTSTORE_URL,
      pool,
      secrets: ground.secrets,
    });
    const links = createStaffLinks(pool, { macs: ground.macs, randomBits: randomBytes });
    const commands: OfStaff['commands'] = {
      store,
      newId,
      newUuid: randomUUID,
      randomBits: randomBytes,
      now: () => new Date().toISOString(),
      staffCache: newStaffCache(),
    };
    const at = (now?: string) => (now === undefined ? commands : { ...commands, now: () => now });
    const by = { operator: { type: 'staff', id: 'a test', role: 'operator', reason: 'a test' } } as const;
    const order = { by, timeoutMs: patienceMs };
    const rowIsThere = (table: 'staff' | 'staff_tokens', column: string, id: string) =>
      waitFor(async () => (await ground.sql(`select from ${table} where ${column} = $1`, [id])).length === 1, {
        what: `${id} in the read model`,
      });
    Object.assign(service, {
      staffUrl: ground.api.staffUrl ?? '',
      commands,
      operator: by,
      invite: async (role, now) => {
        const email = `${role}-${randomUUID().slice(0, 8)}@example.com`;
        const { staffId } = accepted(await inviteStaff(at(now), { email, role, ...order }));
        await rowIsThere('staff', 'staff_id', staffId);
        return { staffId, email, role };
      },
      newStaffSession: async ({ staffId, role }, startedSecondsAgo = 0) => {
        const secret = `staff-secret-${randomUUID()}`;
        const secretHash = hash('sha256', secret, 'buffer');
        const startedAt = new Date(Date.now() - startedSecondsAgo * 1_000);
        const sessionId = `ses_${secret}`;
        const text = JSON.stringify([secretHash.toString('hex'), sessionId, staffId, role, startedAt.toISOString()]);
        await ground.sql(
          `insert into staff_sessions (secret_hash, session_id, staff_id, role, browser, started_at, seen_at, mac)
           values ($1, $2, $3, $4, 'a test', $5, clock_timestamp(), $6)`,
          [secretHash, sessionId, staffId, role, startedAt, ground.macs.sign('staff_sessions', text)],
        );
        const browser = new Browser(service.staffUrl);
        browser.cookies.set('reeltally_staff', secret);
        browser.formToken = hash('sha256', `form ${secret}`, 'base64url');
        return browser;
      },
      signedInAs: async (role) => service.newStaffSession(await service.invite(role)),
      printedPath: async ({ staffId }) =>
        `/staff/sign-in/${(await links.create({ staffId, browser: undefined })) ?? ''}`,
      issueToken: async (staffId, scopes, now) => {
        const issued = accepted(await issueStaffToken(at(now), { staffId, label: 'a test', scopes, ...order }));
        await rowIsThere('staff_tokens', 'token_id', issued.tokenId);
        return issued;
      },
    } satisfies OfStaff);
  });
  afterAll(() => Promise.all([store.close(), pool.end()]));
  return service;
}
