import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConnectedEventStore, connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { usageOrigin } from '../../src/commands/usage/usage-cache.ts';
import type { WriterRegistry } from '../../src/commands/usage/writer-registry.ts';
import { usageStream } from '../../src/domain/billing-period.ts';
import type { UsageCommand } from '../../src/domain/decide-usage.ts';
import { evolveUsage } from '../../src/domain/evolve-usage.ts';
import { parseUsageEvent } from '../../src/domain/parse-event.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { initialUsage, type Usage, type UsagePeriod } from '../../src/domain/usage-state.ts';
import { ask, freshCause, writersOf } from '../commands/usage-account.ts';
import { type Answer, call } from '../support/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { isLongProof, scaled } from '../support/proof-scale.ts';
import type { OpenedAccount, ServiceProcess } from '../support/service.ts';

/** Whatever staff and owners change while two processes queue downloads holds from its event on, at every prefix of the log. */
const rounds = scaled(6, 500);
const requests = 12;
const rateCents = 7;

const small = { hourly_limit: 10_000, downloads_limit: 3, overage_cents: rateCents };
const installation = installationOfFile({ PLANS_FILE: planFile(small, { plan: 'larger', downloads_limit: 5 }) });
let apis: [ServiceProcess, ServiceProcess];
let store: ConnectedEventStore;
let writers: WriterRegistry;

beforeAll(async () => {
  await installation.startRole('projector');
  apis = await Promise.all([installation.startRole('api'), installation.startRole('api')]);
  store = connectEventStore({ url: installation.environment.EVENTSTORE_URL });
  writers = writersOf(store, () => new Date().toISOString());
});

afterAll(() => store.close());

/** The changes of a round, in their order; each falls among the downloads somewhere. */
const changes: Readonly<Record<string, (account: OpenedAccount, round: number) => readonly UsageCommand[]>> = {
  suspension: () => [{ kind: 'suspend_account' }, { kind: 'lift_suspension' }],
  closing: () => [{ kind: 'close_account' }],
  'the limit of a key': ({ keyId }, round) => [
    { kind: 'change_key_limit', keyId, changes: { downloads: 1 + (round % 8) } },
    { kind: 'change_key_limit', keyId, changes: { downloads: null, overage_cents: (round % 5) * rateCents } },
  ],
  'the cap': (_, round) => [
    { kind: 'set_overage_cap', overageCapCents: (round % 6) * rateCents, effective: 'now' },
    { kind: 'remove_overage_cap', effective: 'now' },
    { kind: 'set_overage_cap', overageCapCents: 0, effective: 'now' },
  ],
  'the plan': () => [
    { kind: 'change_terms', changes: { downloads_limit: 5 }, effective: 'now', agreedAt: new Date().toISOString() },
    { kind: 'change_terms', changes: { overage_cents: null }, effective: 'now', agreedAt: new Date().toISOString() },
  ],
};

const staff = { type: 'staff', id: 'maria', role: 'operator', reason: 'a race' } as const;

/** The rules by which each charge must have had room, told anew from the state before it. */
function wrongIn(state: UsagePeriod, { type, data }: UsageEvent, keyId: string): string[] {
  if (type !== 'DownloadCreditDebited' && type !== 'OverageCharged') return [];
  const { terms, downloadCredits, overageCents, keyUse } = state;
  const limit = terms.key_limits?.[keyId];
  const use = keyUse[keyId] ?? { downloads: 0, overage_cents: 0 };
  const cents = type === 'OverageCharged' ? data.cents : 0;
  const wrong: [string, boolean][] = [
    ['suspended', terms.suspended === true],
    ['closed', state.phase !== 'open'],
    ['credit', type === 'DownloadCreditDebited' && downloadCredits >= terms.downloads_limit],
    ['price', type === 'OverageCharged' && terms.overage_cents !== cents],
    ['cap', overageCents + cents > (terms.overage_cap_cents ?? Infinity)],
    ['downloads of the key', use.downloads >= (limit?.downloads ?? Infinity)],
    ['overage of the key', use.overage_cents + cents > (limit?.overage_cents ?? Infinity) && cents > 0],
  ];
  return wrong.flatMap(([name, isWrong]) => (isWrong ? [`${name} at ${JSON.stringify(data)}`] : []));
}

async function round(name: string, number: number): Promise<{ queued: number; refused: number }> {
  const account = await installation.openAccount();
  const { accountId } = account;
  const [opened] = await store.read(`account-${accountId}`, 0);
  const stream = usageStream(accountId, { start: (opened?.data as { period_start: string }).period_start });
  const usage = { accountId, stream, origin: usageOrigin(stream) };
  const body = { url: installation.sampleUrl('private') };
  const sent = Array.from({ length: requests }, (_, index) =>
    call(apis[index % 2 === 0 ? 0 : 1].url, '/video/download', { key: account.key, body }),
  );
  const change = async () => {
    for (const command of changes[name]?.(account, number) ?? []) {
      await Promise.race(sent);
      await ask(writers, usage, command, { cause: { ...freshCause(), actor: staff } });
    }
  };
  const [answers] = await Promise.all([Promise.all(sent), change()]);
  await judge(account, stream, answers);
  const queued = answers.filter(({ status }) => status === 202).length;
  return { queued, refused: answers.length - queued };
}

async function judge({ accountId, keyId }: OpenedAccount, stream: string, answers: readonly Answer[]): Promise<void> {
  const events = (await store.read(stream, 0)).map((recorded) => parseUsageEvent(recorded).event);
  let state: Usage = initialUsage;
  for (const event of events) {
    if (state.phase !== 'absent') expect(wrongIn(state, event, keyId)).toEqual([]);
    state = evolveUsage(state, event);
  }
  const tokens = events.flatMap(({ type, data }) => (type === 'DownloadQueued' ? [data.token] : []));
  const accepted = answers.filter(({ status }) => status === 202).map(({ data }) => data['request_token']);
  expect(tokens.sort()).toEqual(accepted.sort());
  expect(answers.map(({ status }) => status).filter((status) => ![202, 401, 402].includes(status))).toEqual([]);
  // The command fails for any divergence.
  await installation.cli(['ledger', 'verify', '--account', accountId]);
}

test.each(Object.keys(changes))('%s', async (name) => {
  const all = { queued: 0, refused: 0 };
  for (let number = 1; number <= rounds; number += 1) {
    const { queued, refused } = await round(name, number);
    all.queued += queued;
    all.refused += refused;
  }
  expect(all.queued).toBeGreaterThan(0);
  if (isLongProof)
    console.log(`${name}: ${String(rounds)} rounds, ${String(all.queued)} queued, ${String(all.refused)} refused`);
});
