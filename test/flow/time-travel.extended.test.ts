import fc from 'fast-check';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import type { ConnectedEventStore } from '../../src/adapters/event-store/event-store.ts';
import { changeCharge } from '../../src/commands/change-charge.ts';
import { usageOrigin } from '../../src/commands/usage/usage-cache.ts';
import { readPastUsage } from '../../src/commands/usage/usage-in-the-past.ts';
import { readHistory } from '../../src/console/history.ts';
import { creditsData } from '../../src/documents/credits.ts';
import { usageStream } from '../../src/domain/billing-period.ts';
import type { ChargeCommand } from '../../src/domain/change-charge.ts';
import { parseAccountEvent, parseUsageEvent } from '../../src/domain/parse-event.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { summariseUsage } from '../../src/domain/usage-summary.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { expectRefusal, expectText, within } from '../cli/command-line.ts';
import { ask, freshCause, writersOf } from '../commands/usage-account.ts';
import { lookUp } from '../domain/usage-examples.ts';
import type { Credits } from '../http/requests.ts';
import { call } from '../support/client.ts';
import { clockOffset, nowWith } from '../support/clock-offset.ts';
import { installationOfFile } from '../support/installation.ts';
import { connectLogWithKeys } from '../support/log-with-keys.ts';
import { openPatientPool } from '../support/patient-pool.ts';
import { planFile } from '../support/plans.ts';
import { scaled } from '../support/proof-scale.ts';
import type { Environment } from '../support/service.ts';
import { patienceMs } from '../support/wait-for.ts';
import { monthSeconds } from './billing-month.ts';

/**
 * The past as it was told: the real service makes a history of three billing periods, and is asked for GET /credits after each
 * step. The command and the rows of *History* must say of each point what was answered then.
 */
const terms = { hourly_limit: 10_000, metadata_limit: 6 };
const installation = installationOfFile({
  PLANS_FILE: planFile(
    {},
    { plan: 'dev_100', ...terms, downloads_limit: 4, overage_cents: 25 },
    { plan: 'studio_500', ...terms, downloads_limit: 7, overage_cents: 18, fee_cents: 5_900 },
  ),
});
const months = 3;
const points = scaled(25, 1_000);
const drawnEach = scaled(8, 400);

const step = fc.oneof(
  { weight: 5, arbitrary: fc.constant(['download'] as const) },
  { weight: 4, arbitrary: fc.constantFrom(['metadata'], ['void_metadata'], ['void'], ['waive']) },
  fc.tuple(fc.constant('plan'), fc.constantFrom('dev_100', 'studio_500'), fc.constantFrom('now', 'next')),
  fc.tuple(fc.constant('cap'), fc.constantFrom('none', '0', '30', '200'), fc.constantFrom('now', 'next')),
  fc.tuple(fc.constant('limit'), fc.constantFrom('none', '3', '50')),
  fc.constantFrom(['suspend'], ['billing']),
);
type Step = readonly [kind: string, ...words: string[]];

/** Each month begins with all kinds. */
const everyKind: readonly Step[] = [
  ['limit', '50'],
  ['download'],
  ['metadata'],
  ['metadata'],
  ['void_metadata'],
  ['void'],
  ...Array.from({ length: 5 }, () => ['download'] as const),
  ['waive'],
  ['cap', '30', 'now'],
  ['download'],
  ['plan', 'studio_500', 'now'],
  ['plan', 'dev_100', 'next'],
  ['suspend'],
  ['billing'],
  ['cap', 'none', 'next'],
];

/** An answer of GET /credits, and what the log had by then. */
interface Answered {
  credits: Credits;
  /** Of the newest event. */
  position: bigint;
  /** UTC ISO-8601. */
  time: string;
  month: number;
}

let store: ConnectedEventStore;
let pool: Pool;
let accountId: string;
let key: string;
let keyId: string;
/** Of the month that is being lived. */
let lived: { url: string; clock: Environment; month: number; tokens: string[]; lookups: string[] };
const answered: Answered[] = [];
let last: Environment = {};

