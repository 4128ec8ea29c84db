import { setTimeout as sleepFor } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { issueReferencedKey, revokeApiKey } from '../../src/commands/accounts.ts';
import { carryOutCorrection } from '../../src/commands/carry-out-correction.ts';
import { changeTerms, type TermsChange } from '../../src/commands/change-terms.ts';
import { closeAccount } from '../../src/commands/close-account.ts';
import { approveCorrection, askCorrection, refuseCorrection } from '../../src/commands/correct.ts';
import { giveBack, giveBackCharges } from '../../src/commands/give-back.ts';
import type { TermsChanges } from '../../src/domain/change-plan.ts';
import type { WantedCorrection } from '../../src/domain/correction-events.ts';
import type { CorrectionRequest } from '../../src/domain/correction-requests.ts';
import type { CreditNoteIssued } from '../../src/domain/invoice-events.ts';
import { noLimit } from '../../src/domain/key-limits.ts';
import type { Actor } from '../../src/domain/parse-event.ts';
import type { PlanTerms } from '../../src/domain/plans.ts';
import { isRefused, type Refused } from '../../src/domain/refusals.ts';
import { arrivalMs, call, type Client, downloader, pauseFor, reader, type Scene, watcher } from './clients.ts';
import type { StoredEvent } from './event-log.ts';
import type { Random } from './random.ts';
import { waitForKey } from './replaced-queries.ts';
import type { ApiProcess, ServiceProcess } from './service.ts';
import type { World } from './world.ts';

/** With the inside, on which owners and staff act. */
export interface SimulatedScene extends Scene {
  world: World;
  apis: () => readonly ApiProcess[];
  /** What staff were told of corrections. */
  corrections: CorrectionRequest[];
  /** Those that were issued in the history. */
  keys: HeldKey[];
}

/** An API key, and what its owner was told of it. */
export interface HeldKey {
  apiKey: string;
  /** From then on it may be refused. */
  revokingMs: number;
  /** From then on it has to be. */
  revokedMs: number;
}

type CorrectionAnswer = CorrectionRequest | Refused;

/** Account owners, staff and clients of the API, each with a will of its own that follows from the seed. */
export const clientKinds = { downloader, reader, watcher, owner, keyHolder, staff };
export type ClientKind = keyof typeof clientKinds;

interface Insider extends Client {
  scene: SimulatedScene;
}

export async function runClient(scene: SimulatedScene, name: string, kind: ClientKind): Promise<void> {
  const random = scene.world.randomness.of(name);
  const account = random.pick(scene.world.accounts)!;
  scene.busy += 1;
  await sleepFor(arrivalMs(scene.world, random));
  await clientKinds[kind]({ scene, name, random, account });
  scene.busy -= 1;
}

/**
 * Gives an order in the console or at the command line. Its failure is not an answer to anybody.
 *
 * @returns undefined for a failure, and if no outcome came
 */
async function order<Outcome>(
  client: Insider,
  what: string,
  give: (process: ServiceProcess) => Promise<Outcome>,
): Promise<Outcome | undefined> {
  const { scene, name, random } = client;
  const process = random.pick(scene.apis());
  if (!process) return undefined;
  scene.world.tell(name, `${what}, at ${process.name}`);
  const tell = (told: unknown) => scene.world.tell(name, `${what}: ${String(told).slice(0, 80)}`);
  const given = process
    .run(() => give(process))
    .then(
      (outcome) => {
        tell(JSON.stringify(outcome));
        return outcome;
      },
      (error: unknown) => {
        tell(error);
        return undefined;
      },
    );
  return await Promise.race([given, process.ended.promise.then(() => undefined), sleepFor(30_000, undefined)]);
}

/** @returns the outcome, if there is one */
async function changeOf(client: Insider, what: string, change: TermsChange, actor: Actor): Promise<string | undefined> {
  const { accountId } = client.account;
  return await order(client, what, async (process) => {
    const snapshot = await process.postgres.statement(({ readModels }) => readModels.newestOf(accountId)?.snapshot);
    if (!snapshot) return 'no row';
    const id = process.newUuid();
    const cause = { commandId: id, correlationId: id, causationId: id, actor };
    return (await changeTerms(process.writers, { accountId, change, snapshot, cause, timeoutMs: 5_000 })).outcome;
  });
}

/** A form may be sent twice. */
const drawTimes = (random: Random) => (random.chance(0.2) ? 2 : 1);

/** A cap may be met to the cent, or be no multiple of a price. */
const drawCap = (random: Random) => (random.chance(0.7) ? 25 * random.between(0, 5) : random.between(0, 120));

