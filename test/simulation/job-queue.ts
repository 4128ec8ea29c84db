import { sleep } from '../../src/async/sleep.ts';
import { jobRevisionIn } from '../../src/ports/job-queue.ts';
import type { JobMessage, JobQueue, ReceivedJob } from '../../src/ports/job-queue.ts';
import type { Network } from './event-log-client.ts';

interface QueuedMessage {
  message: JobMessage;
  id: string;
  deliveries: number;
  /** It is not delivered before. */
  atMs: number;
}

/** A message that is neither acknowledged nor kept alive is delivered again after so long. */
const ackWaitMs = 30_000;
const longestWaitMs = 3_000;

/** A work queue that takes a message once by its id, and that may lose, double, delay and reorder messages all the same. */
export class SimulatedQueue implements JobQueue {
  readonly #network: Pick<Network, 'happens' | 'delayMs'>;
  readonly #messages = new Set<QueuedMessage>();
  readonly #ids = new Set<string>();

  constructor(network: Pick<Network, 'happens' | 'delayMs'>) {
    this.#network = network;
  }

  async publish(message: JobMessage, id: string): Promise<void> {
    const { happens, delayMs } = this.#network;
    await sleep(delayMs(0, 4));
    if (happens('queue_fails')) throw new Error('the queue is away');
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    if (happens('message_forged')) {
      const forged = { ...message, usageRevision: message.usageRevision + delayMs(-2, 2) };
      this.#messages.add({ message: forged, id: `${id}0`, deliveries: 0, atMs: performance.now() });
    }
    const copies = happens('message_lost') ? 0 : happens('message_doubled') ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const lateMs = happens('message_late') ? delayMs(100, 30_000) : 0;
      this.#messages.add({ message, id, deliveries: 0, atMs: performance.now() + lateMs });
    }
  }

  async next(stopping: AbortSignal, wait = true): Promise<ReceivedJob | undefined> {
    const { happens, delayMs } = this.#network;
    const untilMs = performance.now() + (wait ? longestWaitMs : 0);
    for (;;) {
      await sleep(delayMs(0, 4));
      if (happens('queue_fails')) throw new Error('the queue is away');
      const due = [...this.#messages].find(({ atMs }) => atMs <= performance.now());
      if (due) return this.#deliver(due);
      if (stopping.aborted || performance.now() >= untilMs) return undefined;
      await sleep(1_000, stopping);
    }
  }

  #deliver(queued: QueuedMessage): ReceivedJob {
    const holdFor = (ms: number): void => {
      queued.atMs = performance.now() + ms;
    };
    queued.deliveries += 1;
    holdFor(ackWaitMs);
    return {
      ...{ message: queued.message, traceparent: undefined, deliveries: queued.deliveries },
      jobRevision: jobRevisionIn(queued.id),
      acknowledge: () => {
        if (!this.#network.happens('message_lost')) this.#messages.delete(queued);
      },
      keepAlive: () => holdFor(ackWaitMs),
      postpone: holdFor,
    };
  }
}