beforeAll(async () => {
  await installation.allowShiftedClock();
  const { EVENTSTORE_URL: url, DATABASE_URL: databaseUrl, REELTALLY_SECRET: secret } = installation.environment;
  pool = openPatientPool(databaseUrl, { max: 2 });
  store = connectLogWithKeys({ url, pool, secrets: { current: deriveKeys(secret), others: [] } });
  await installation.startRole('projector');
  ({ accountId, key } = await installation.openAccount('dev_100'));
  const { keys } = await installation.cli<{ keys: { key_id: string }[] }>(['keys', 'list', accountId]);
  keyId = keys[0]?.key_id ?? '';
  const drawn = fc.sample(step, drawnEach * months) as unknown as Step[];
  for (let month = 0; month < months; month += 1) {
    const clock = clockOffset(month * monthSeconds);
    const api = await installation.startRole('api', clock);
    lived = { url: api.url, clock, month, tokens: [], lookups: [] };
    // The period has ended by the clock, and no event says so yet.
    await note();
    for (const each of [...everyKind, ...drawn.slice(month * drawnEach, (month + 1) * drawnEach)]) {
      await take(each);
      await note();
    }
    await api.stop();
    last = clock;
  }
});
afterAll(async () => {
  await store.close();
  await pool.end();
});

async function note(): Promise<void> {
  const position = (await store.headPosition()) ?? 0n;
  const time = new Date(nowWith(lived.clock)).toISOString();
  const { status, data } = await call(lived.url, '/credits', { key });
  expect([status, await store.headPosition()]).toEqual([200, position]);
  answered.push({ credits: data as unknown as Credits, position, time, month: lived.month });
}

const now = () => new Date(nowWith(lived.clock)).toISOString();
const cli = (...words: string[]) => installation.cli(words, lived.clock);
/** The stream of the newest period, as GET /credits has named it. */
const stream = () =>
  usageStream(accountId, { start: `${answered.at(-1)?.credits.period_start.slice(0, 10) ?? ''}T00:00:00.000Z` });

async function change(command: ChargeCommand): Promise<void> {
  const made = await changeCharge(
    { store, now },
    { stream: stream(), command, cause: freshCause(), timeoutMs: patienceMs },
  );
  expect(isRefused(made)).toBe(false);
}

async function take([kind, ...words]: Step): Promise<void> {
  const { url, tokens, lookups } = lived;
  const token = tokens.at(-1);
  const lookup = lookups.at(-1);
  switch (kind) {
    case 'download': {
      const { status, data } = await call(url, '/video/download', {
        key,
        body: { url: installation.sampleUrl('bars') },
      });
      expect([202, 402]).toContain(status);
      if (status === 202) tokens.push(String(data['request_token']));
      return;
    }
    case 'metadata': {
      // Another process of the service, because no worker is here that a request over HTTP could ask.
      const id = newUuid();
      const account = { accountId, stream: stream(), origin: usageOrigin(stream()) };
      // The period of the clock is opened by a download.
      if (tokens.length === 0) return;
      const { outcome } = await ask(writersOf(store, now), account, lookUp(id));
      if (outcome === 'accepted') lookups.push(id);
      return;
    }
    case 'void_metadata':
      if (lookup !== undefined) await change({ kind: 'void_lookup', lookupId: lookup });
      return;
    case 'void':
      if (token !== undefined) await change({ kind: 'void_download', token });
      return;
    case 'waive':
      if (token !== undefined)
        await change({ kind: 'waive_charges', charges: [{ token, cents: 7 }], reference: `CASE-${newUuid()}` });
      return;
    case 'plan':
    case 'cap':
      await cli('accounts', kind, accountId, words[0] ?? '', '--effective', words[1] ?? '');
      return;
    case 'limit':
      await cli('keys', 'limit', keyId, '--downloads', words[0] ?? '');
      return;
    case 'suspend':
      await cli('accounts', 'suspend', accountId, '--reason', 'a test');
      await cli('accounts', 'lift-suspension', accountId, '--reason', 'a test');
      return;
    case 'billing':
      await cli('accounts', 'billing', accountId, '--name', `Ada ${newUuid()}`);
  }
}

const command = (...words: string[]) =>
  within({ ...installation.environment, ...last })('accounts', 'usage', accountId, '--as-of', ...words);

const readUsageEvents = async () =>
  (await store.readAll(-1n, 100_000))
    .filter(({ stream: name }) => name.startsWith(`usage-${accountId}`))
    .map(parseUsageEvent);

/** The account's AccountOpened. */
async function readOpening() {
  const [recorded] = await store.read(`account-${accountId}`, 0, 1);
  const opening = recorded && parseAccountEvent(recorded);
  if (opening?.event.type !== 'AccountOpened') throw new Error('the account was opened');
  return { data: opening.event.data, position: opening.position };
}

