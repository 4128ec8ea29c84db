import { setTimeout as sleepFor } from 'node:timers/promises';
import { changeTerms } from '../../src/commands/change-terms.ts';
import type { TermsChange } from '../../src/commands/change-terms.ts';
import { hashIdempotencyKey } from '../../src/commands/idempotency-key-hash.ts';
import { correctCharge } from '../../src/commands/correct-charge.ts';
import { issueCreditNote } from '../../src/commands/issue-credit-note.ts';
import { waiveCharges } from '../../src/commands/waive-charges.ts';
import type { Actor } from '../../src/domain/parse-event.ts';
import type { PlanTerms } from '../../src/domain/plans.ts';
import type { StoredEvent } from './event-log.ts';
import type { Random } from './random.ts';
import type { ApiAnswer, ApiProcess, ApiRequest, Operation, ServiceProcess } from './service.ts';
import type { SimulatedAccount, World } from './world.ts';

/** A request, and what its client knows of it. */
export interface Call {
  client: string;
  accountId: string;
  request: ApiRequest;
  keyHash: string | undefined;
  sentMs: number;
  /** Infinity: never. */
  answeredMs: number;
  /** Undefined: none came. A client that has given up does not see it; it has to be true all the same. */
  answer: ApiAnswer | undefined;
}

/** A process that takes requests: simulated, or a real one. */
export interface Api {
  name: string;
  /** It has to be true whenever it comes, and never comes if the process ends before. */
  answer: (request: ApiRequest) => Promise<ApiAnswer>;
  ended: { promise: Promise<unknown> };
}

/** The world as clients of the API see it. */
export interface Scene {
  world: Pick<World, 'randomness' | 'tell' | 'shareOfMistakes'> & {
    accounts: readonly SimulatedAccount[];
    /** Since the history began. */
    nowMs: () => number;
    /** The address of a video that nothing else has. */
    urlOf: (video: number) => string;
  };
  calls: Call[];
  /** Those that take connections, whether they stand still or not. */
  apis: () => readonly Api[];
  /** The number of clients that have not finished. */
  busy: number;
}

/** With the inside, on which owners and staff act. */
export interface SimulatedScene extends Scene {
  world: World;
  apis: () => readonly ApiProcess[];
}

/** Account owners, staff and clients of the API, each with a will of its own that follows from the seed. */
export const clientKinds = { downloader, reader, watcher, owner, staff };
export type ClientKind = keyof typeof clientKinds;

const latestArrivalMs = 25_000;

interface Client {
  scene: Scene;
  name: string;
  random: Random;
  account: SimulatedAccount;
  /** The one that it asks; default: a random one each time. */
  process?: Api;
}

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

/** Some come together, and many when a billing period ends. */
function arrivalMs({ endOfPeriodMs, comesInBursts, nowMs }: World, random: Random): number {
  if (endOfPeriodMs < latestArrivalMs && random.chance(0.3)) return endOfPeriodMs - nowMs() + random.between(-900, 900);
  return comesInBursts ? 5_000 * random.between(0, latestArrivalMs / 5_000) : random.between(0, latestArrivalMs);
}

/** When nothing fails any more, each process answers everything at once. */
export async function runLastClient(scene: Scene, process: Api): Promise<void> {
  const { world } = scene;
  const name = `last.${process.name}`;
  const random = world.randomness.of(name);
  const client = { scene, name, random, account: random.pick(world.accounts)!, process };
  scene.busy += 1;
  await call(client, '/video/download', { url: world.urlOf(random.between(10, 1_000_000)) });
  await call(client, '/credits', {});
  scene.busy -= 1;
}

const pauseFor = (random: Random, leastMs: number, mostMs: number) => sleepFor(random.between(leastMs, mostMs));

