import { beforeAll, describe, expect, test } from 'vitest';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { usageOrigin } from '../../src/commands/usage/usage-cache.ts';
import { firstBillingPeriod, usageStream } from '../../src/domain/billing-period.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { ask, writersOf } from '../commands/usage-account.ts';
import { type Answer, call } from '../support/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { isLongProof, scaled } from '../support/proof-scale.ts';
import type { ServiceProcess } from '../support/service.ts';

/** Holds over any number of API processes: the cap to the cent, by the append that charges, and the hourly limit to the request. */
const requests = scaled(300, 2_000);
const rounds = scaled(1, 20);
const included = 20;
const rateCents = 7;

const installation = installationOfFile({
  PLANS_FILE: planFile(
    { hourly_limit: 10_000, downloads_limit: included, overage_cents: rateCents },
    { plan: 'limited', hourly_limit: 120 },
  ),
});
let apis: [ServiceProcess, ServiceProcess];

beforeAll(async () => {
  await installation.startRole('projector');
  apis = await Promise.all([installation.startRole('api'), installation.startRole('api')]);
});

async function openAccount(capCents: number): Promise<{ accountId: string; key: string }> {
  const { accountId, key } = await installation.openAccount();
  await installation.cli(['accounts', 'cap', accountId, String(capCents)]);
  return { accountId, key };
}

/** All at once, spread over both processes. @param answered told after each answer how many there are */
function race(key: string, answered: (count: number) => void = () => undefined): Promise<Answer[]> {
  let count = 0;
  const body = { url: installation.sampleUrl('private') };
  return onBoth(async (url) => {
    const answer = await call(url, '/video/download', { key, body });
    answered((count += 1));
    return answer;
  });
}

const onBoth = (send: (url: string) => Promise<Answer>) =>
  Promise.all(Array.from({ length: requests }, (_, index) => send(apis[index % 2 === 0 ? 0 : 1].url)));

const eventsOf = (accountId: string) => installation.readLog(`usage-${accountId}-`);

/** The cap in force, event by event, against what is charged up to there. @returns cents charged, and by how much too many */
function overCapCents(events: readonly { type: string; data: unknown }[]): { cents: number; overCents: number } {
  let capCents: number | null = null;
  let cents = 0;
  let overCents = 0;
  for (const { type, data } of events as readonly UsageEvent[]) {
    if (type === 'UsagePeriodOpened') capCents = data.terms.overage_cap_cents;
    if (type === 'OverageCapSet') capCents = data.overage_cap_cents;
    if (type === 'OverageCapRemoved') capCents = null;
    if (type !== 'OverageCharged') continue;
    cents += data.cents;
    overCents = Math.max(overCents, cents - (capCents ?? Infinity));
  }
  return { cents, overCents };
}

const tokenOf = (data: unknown) => (data as { token: string }).token;
const accepted = (answers: readonly Answer[]) => answers.filter(({ status }) => status === 202);