describe('accounts usage --as-of', () => {
  it('says at random points what GET /credits has answered then', async () => {
    const events = await readUsageEvents();
    const kinds = new Set(events.map(({ event }) => event.type));
    for (const kind of [
      'MetadataCreditVoided',
      'DownloadVoided',
      'ChargeWaived',
      'PlanChanged',
      'KeyLimitSet',
      'OverageCapReached',
    ])
      expect(kinds).toContain(kind);
    const drawn = fc.sample(fc.constantFrom(...answered), points);
    let byTime = 0;
    let byPosition = 0;
    for (const { credits, position, time, month } of drawn) {
      const before = events.filter((event) => event.position <= position);
      const newest = before.at(-1);
      const next = events[before.length];
      const asOf: string[] = [];
      // Where clocks of two processes differ by some milliseconds, the time does not tell the events apart.
      if ((newest?.metadata.time ?? '') <= time && (next === undefined || next.metadata.time > time)) asOf.push(time);
      const at = (await store.readAll(position - 1n, 1))[0]?.metadata as { time: string };
      // Otherwise a period has ended since the event, by the clock alone.
      if (monthOf(at.time) === month) asOf.push(String(position));
      for (const word of asOf) {
        const ran = await command(word, '--json');
        expect([word, ran.stderr, JSON.parse(ran.stdout)]).toEqual([word, '', credits]);
      }
      byTime += Number(asOf.includes(time));
      byPosition += Number(asOf.includes(String(position)));
    }
    expect(byTime).toBeGreaterThan(points / 2);
    expect(byPosition).toBeGreaterThan(points / 2);
  });

  it('counts an event at exactly the time, and none after it', async () => {
    const events = await readUsageEvents();
    const charges = events.filter(
      ({ event: { type } }) => type === 'DownloadCreditDebited' || type === 'OverageCharged',
    );
    const [charge] = charges;
    if (!charge) throw new Error('there is a charge');
    const { time } = charge.metadata;
    const used = async (at: string) => (JSON.parse((await command(at, '--json')).stdout) as Credits).downloads.used;
    expect(await used(time)).toBe(1);
    expect(await used(new Date(Date.parse(time) - 1).toISOString())).toBe(0);
    expectText(
      await command(time),
      /^plan +dev_100\ndownloads +1 of 4\nmetadata +\d of 6\noverage +0 downloads, \$0\.00\nperiod +\S+ 00:00:00\.000 to /,
    );
  });

  it('refuses a time before the opening, one in the future, and what is neither time nor position', async () => {
    const opening = await readOpening();
    expectRefusal(await command('2020-02-29'), /was not opened yet at 2020-02-29T00:00:00\.000Z/);
    expectRefusal(await command(String(opening.position)), /was not opened yet at position \d+/);
    expectRefusal(await command('2999-01-01'), /2999-01-01T00:00:00\.000Z is in the future: it is 20/);
    expectRefusal(await command('9999999999999999'), /is in the future: the newest event of the log is at \d+/);
    expectRefusal(await command('yesterday'), /write an instant like .* or the position of an event/);
    expectRefusal(await command('2026-11-21', '--period', '2026-11-21'), /cannot be used with/);
  });
});

const monthOf = (time: string) =>
  Math.floor((Date.parse(time) - Date.now() + monthSeconds * 500) / (monthSeconds * 1_000));

describe('History', () => {
  it('says beside each change what GET /credits has answered after it', async () => {
    const rows = [];
    for (let query = new URLSearchParams(); ;) {
      const { changes, next } = await readHistory({ pool, store }, accountId, query);
      rows.push(...changes);
      if (next === null) break;
      query = new URLSearchParams({ before: next });
    }
    let compared = 0;
    for (const { position, metadata, after } of rows) {
      const first = answered.find((each) => each.position === position);
      if (first?.month !== monthOf(metadata.time)) continue;
      if (typeof after === 'string') throw new Error(`${String(position)}: ${after}`);
      expect(creditsData(summariseUsage(after.usage, after.now))).toEqual(first.credits);
      compared += 1;
    }
    expect(compared).toBeGreaterThan(5);
  });

  it('reads no more of the log than it may', async () => {
    const opening = await readOpening();
    const events = await readUsageEvents();
    const moments = events.toReversed().map(({ position, metadata: { time } }) => ({ position, time }));
    const all = await readPastUsage(store, opening.data, moments);
    expect(all.every((each) => typeof each === 'object')).toBe(true);
    const some = await readPastUsage(store, opening.data, moments, { mostEvents: 7 });
    expect(some.filter((each) => each !== 'not_read')).toHaveLength(6);
    const newest = events.filter(({ stream: name }) => name === events.at(-1)?.stream);
    expect(some.slice(newest.length - 6, newest.length)).toEqual(all.slice(newest.length - 6, newest.length));
  });
});