/** Sends one request to one process. @returns undefined if no answer came while the client was there */
async function call(
  { scene, name, random, account, process = random.pick(scene.apis()) }: Client,
  operation: Operation,
  what: Partial<ApiRequest>,
  patienceMs = 30_000,
): Promise<ApiAnswer | undefined> {
  const { world } = scene;
  if (!process) return undefined;
  const request = { operation, id: world.randomness.of('request ids').uuid(), apiKey: account.apiKey, ...what };
  const key = request.idempotencyKey;
  const sent: Call = {
    ...{ client: name, accountId: account.accountId, request, sentMs: world.nowMs(), answeredMs: Infinity },
    keyHash: key === undefined ? undefined : hashIdempotencyKey(key),
    answer: undefined,
  };
  scene.calls.push(sent);
  world.tell(
    name,
    `${operation} ${request.url ?? request.token ?? ''} ${key ?? ''} to ${process.name} (${request.id.slice(0, 8)})`,
  );
  const answered = process.answer(request).then((answer) => {
    Object.assign(sent, { answer, answeredMs: world.nowMs() });
    world.tell(process.name, `answers ${request.id.slice(0, 8)}: ${textOf(answer)}`);
    return answer;
  });
  const died = process.ended.promise.then(() => undefined);
  const gaveUp = sleepFor(patienceMs, undefined);
  return await Promise.race([answered, died, gaveUp]);
}

const textOf = ({ status, code, data, creditsRemaining }: ApiAnswer): string =>
  [status, code, JSON.stringify(data), creditsRemaining].filter((part) => part !== undefined).join(' ');

/** With an idempotency key it asks until it is answered; without, it may ask once more, which is another download. */
async function downloader(client: Client): Promise<void> {
  const { random, account, scene } = client;
  const { urlOf, shareOfMistakes } = scene.world;
  const isKeyed = random.chance(0.6);
  const key = random.between(1, 4);
  const idempotencyKey = isKeyed ? `${account.keyId}-${String(key)}` : undefined;
  // A key stands for one video, except for a client that makes a mistake.
  const isMistaken = random.chance(shareOfMistakes);
  const url = urlOf(isKeyed && !isMistaken ? key : random.between(10, 1_000_000));
  const patienceMs = random.chance(0.3) ? random.between(500, 9_000) : 30_000;
  const tries = isKeyed ? 8 : random.between(1, 2);
  for (let count = 0; count < tries; count += 1) {
    const answer = await call(client, '/video/download', { url, idempotencyKey }, patienceMs);
    if (answer?.status === 202) {
      await poll(client, String(answer.data?.['request_token']));
      // Somebody who has lost the answer asks again, maybe in another period.
      if (!isKeyed || random.chance(0.6)) return;
      await pauseFor(random, 1_000, 20_000);
    }
    if (answer?.status === 402 || answer?.status === 400) return;
    await pauseFor(random, 50, 4_000);
  }
}

async function poll(client: Client, token: string): Promise<void> {
  for (let left = client.random.between(0, 4); left > 0; left -= 1) {
    await pauseFor(client.random, 0, client.random.pick([10, 4_000]));
    await call(client, '/video/status', { token });
  }
}

async function reader(client: Client): Promise<void> {
  for (let left = client.random.between(1, 3); left > 0; left -= 1) {
    await call(client, '/video/metadata', { url: client.scene.world.urlOf(client.random.between(10, 1_000_000)) });
    await pauseFor(client.random, 50, 4_000);
  }
}

async function watcher(client: Client): Promise<void> {
  for (let left = client.random.between(2, 8); left > 0; left -= 1) {
    await call(client, '/credits', {});
    await pauseFor(client.random, 10, 4_000);
  }
}

/** Gives an order in the console or at the command line. Its failure is not an answer to anybody. */
async function order(
  client: Insider,
  what: string,
  give: (process: ServiceProcess) => Promise<unknown>,
): Promise<void> {
  const { scene, name, random } = client;
  const process = random.pick(scene.apis());
  if (!process) return;
  scene.world.tell(name, `${what}, at ${process.name}`);
  const given = process
    .run(() => give(process))
    .then(
      (outcome) => JSON.stringify(outcome),
      (error: unknown) => String(error),
    );
  const outcome = await Promise.race([given, process.ended.promise.then(() => 'died'), sleepFor(30_000, 'no answer')]);
  scene.world.tell(name, `${what}: ${outcome.slice(0, 80)}`);
}

async function changeOf(client: Insider, what: string, change: TermsChange, actor: Actor): Promise<void> {
  const { accountId } = client.account;
  await order(client, what, async (process) => {
    const snapshot = await process.postgres.statement(({ readModels }) => readModels.newestOf(accountId)?.snapshot);
    if (!snapshot) return 'no row';
    const id = process.newUuid();
    const cause = { commandId: id, correlationId: id, causationId: id, actor };
    return (await changeTerms(process.writers, { accountId, change, snapshot, cause, timeoutMs: 5_000 })).outcome;
  });
}