describe('downloads that race for a cap with room for exactly K', () => {
  test('are accepted K times in every round, and not a cent over', async () => {
    const room = Math.floor(requests / 3);
    for (let round = 1; round <= rounds; round += 1) {
      const { accountId, key } = await openAccount(room * rateCents + (round % rateCents));
      const answers = await race(key);
      const queued = accepted(answers);
      expect(queued).toHaveLength(included + room);
      expect(queued.filter(({ data }) => data['overage'] === true)).toHaveLength(room);
      const refused = answers.filter(({ status }) => status !== 202);
      expect(new Set(refused.map(({ status, code }) => `${String(status)} ${String(code)}`))).toEqual(
        new Set(['402 overage_cap_reached']),
      );
      const events = await eventsOf(accountId);
      const { cents, overCents } = overCapCents(events);
      expect(cents).toBe(room * rateCents);
      expect(overCents).toBeLessThanOrEqual(0);
      expect(events.filter(({ type }) => type === 'OverageCapReached')).toHaveLength(1);
      const tokens = events.flatMap(({ type, data }) => (type === 'DownloadQueued' ? [tokenOf(data)] : []));
      expect(tokens.sort()).toEqual(queued.map(({ data }) => data['request_token']).sort());
      for (const api of apis) {
        const { data } = await call(api.url, '/credits', { key });
        expect(data['overage']).toEqual({ downloads: room, cents });
        expect(data['downloads']).toEqual({ limit: included, used: included, remaining: 0 });
      }
      // The command fails unless its rows are the log's, one by one.
      const ledger = await installation.cli<{ total_cents: number; rows: object[] }>(['ledger', 'show', accountId]);
      expect(ledger.total_cents).toBe(cents);
      const charges = events.filter(({ type }) => ['OverageCharged', 'DownloadCreditDebited'].includes(type));
      expect(ledger.rows).toMatchObject(charges.map(({ id }) => ({ event_id: id })));
    }
    if (isLongProof)
      console.log(
        `cap races: ${String(rounds)} rounds of ${String(requests)} POSTs, K = ${String(included + room)} each`,
      );
  });
});

describe('a cap that is moved while downloads race for it', () => {
  test('holds at every event, wherever it stands', async () => {
    const store = connectEventStore({ url: installation.environment.EVENTSTORE_URL });
    const moved = { rounds, charged: 0, moves: 0 };
    for (let round = 1; round <= rounds; round += 1) {
      const { accountId, key } = await openAccount(Math.floor(requests / 5) * rateCents);
      const stream = usageStream(accountId, firstBillingPeriod(new Date().toISOString()));
      const writers = writersOf(store, () => new Date().toISOString());
      const move = (overageCapCents: number | null) =>
        ask(
          writers,
          { accountId, stream, origin: usageOrigin(stream) },
          overageCapCents === null
            ? { kind: 'remove_overage_cap', effective: 'now' }
            : { kind: 'set_overage_cap', overageCapCents, effective: 'now' },
        );
      // Raised, lowered below what is charged, removed, and set again: each while requests of both processes are under way.
      const places = [Math.floor(requests / 3) * rateCents, 0, null, Math.floor(requests / 2) * rateCents];
      const moves: Promise<unknown>[] = [];
      const answers = await race(key, (count) => {
        if (count % Math.floor(requests / 5) !== 0 || places.length === 0) return;
        moves.push(move(places.shift() ?? null));
      });
      await Promise.all(moves);
      const events = await eventsOf(accountId);
      const { cents, overCents } = overCapCents(events);
      const charges = events.filter(({ type }) => type === 'OverageCharged').length;
      const changes = events.filter(({ type }) => type === 'OverageCapSet' || type === 'OverageCapRemoved').length;
      expect(overCents).toBeLessThanOrEqual(0);
      expect(accepted(answers)).toHaveLength(included + charges);
      expect(cents).toBe(charges * rateCents);
      expect(changes).toBeGreaterThan(3);
      const { data } = await call(apis[0].url, '/credits', { key });
      expect(data['overage']).toEqual({ downloads: charges, cents });
      moved.charged += charges;
      moved.moves += changes;
    }
    await store.close();
    if (isLongProof) console.log(`cap moved in the middle: ${JSON.stringify(moved)}`);
  });
});

describe('concurrent requests of one key', () => {
  test('are admitted up to exactly its hourly limit', async () => {
    const { accountId, key } = await installation.openAccount();
    await installation.cli(['accounts', 'plan', accountId, 'limited']);
    const answers = Map.groupBy(await onBoth((url) => call(url, '/credits', { key })), ({ status }) => status);
    const [admitted = [], refused = []] = [answers.get(200), answers.get(429)];
    const remaining = admitted.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
    expect(remaining.sort((one, other) => one - other)).toEqual(Array.from({ length: 120 }, (_, index) => index));
    expect(refused).toHaveLength(requests - 120);
    for (const { headers } of refused) expect(Number(headers.get('retry-after'))).toBeGreaterThan(3_500);
  });
});
