import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { patienceMs } from '../support/wait-for.ts';
import { addCoverage, type Coverage } from './coverage.ts';
import type { Edit } from './module-hooks.ts';
import type { History } from './simulation.ts';
import type { Order, Settings } from './worker.ts';

interface RunOptions {
  only?: readonly string[] | undefined;
  print?: (line: string) => void;
  /** Whether the history is to have its log. */
  keepsLog?: boolean;
}

/** No history takes nearly as much of a processor, in milliseconds. On a busy machine that may last for minutes. */
const mostCpuMs = 20_000;
const lookEveryMs = 1_000;

/** Runs histories in a thread of its own. */
export class Runner {
  readonly #settings: Settings;
  #worker: Worker;

  /** @param edits changes of the service's source, for a planted bug */
  constructor(edits: readonly Edit[] = [], { covers = false } = {}) {
    this.#settings = { edits, covers };
    this.#worker = this.#start();
  }

  #start(): Worker {
    // Histories leave much behind that is short-lived.
    const resourceLimits = { maxYoungGenerationSizeMb: 64 };
    return new Worker(new URL('./worker.ts', import.meta.url), { workerData: this.#settings, resourceLimits });
  }

  /** One at a time. */
  run(seed: number, { only, print, keepsLog = false }: RunOptions = {}): Promise<History> {
    const { promise, resolve, reject } = Promise.withResolvers<History>();
    const take = (message: string | History) => {
      if (typeof message === 'string') print?.(message);
      else resolve(message);
    };
    const worker = this.#worker;
    const giveUp = () => {
      void worker.terminate();
      this.#worker = this.#start();
      const nothing = { requests: 0, events: 0, virtualMs: 0, faults: [], clients: [], traceHash: '' };
      resolve({ ...nothing, seed, violations: [{ rule: 'hangs', what: 'something repeats itself without a pause' }] });
    };
    const over = new AbortController();
    void hangs(worker, over.signal).then((isHanging) => isHanging && !over.signal.aborted && giveUp());
    worker.on('message', take).once('error', reject);
    worker.postMessage({ seed, only, traces: print !== undefined, keepsLog } satisfies Order);
    return promise.finally(() => {
      over.abort();
      worker.off('message', take).off('error', reject);
    });
  }

  /** What has run so far; only of a runner that covers. */
  coverage(): Promise<Coverage> {
    return new Promise((resolve) => {
      this.#worker.once('message', resolve).postMessage('coverage');
    });
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** @returns true for a thread that goes on for too long, false once `over` is aborted */
async function hangs(worker: Worker, over: AbortSignal): Promise<boolean> {
  const startedMs = performance.now();
  let before: NodeJS.CpuUsage | undefined;
  while (!over.aborted) {
    // A thread that is only starting has used nothing.
    const used = await worker.cpuUsage(before).catch(() => undefined);
    const usedMs = before && used ? (used.user + used.system) / 1_000 : 0;
    if (usedMs > mostCpuMs || performance.now() - startedMs > patienceMs) return true;
    before ??= used;
    await delay(lookEveryMs, undefined, { signal: over }).catch(() => undefined);
  }
  return false;
}

export interface Totals {
  seeds: number;
  requests: number;
  events: number;
  faults: number;
  virtualHours: number;
  seconds: number;
  /** Of the hashes of all traces, in the order of their seeds. */
  traceHashes: string[];
  failed: History[];
  coverage: Coverage;
}

/** Runs many histories in several threads. @param onDone told after each how many are done */
export async function runSeeds(
  { first, count, threads, covers = false }: { first: number; count: number; threads: number; covers?: boolean },
  onDone: (done: number) => void = () => undefined,
): Promise<Totals> {
  const startedMs = performance.now();
  const totals = { seeds: 0, requests: 0, events: 0, faults: 0, virtualHours: 0, failed: [] as History[] };
  const traceHashes: string[] = [];
  const coverage: Coverage = new Map();
  let next = first;
  const work = async () => {
    const runner = new Runner([], { covers });
    try {
      while (next < first + count) {
        const history = await runner.run(next++);
        totals.seeds += 1;
        totals.requests += history.requests;
        totals.events += history.events;
        totals.faults += history.faults.length;
        totals.virtualHours += history.virtualMs / 3_600_000;
        traceHashes[history.seed - first] = history.traceHash;
        if (history.violations.length > 0) totals.failed.push(history);
        onDone(totals.seeds);
      }
      if (covers) addCoverage(coverage, await runner.coverage());
    } finally {
      await runner.end();
    }
  };
  await Promise.all(Array.from({ length: Math.min(threads, count) }, work));
  return { ...totals, coverage, traceHashes, seconds: (performance.now() - startedMs) / 1_000 };
}
