import { hash, randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { createRowMacs } from '../../src/adapters/postgres/row-macs.ts';
import { inviteStaff, issueStaffToken, newStaffCache } from '../../src/commands/staff.ts';
import { apiBase } from '../../src/console/staff/json-endpoints.ts';
import { staffScopes } from '../../src/domain/staff-events.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newId, randomBits } from '../../src/system/clock-and-chance.ts';
import { accepted } from '../support/accepted.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Bench } from './engines.ts';
import { type Figure, progress, type Results } from './figures.ts';
import { benchExports } from './staff-exports.ts';
import { fillStaffModels } from './staff-population.ts';
import {
  type About,
  endpointVisits,
  pageVisits,
  pickThings,
  searchVisits,
  type Things,
  type Visit,
} from './staff-visits.ts';

/** The first ones of each address compile what it needs, and do not count; they are in the first round alone. */
const warmUps = 10;
/** A session's or a token's own, and its person's. */
const ownStatements = 2;

/**
 * How long each page, endpoint and search of staff takes, how often it waits for Postgres, and what large exports cost. The times
 * are those of a client on the same machine.
 *
 * @param visits of each address in each round
 */
export async function benchStaff(
  bench: Bench,
  {
    pool,
    store,
    jobs,
    visits,
    rounds,
  }: { pool: Pool; store: EventStore; jobs: number; visits: number; rounds: number },
): Promise<Results> {
  progress('filling the read models of staff');
  await fillStaffModels(pool, store, jobs);
  await using proxy = await startPostgresProxy(bench.addresses.DATABASE_URL);
  const api = await bench.startRole('api', { STAFF_PORT: '0', DATABASE_URL: proxy.url });
  const guest = { url: api.staffUrl ?? '', ...(await employ(bench, pool, store)) };
  const things = await pickThings(pool, visits, guest.staffId);
  const measured = timedVisits(visits);
  for (let round = 0; round < rounds; round += 1) {
    progress(`round ${round + 1} of ${rounds}: ${measured.length} pages, endpoints and searches, ${visits} times each`);
    for (const each of measured) await each.round(guest, things, proxy.statements);
  }
  const figures = measured.flatMap((each) => each.figures());
  figures.push(...(await benchExports({ guest, pid: api.pid, pool, jobs, rounds: Math.min(rounds, 3) })));
  return { ratios: [], figures };
}

/** @param visits as `benchStaff` */
export const timedVisits = (visits: number): TimedVisit[] =>
  [...pageVisits(), ...endpointVisits(), ...searchVisits()].map((visit) => new TimedVisit(visit, visits));

/** A member of staff who may do everything. */
export interface Guest {
  url: string;
  staffId: string;
  cookie: string;
  formToken: string;
  bearer: string;
}

/** Somebody who is invited, with a session in the place of a link, and with a token for programs. */
async function employ(bench: Bench, pool: Pool, store: EventStore): Promise<Omit<Guest, 'url'>> {
  const macs = createRowMacs({ current: deriveKeys(bench.secret), others: [] }, { logger: pino({ level: 'silent' }) });
  const commands = {
    store,
    newId,
    newUuid: randomUUID,
    randomBits,
    staffCache: newStaffCache(),
    now: () => new Date().toISOString(),
  };
  const operator = { type: 'staff', id: 'bench', role: 'operator', reason: 'bench' } as const;
  const order = { by: { operator }, timeoutMs: 10_000 };
  const { staffId } = accepted(await inviteStaff(commands, { email: 'bench@example.com', role: 'admin', ...order }));
  const issued = await issueStaffToken(commands, { staffId, label: 'bench', scopes: staffScopes, ...order });
  const { token: bearer, tokenId } = accepted(issued);
  const isKnown = async () =>
    (await pool.query('select from staff_tokens where token_id = $1', [tokenId])).rowCount === 1;
  await waitFor(isKnown, { what: 'the member of staff', timeoutMs: 60_000 });
  const secret = randomBits(24).toString('base64url');
  const secretHash = hash('sha256', secret, 'buffer');
  const startedAt = new Date();
  const text = JSON.stringify([secretHash.toString('hex'), 'ses_bench', staffId, 'admin', startedAt.toISOString()]);
  await pool.query(
    `insert into staff_sessions (secret_hash, session_id, staff_id, role, browser, started_at, seen_at, mac)
     values ($1, 'ses_bench', $2, 'admin', 'bench', $3, clock_timestamp(), $4)`,
    [secretHash, staffId, startedAt, macs.sign('staff_sessions', text)],
  );
  const formToken = hash('sha256', `form ${secret}`, 'base64url');
  return { staffId, cookie: `reeltally_staff=${secret}`, formToken, bearer };
}

/** The times of one address. */
class TimedVisit {
  readonly #visit: Visit;
  readonly #visits: number;
  readonly #medians: number[] = [];
  readonly #p95s: number[] = [];
  #statements = 0;

  constructor(visit: Visit, visits: number) {
    this.#visit = visit;
    this.#visits = visits;
  }

  async round(guest: Guest, things: Things, statements: () => number): Promise<void> {
    const abouts = things[this.#visit.about ?? 'madeUp'];
    const took: number[] = [];
    for (let at = this.#medians.length === 0 ? -warmUps : 0; at < this.#visits; at += 1) {
      const about = abouts.at(at % abouts.length);
      if (!about) throw new Error('there is nothing to visit');
      const [startedMs, before] = [performance.now(), statements()];
      await this.#ask(guest, about);
      if (at < 0) continue;
      took.push(performance.now() - startedMs);
      this.#statements = Math.max(this.#statements, statements() - before - ownStatements);
    }
    took.sort((one, other) => one - other);
    this.#medians.push(took[Math.floor(took.length / 2)] ?? NaN);
    this.#p95s.push(took[Math.floor(took.length * 0.95)] ?? NaN);
  }

  async #ask(guest: Guest, about: About): Promise<void> {
    const { name, statuses = [200] } = this.#visit;
    const { path, body } = this.#visit.ask(about);
    const response = path.startsWith(apiBase)
      ? await fetch(guest.url + path, {
          headers: { authorization: `Bearer ${guest.bearer}`, ...(body && { 'content-type': 'application/json' }) },
          ...(body && { method: 'POST', body: JSON.stringify(body) }),
        })
      : await fetch(guest.url + path, {
          headers: { cookie: guest.cookie, ...(body && { origin: guest.url }) },
          ...(body && { method: 'POST', body: new URLSearchParams({ form_token: guest.formToken, ...body }) }),
          redirect: 'manual',
        });
    await response.text();
    if (!statuses.includes(response.status)) throw new Error(`${name} (${path}) answered ${response.status}`);
  }

  figures(): Figure[] {
    const { name } = this.#visit;
    return [
      { name: `${name}: median`, unit: 'ms', values: this.#medians },
      { name: `${name}: p95`, unit: 'ms', values: this.#p95s },
      { name: `${name}: most statements`, unit: 'statements', values: [this.#statements] },
    ];
  }
}
