import { sleep } from '../../src/async/sleep.ts';
import { type JobMessage, type JobQueue, jobRevisionIn, type ReceivedJob } from '../../src/ports/job-queue.ts';
import type { Network } from './event-log-client.ts';

interface QueuedMessage {
  message: JobMessage;
  id: string;
  traceparent: string | undefined;
  deliveries: number;
  /** It is not delivered before. */
  atMs: number;
}

/** A message that is neither acknowledged nor kept alive is delivered again after so long. */
export const defaultAckWaitMs = 30_000;
/** A message with the id of an earlier one is not taken for so long. */
export const duplicateWindowMs = 120_000;
const longestWaitMs = 3_000;

/** A work queue that takes a message once by its id, and that may lose, double, delay and reorder messages all the same. */
export class SimulatedQueue implements JobQueue {
  readonly #network: Pick<Network, 'happens' | 'delayMs'>;
  ackWaitMs = defaultAckWaitMs;
  readonly #messages = new Set<QueuedMessage>();
  /** When each id was taken. */
  readonly #ids = new Map<string, number>();

  constructor(network: Pick<Network, 'happens' | 'delayMs'>) {
    this.#network = network;
  }

  /** Of messages that are not acknowledged. */
  get size(): number {
    return this.#messages.size;
  }

  async publish(message: JobMessage, id: string, traceparent?: string): Promise<void> {
    const { happens, delayMs } = this.#network;
    await sleep(delayMs(0, 4));
    if (happens('queue_fails')) throw new Error('the queue is away');
    const nowMs = performance.now();
    if ((this.#ids.get(id) ?? -Infinity) > nowMs - duplicateWindowMs) return;
    this.#ids.set(id, nowMs);
    const queued = { message, id, traceparent, deliveries: 0, atMs: nowMs };
    if (happens('message_forged')) {
      const forged = { ...message, usageRevision: message.usageRevision + delayMs(-2, 2) };
      this.#messages.add({ ...queued, message: forged, id: `${id}0` });
    }
    const copies = happens('message_lost') ? 0 : happens('message_doubled') ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const lateMs = happens('message_late') ? delayMs(100, 30_000) : 0;
      this.#messages.add({ ...queued, atMs: nowMs + lateMs });
    }
  }

  async next(stopping: AbortSignal, wait = true): Promise<ReceivedJob | undefined> {
    const { happens, delayMs } = this.#network;
    const untilMs = performance.now() + (wait ? longestWaitMs : 0);
    for (;;) {
      await sleep(delayMs(0, 4));
      if (happens('queue_fails')) throw new Error('the queue is away');
      if (stopping.aborted) return undefined;
      const due = [...this.#messages].find(({ atMs }) => atMs <= performance.now());
      if (due) return this.#deliver(due);
      if (performance.now() >= untilMs) return undefined;
      await sleep(1_000, stopping);
    }
  }

  #deliver(queued: QueuedMessage): ReceivedJob {
    const holdFor = (ms: number): void => {
      queued.atMs = performance.now() + ms;
    };
    queued.deliveries += 1;
    holdFor(this.ackWaitMs);
    return {
      message: queued.message,
      traceparent: queued.traceparent,
      deliveries: queued.deliveries,
      jobRevision: jobRevisionIn(queued.id),
      acknowledge: () => {
        if (!this.#network.happens('message_lost')) this.#messages.delete(queued);
      },
      keepAlive: () => holdFor(this.ackWaitMs),
      postpone: holdFor,
    };
  }
}
