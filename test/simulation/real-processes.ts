import { setTimeout as sleepFor } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { call } from '../support/client.ts';
import type { Installation } from '../support/installation.ts';
import type { Environment, ServiceProcess } from '../support/service.ts';
import type { Api } from './clients.ts';
import type { KillPoint } from './kill-points.ts';
import type { Random } from './random.ts';
import type { ApiAnswer, ApiRequest } from './service.ts';

export type Role = Parameters<Installation['startRole']>[0];

/** What has happened to processes. */
export interface Counts {
  /** By their points: calls and replies of ports. */
  killedAt: Record<KillPoint['at'], number>;
  /** At an instant, since they did not come to their point. */
  killedWaiting: number;
  /** Drawn in the place of kills. */
  pauses: number;
  starts: number;
}

/** Those at a drawn point. */
export const killsOf = ({ killedAt: { call, reply } }: Counts): number => call + reply;

/** The ports that a process of a role uses, the more often the more it does there. */
const portsOf: Readonly<Record<Role, readonly [KillPoint['port'], ...KillPoint['port'][]]>> = {
  api: ['event_store', 'event_store', 'postgres', 'nats'],
  projector: ['event_store', 'postgres', 'postgres'],
  dispatcher: ['event_store', 'postgres', 'nats'],
  worker: ['event_store', 'event_store', 'postgres', 'nats'],
};
/** So often a process calls a port, or gets a reply, in about ten seconds. */
const mostCounts: Readonly<Record<KillPoint['port'], number>> = { event_store: 30, postgres: 200, nats: 6 };

/** @param reach the higher, the later: processes get more done between kills */
function drawKillPoint(random: Random, role: Role, reach: number): KillPoint {
  const port = random.pick(portsOf[role]);
  const most = Math.max(1, Math.round(random.pick([2, mostCounts[port] / 4, mostCounts[port]]) * reach));
  return {
    port,
    at: random.pick(['call', 'reply']),
    count: random.between(1, most),
    from: random.chance(0.1) ? 'start' : 'ready',
    // So long that a worker loses its claim now and then.
    ...(random.chance(0.15) && { pauseSeconds: random.between(1, role === 'worker' ? 40 : 15) }),
  };
}

const preload = fileURLToPath(new URL('kill-points.ts', import.meta.url));

/** A place for a process of a role, which is started again whenever it has been killed. */
export class Slot {
  /** The one that takes requests. */
  running: Api | undefined;
  readonly #random: Random;
  readonly role: Role;
  readonly #options: SlotOptions;

  constructor(role: Role, random: Random, options: SlotOptions) {
    this.role = role;
    this.#random = random;
    this.#options = options;
  }

  /**
   * Starts one process after the other until it is enough, and shuts down the last one, which may still be killed meanwhile.
   *
   * @throws where one ends without having been killed
   */
  async keepRunning(isEnough: () => boolean): Promise<void> {
    while (!isEnough()) {
      const point = drawKillPoint(this.#random, this.role, this.#options.reach);
      const waitMs = 1_000 * (this.#random.between(5, 20) + (point.pauseSeconds ?? 0));
      const { name, started } = await this.#start(point);
      // It may never come to its point.
      const end = started && (await Promise.race([started.ended, endOf(isEnough, waitMs)]));
      this.running = undefined;
      if (end === 'enough') await started?.stop();
      else if (end === 'late') await started?.kill();
      const code = await started?.ended;
      if (typeof code === 'number' && (code !== 0 || end !== 'enough'))
        throw new Error(`${name} ended with ${String(code)}: ${started?.log() ?? ''}`);
      if (code !== 0) this.#count(name, end === 'late' || point.pauseSeconds !== undefined ? undefined : point);
    }
  }

  /** Starts one to which nothing happens. */
  async startCalm(): Promise<void> {
    await this.#start();
  }

  #count(name: string, point: KillPoint | undefined): void {
    const { counts, tell } = this.#options;
    if (point) counts.killedAt[point.at] += 1;
    else counts.killedWaiting += 1;
    tell(name, point ? `is killed at ${point.at} ${String(point.count)} of ${point.port}` : 'is killed');
  }

  /** @returns without a process where it ended before it was ready */
  async #start(point?: KillPoint): Promise<{ name: string; started?: ServiceProcess }> {
    const { installation, environment, counts } = this.#options;
    counts.starts += 1;
    if (point?.pauseSeconds !== undefined) counts.pauses += 1;
    const name = `${this.role}.${String(counts.starts)}`;
    const variables = { ...environment, ...(point && { KILL_POINT: JSON.stringify(point) }) };
    const withPreload = ([node = '', ...words]: readonly string[]) => [node, '--import', preload, ...words];
    try {
      const started = await installation.startRole(this.role, variables, withPreload);
      this.running = apiOf(name, started);
      return { name, started };
    } catch (error) {
      const wasKilled = point !== undefined && String(error).includes('the service ended with null');
      // One that stands still as it starts finds that the servers have not answered in time, says so and ends.
      const gaveUp = point?.from === 'start' && point.pauseSeconds !== undefined && String(error).includes('answer');
      if (wasKilled || gaveUp) return { name };
      throw error;
    }
  }
}

/** Looked at so often whether enough processes were killed. */
const lookEveryMs = 100;

async function endOf(isEnough: () => boolean, withinMs: number): Promise<'enough' | 'late'> {
  const lateMs = performance.now() + withinMs;
  while (performance.now() < lateMs) {
    if (isEnough()) return 'enough';
    await sleepFor(lookEveryMs);
  }
  return 'late';
}

interface SlotOptions {
  installation: Pick<Installation, 'startRole'>;
  environment: Environment;
  reach: number;
  counts: Counts;
  tell: (who: string, what: string) => void;
}

/** A process as its clients see it. Every answer is checked by what the contract says of all of them. */
const apiOf = (name: string, { url, ended }: ServiceProcess): Api => ({
  name,
  ended: { promise: ended },
  answer: async (request) => {
    const { operation, apiKey: key, url: video = '', idempotencyKey, token = '' } = request;
    const paths: Record<ApiRequest['operation'], [path: string, body?: object]> = {
      '/video/download': [operation, { url: video, quality: '360' }],
      '/video/metadata': [`${operation}?url=${encodeURIComponent(video)}`],
      '/video/status': [`${operation}?token=${token}`],
      '/credits': [operation],
    };
    const [path, body] = paths[operation];
    const headers = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    try {
      const answer = await call(url, path, { key, headers, ...(body && { body }) });
      // The service names requests itself.
      request.id = answer.headers.get('x-request-id') ?? '';
      return {
        status: answer.status,
        ...(answer.code === undefined ? { data: answer.data } : { code: answer.code as ApiAnswer['code'] & string }),
        creditsRemaining: Number(answer.headers.get('x-credits-remaining')),
      };
    } catch (error) {
      // fetch: the connection was refused or broke.
      if (error instanceof TypeError) return { status: 'cut' };
      throw error;
    }
  },
});