function drawCapChange(random: Random): TermsChange {
  const effective = random.chance(0.7) ? 'now' : 'next_period';
  if (random.chance(0.25)) return { kind: 'remove_overage_cap', effective };
  return { kind: 'set_overage_cap', overageCapCents: drawCap(random), effective };
}

function drawKeyLimit(random: Random, keyId: string): TermsChange {
  if (random.chance(0.3)) return { kind: 'change_key_limit', keyId, changes: noLimit };
  const changes = {
    ...(random.chance(0.6) && { downloads: random.between(0, 6) }),
    ...(random.chance(0.6) && { overage_cents: drawCap(random) }),
  };
  return { kind: 'change_key_limit', keyId, changes };
}

async function owner(client: Insider): Promise<void> {
  const { random, account } = client;
  for (let left = random.between(1, 3); left > 0; left -= 1) {
    const change = random.chance(0.4) ? drawKeyLimit(random, account.keyId) : drawCapChange(random);
    for (let times = drawTimes(random); times > 0; times -= 1)
      await changeOf(client, change.kind, change, { type: 'owner', id: account.personId });
    await pauseFor(random, 100, random.pick([200, 8_000]));
  }
}

/** Issues an API key in the console, uses it, and revokes it while it is still in use. */
async function keyHolder(client: Insider): Promise<void> {
  const { scene, random, account } = client;
  const { accountId } = account;
  if (!scene.world.parts.keys) {
    await owner(client);
    return;
  }
  const actor: Actor = { type: 'owner', id: account.personId };
  const request = { accountId, correlationId: random.uuid(), actor, timeoutMs: 5_000 };
  const dependenciesOf = ({ store, now, newUuid, newId }: ServiceProcess) => ({
    store,
    now,
    newUuid,
    newId,
    randomBits: (count: number) => random.bytes(count),
  });
  const reference = `form ${String(random.between(1, 3))}`;
  const issued = await order(client, 'new key', async (process) => {
    const order = { ...request, label: 'drawn', maxKeys: 5, reference };
    const key = await issueReferencedKey(dependenciesOf(process), order);
    if (isRefused(key) || key.key === null) return undefined;
    const isInForce = await waitForKey(process.pool, key.keyId, { revoked: false, timeoutMs: 5_000 });
    return isInForce ? { apiKey: key.key, keyId: key.keyId } : undefined;
  });
  if (!issued) return;
  const held: HeldKey = { apiKey: issued.apiKey, revokingMs: Infinity, revokedMs: Infinity };
  scene.keys.push(held);
  const user = { ...client, account: { ...account, ...issued } };
  const use = async () => {
    for (let left = random.between(1, 4); left > 0; left -= 1) {
      if (random.chance(0.5)) await call(user, '/credits', {});
      else await call(user, '/video/download', { url: scene.world.urlOf(random.between(10, 1_000_000)) });
      await pauseFor(random, 0, 2_000);
    }
  };
  const using = use();
  await pauseFor(random, 0, 3_000);
  held.revokingMs = scene.world.nowMs();
  const isRevoked = await order(client, 'revocation', async (process) => {
    const revoked = await revokeApiKey(dependenciesOf(process), { ...request, keyId: issued.keyId });
    return !isRefused(revoked) && waitForKey(process.pool, issued.keyId, { revoked: true, timeoutMs: 5_000 });
  });
  if (isRevoked) held.revokedMs = scene.world.nowMs();
  await use();
  await using;
}

const byOperator = ({ account: { accountId }, scene: { world } }: Insider) => ({
  accountId,
  operator: { type: 'staff', id: 'alice', role: 'operator', reason: 'simulated' } as const,
  limitCents: world.approvalCents,
  timeoutMs: 5_000,
});

const staffActor = { type: 'staff', id: 'alice', role: 'finance', reason: 'simulated' } as const;

async function staff(client: Insider): Promise<void> {
  const { random, scene } = client;
  const orders = [
    changePlan,
    scene.world.parts.keys && random.chance(0.15) ? close : suspendForAWhile,
    waive,
    waivePart,
    credit,
    ...(scene.world.parts.corrections ? [correct, correct] : []),
  ];
  // Some do one thing, one after the other.
  const [mostly] = random.chance(0.4) ? [random.pick(orders)] : [];
  for (let left = random.between(1, mostly ? 5 : 3); left > 0; left -= 1) {
    await (mostly ?? random.pick(orders)!)(client);
    await pauseFor(random, 100, random.pick([200, 8_000]));
  }
}