async function owner(client: Insider): Promise<void> {
  const { random, account } = client;
  for (let left = random.between(1, 3); left > 0; left -= 1) {
    const effective = random.chance(0.7) ? 'now' : 'next_period';
    const change: TermsChange = random.chance(0.25)
      ? { kind: 'remove_overage_cap', effective }
      : { kind: 'set_overage_cap', overageCapCents: 25 * random.between(0, 5), effective };
    await changeOf(client, `${change.kind} ${effective}`, change, { type: 'owner', id: account.personId });
    await pauseFor(random, 100, 8_000);
  }
}

const staffActor = { type: 'staff', id: 'alice', role: 'finance', reason: 'simulated' } as const;

async function staff(client: Insider): Promise<void> {
  const { random } = client;
  for (let left = random.between(1, 3); left > 0; left -= 1) {
    await random.pick([changePlan, waive, waivePart, credit])(client);
    await pauseFor(random, 100, 8_000);
  }
}

async function changePlan(client: Insider): Promise<void> {
  const change: TermsChange = { kind: 'change_plan', terms: drawTerms(client.random), effective: undefined };
  await changeOf(client, 'change of plan', change, staffActor);
}

/** Gives back some charges of a period, and the same ones again under the same reference. */
async function waive(client: Insider): Promise<void> {
  const { scene, random, account } = client;
  const isOwn = ({ stream }: StoredEvent) => stream.startsWith(`usage-${account.accountId}-`);
  const charges = scene.world.log.readAll().filter((event) => isOwn(event) && event.type === 'OverageCharged');
  const first = random.pick(charges);
  if (!first) return;
  const ofPeriod = charges.filter(({ stream, revision }) => stream === first.stream && revision >= first.revision);
  const waived = ofPeriod.map(({ data, revision }) => ({ token: (data as { token: string }).token, revision }));
  const reference = `case-${String(random.between(1, 3))}`;
  for (let times = random.between(1, 2); times > 0; times -= 1)
    await order(client, `waiver of ${String(waived.length)} charges`, (process) =>
      waiveCharges(process, { stream: first.stream, charges: waived, reference, actor: staffActor, timeoutMs: 5_000 }),
    );
}

/** Gives back a part of one charge. */
async function waivePart(client: Insider): Promise<void> {
  const { scene, random, account } = client;
  const isCharge = ({ stream, type }: StoredEvent) =>
    type === 'OverageCharged' && stream.startsWith(`usage-${account.accountId}-`);
  const charge = random.pick(scene.world.log.readAll().filter(isCharge));
  if (!charge) return;
  const { token } = charge.data as { token: string };
  const command = { kind: 'waive_charge', token, cents: random.between(1, 30), reference: 'part' } as const;
  await order(client, 'waiver of a part', (process) => {
    const id = process.newUuid();
    const cause = { commandId: id, correlationId: id, causationId: id, actor: staffActor };
    return correctCharge(process, { stream: charge.stream, command, cause, timeoutMs: 5_000 });
  });
}

/** Gives back a part of a line of an invoice. */
async function credit(client: Insider): Promise<void> {
  const { scene, random, account } = client;
  const invoices = scene.world.log.read(`invoices-${account.accountId}`).filter(({ type }) => type === 'InvoiceIssued');
  const invoice = random.pick(invoices)?.data as { number: number; lines: readonly object[] } | undefined;
  if (!invoice) return;
  const note = {
    ...{ account_id: account.accountId, invoice_number: invoice.number, line: random.between(1, invoice.lines.length) },
    ...{ charge_event_id: null, cents: random.between(1, 600), reference: `note-${String(random.between(1, 3))}` },
  };
  await order(client, 'credit note', (process) =>
    issueCreditNote(process, { note, actor: staffActor, timeoutMs: 5_000 }),
  );
}

/** A plan so small that its limits are met. */
export function drawTerms(random: Random): PlanTerms {
  return {
    plan: random.pick(['small', 'large']),
    downloads_limit: random.between(0, 4),
    metadata_limit: random.between(0, 3),
    overage_cents: random.chance(0.8) ? 25 * random.between(1, 2) : null,
    rate_version: random.pick(['2026-01', '2026-02']),
    fee_cents: random.pick([0, 900, 1_900]),
    hourly_limit: 30,
    max_keys: 5,
    warning_percents: random.chance(0.5) ? [50, 100] : [],
    service_failures_returned: random.chance(0.8),
  };
}
