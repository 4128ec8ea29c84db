import { setTimeout as sleepFor } from 'node:timers/promises';
import { hashIdempotencyKey } from '../../src/commands/ids/idempotency-key-hash.ts';
import type { Random } from './random.ts';
import type { ApiAnswer, ApiRequest, Operation } from './service.ts';
import type { SimulatedAccount, World } from './world.ts';

/** A request, and what its client knows of it. */
export interface Call {
  client: string;
  /** Whom it was sent to. */
  api: Api;
  accountId: string;
  request: ApiRequest;
  keyHash: string | undefined;
  sentMs: number;
  /** Infinity: never. */
  answeredMs: number;
  /** Undefined: none came. A client that has given up does not see it; it has to be true all the same. */
  answer: ApiAnswer | undefined;
  /** The process's `workedMs` when the request came, and when it was answered; undefined: nobody knows. */
  worked: { atRequestMs: number | undefined; atAnswerMs?: number | undefined };
}

/** A process that takes requests: simulated, or a real one. */
export interface Api {
  name: string;
  /** It has to be true whenever it comes, and never comes if the process ends before. */
  answer: (request: ApiRequest) => Promise<ApiAnswer>;
  ended: { promise: Promise<unknown> };
  /** For how long it has run, without the time that it stood still; undefined: it has ended. */
  workedMs?: () => number | undefined;
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

const latestArrivalMs = 25_000;

export interface Client {
  scene: Scene;
  name: string;
  random: Random;
  account: SimulatedAccount;
  /** The one that it asks; default: a random one each time. */
  process?: Api;
}

/** Some come together, and many when a billing period ends. */
export function arrivalMs({ endOfPeriodMs, comesInBursts, nowMs }: World, random: Random): number {
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
  // At once, and some of them with the same key.
  const downloads = Array.from({ length: random.pick([1, 1, 8]) }, () => {
    const video = random.between(10, 14);
    const idempotencyKey = video === 10 ? undefined : `${client.account.keyId}-${String(video)}`;
    return call(client, '/video/download', { url: world.urlOf(video), idempotencyKey });
  });
  await Promise.all(downloads);
  await call(client, '/credits', {});
  scene.busy -= 1;
}

/** Polls downloads of before, long after. */
export async function runLateClient(scene: Scene, process: Api, name: string): Promise<void> {
  const { world } = scene;
  const random = world.randomness.of(name);
  scene.busy += 1;
  for (let left = 2; left > 0; left -= 1) {
    const told = random.pick(scene.calls.filter(({ answer }) => answer?.status === 202));
    const account = world.accounts.find(({ accountId }) => accountId === told?.accountId);
    const token = told?.answer?.data?.['request_token'];
    if (account) await call({ scene, name, random, account, process }, '/video/status', { token: String(token) });
    await pauseFor(random, 0, 5_000);
  }
  scene.busy -= 1;
}

export const pauseFor = (random: Random, leastMs: number, mostMs: number) => sleepFor(random.between(leastMs, mostMs));

/** Sends one request to one process. @returns undefined if no answer came while the client was there */
export async function call(
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
    client: name,
    api: process,
    accountId: account.accountId,
    request,
    sentMs: world.nowMs(),
    answeredMs: Infinity,
    keyHash: key === undefined ? undefined : hashIdempotencyKey(key),
    answer: undefined,
    worked: { atRequestMs: process.workedMs?.() },
  };
  scene.calls.push(sent);
  world.tell(
    name,
    `${operation} ${request.url ?? request.token ?? ''} ${key ?? ''} to ${process.name} (${request.id.slice(0, 8)})`,
  );
  const answered = process.answer(request).then((answer) => {
    Object.assign(sent, { answer, answeredMs: world.nowMs() });
    sent.worked.atAnswerMs = process.workedMs?.();
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
export async function downloader(client: Client): Promise<void> {
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

export async function reader(client: Client): Promise<void> {
  for (let left = client.random.between(1, 3); left > 0; left -= 1) {
    await call(client, '/video/metadata', { url: client.scene.world.urlOf(client.random.between(10, 1_000_000)) });
    await pauseFor(client.random, 50, 4_000);
  }
}

export async function watcher(client: Client): Promise<void> {
  for (let left = client.random.between(2, 8); left > 0; left -= 1) {
    await call(client, '/credits', {});
    await pauseFor(client.random, 10, 4_000);
  }
}