async function changePlan(client: Insider): Promise<void> {
  const { random, scene } = client;
  const terms = drawTerms(random);
  const effective = random.pick([undefined, undefined, 'now', 'next_period'] as const);
  const { fee_cents, overage_cents, downloads_limit } = terms;
  const changes = random.pick<TermsChanges>([{ fee_cents }, { overage_cents }, { downloads_limit, overage_cents }]);
  const change: TermsChange = random.chance(0.5)
    ? { kind: 'change_plan', terms, effective }
    : { kind: 'change_terms', changes, effective, agreedAt: scene.world.now() };
  // Somebody who has got no answer orders it again.
  for (let times = random.between(1, 2); times > 0; times -= 1) await changeOf(client, change.kind, change, staffActor);
}

/** Whoever suspends an account sees to it that this ends. */
async function suspendForAWhile(client: Insider): Promise<void> {
  const { random } = client;
  await changeOf(client, 'suspension', { kind: 'suspend_account' }, staffActor);
  await pauseFor(random, 0, 6_000);
  const isOver = ['accepted', 'refused'];
  while (
    !isOver.includes((await changeOf(client, 'end of a suspension', { kind: 'lift_suspension' }, staffActor)) ?? '')
  )
    await pauseFor(random, 500, 3_000);
}

/** For good: whatever comes afterwards is refused. */
async function close(client: Insider): Promise<void> {
  const { accountId } = client.account;
  for (let times = drawTimes(client.random); times > 0; times -= 1)
    await order(client, 'closing', async (process) => {
      const snapshot = await process.postgres.statement(({ readModels }) => readModels.newestOf(accountId)?.snapshot);
      if (!snapshot) return 'no row';
      const request = { accountId, actor: staffActor, snapshot, correlationId: process.newUuid(), timeoutMs: 5_000 };
      const closed = await closeAccount(process, request);
      return isRefused(closed) ? closed.refusal : closed.outcome;
    });
}

const tokenOf = ({ data }: StoredEvent) => (data as { token: string }).token;

/** Some charges of one period. */
function drawCharges({ scene, random, account }: Insider): [StoredEvent, ...StoredEvent[]] | undefined {
  const isOwn = ({ stream, type }: StoredEvent) =>
    type === 'OverageCharged' && stream.startsWith(`usage-${account.accountId}-`);
  const charges = scene.world.log.readAll().filter(isOwn);
  const first = random.pick(charges);
  if (!first) return undefined;
  return [first, ...charges.filter(({ stream, revision }) => stream === first.stream && revision > first.revision)];
}

function drawLine({ scene, random, account }: Insider): { invoice_number: number; line: number } | undefined {
  const invoices = scene.world.log.read(`invoices-${account.accountId}`).filter(({ type }) => type === 'InvoiceIssued');
  const invoice = random.pick(invoices)?.data as { number: number; lines: readonly object[] } | undefined;
  return invoice && { invoice_number: invoice.number, line: random.between(1, invoice.lines.length) };
}

const drawReference = (random: Random) => `case-${String(random.between(1, 3))}`;

/** Gives back some charges of a period, and the same ones again under the same reference. */
async function waive(client: Insider): Promise<void> {
  const { random } = client;
  const charges = drawCharges(client);
  if (!charges) return;
  const waived = charges.map((charge) => ({ token: tokenOf(charge), revision: charge.revision }));
  const reference = drawReference(random);
  const { stream } = charges[0];
  for (let times = random.between(1, 2); times > 0; times -= 1) {
    const told = await order(client, `waiver of ${String(waived.length)} charges`, async (process) => {
      const refused = await giveBackCharges(process, { stream, charges: waived, reference, ...byOperator(client) });
      return { refused };
    });
    if (told && !told.refused) for (const { token } of waived) expectGivenBack(client, { token, reference });
  }
}

/**
 * What staff are told to be given back has to be, by this reference: by a waiver, or by a credit note that names the charge. A charge
 * of which nothing is left needs neither.
 */
function expectGivenBack(
  { scene: { world }, name }: Insider,
  of: { token: string; reference: string; cents?: number },
) {
  const about = world.log.events.filter(({ data }) => (data as { token?: string }).token === of.token);
  const credited = world.log.events.flatMap(({ type, data }) => {
    if (type !== 'CreditNoteIssued') return [];
    const { charges, reference } = data as CreditNoteIssued;
    return charges.filter(({ token }) => token === of.token).map((charge) => ({ ...charge, reference }));
  });
  const waived = about.flatMap(({ type, data }) => (type === 'ChargeWaived' ? [data as object] : []));
  const isGiven = [...waived, ...credited].some((given) => isDeepStrictEqual({ ...given, ...of }, given));
  const takenCents = about.reduce((left, { type, data }) => {
    const { cents = 0 } = data as { cents?: number };
    return type === 'OverageCharged' ? left + cents : left - cents;
  }, 0);
  const leftCents = credited.reduce((left, { cents }) => left - cents, takenCents);
  if (!isGiven && (leftCents > 0 || of.cents !== undefined))
    world.violations.push({
      rule: 'given_back_is_there',
      what: `${name} was told that ${JSON.stringify(of)} is given back`,
    });
}

/** Gives back a part of one charge. */
async function waivePart(client: Insider): Promise<void> {
  const [charge] = drawCharges(client) ?? [];
  if (!charge) return;
  const { stream, revision } = charge;
  const [token, reference] = [tokenOf(charge), 'part'];
  const charges = [{ token, revision, cents: client.random.between(1, 30) }];
  const told = await order(client, 'waiver of a part', (process) =>
    giveBack(process, { correction: { kind: 'charges', stream, charges }, reference, ...byOperator(client) }),
  );
  if (told && !isRefused(told)) expectGivenBack(client, { token, reference, cents: told.madeCents ?? 0 });
}

/** Gives back a part of a line of an invoice. */
async function credit(client: Insider): Promise<void> {
  const line = drawLine(client);
  const { random } = client;
  if (!line) return;
  const correction = { kind: 'credit_line', ...line, cents: random.between(1, 600) } as const;
  await giveByOperator(client, correction, drawReference(random));
}

const giveByOperator = (client: Insider, correction: WantedCorrection, reference: string) =>
  order(client, 'giving back', (process) => giveBack(process, { correction, reference, ...byOperator(client) }));

/** A line, one charge or many: a part of each, or all that is left. */
function drawCorrection(client: Insider): WantedCorrection | undefined {
  const { random } = client;
  const [first, ...others] = drawCharges(client) ?? [];
  const line = drawLine(client);
  const cents = random.chance(0.5) ? random.between(1, 60) : undefined;
  if (line && (!first || random.chance(0.3))) return { kind: 'credit_line', ...line, cents: cents ?? 60 };
  if (!first) return undefined;
  const drawn = random.chance(0.5) ? [first] : [first, ...others];
  const charges = drawn.map((charge) => ({ token: tokenOf(charge), revision: charge.revision, cents }));
  return { kind: 'charges', stream: first.stream, charges };
}

/** Asks in the console to give something back; others, or the same person, approve or refuse it. Each form may be sent twice. */
async function correct(client: Insider): Promise<void> {
  const { scene, random, account } = client;
  const { staff: people, approvalCents: limitCents } = scene.world;
  const correction = drawCorrection(client);
  if (!correction) return;
  const about = { accountId: account.accountId, correctionId: random.uuid(), timeoutMs: 5_000 };
  const asked = { ...about, reference: drawReference(random), correction, limitCents };
  const send = async (what: string, decide: (by: ServiceProcess, staffId: string) => Promise<CorrectionAnswer>) => {
    const staffId = random.pick(people) ?? '';
    for (let times = random.between(1, 2); times > 0; times -= 1) {
      const told = await order(client, `${what} of ${staffId.slice(0, 7)}`, async (process) => {
        const decided = await decide(process, staffId);
        if (isRefused(decided) || decided.status !== 'permitted') return decided;
        scene.corrections.push(decided);
        return await carryOutCorrection(process, about);
      });
      if (told && !isRefused(told)) scene.corrections.push(told);
    }
  };
  const by = (staffId: string) => ({ ...about, by: { staffId, reason: 'simulated' } });
  await send('request', (process, staffId) => askCorrection(process, { ...asked, ...by(staffId) }));
  for (let left = random.between(0, 2); left > 0; left -= 1) {
    await pauseFor(random, 0, 3_000);
    // Somebody gives back at the command line what was asked for in the console.
    if (random.chance(0.3)) await giveByOperator(client, correction, asked.reference);
    if (random.chance(0.8)) await send('approval', (process, staffId) => approveCorrection(process, by(staffId)));
    else await send('refusal', (process, staffId) => refuseCorrection(process, by(staffId)));
  }
}

/** A plan so small that its limits are met. */
export function drawTerms(random: Random): PlanTerms {
  return {
    plan: random.pick(['small', 'large']),
    downloads_limit: random.between(0, 4),
    metadata_limit: random.between(0, 3),
    overage_cents: random.chance(0.8) ? random.pick([25, 25, 50, 7]) : null,
    rate_version: random.pick(['2026-01', '2026-02']),
    fee_cents: random.pick([0, 900, 1_900]),
    hourly_limit: 30,
    max_keys: 5,
    warning_percents: random.chance(0.5) ? [50, 100] : [],
    service_failures_returned: random.chance(0.8),
  };
}
