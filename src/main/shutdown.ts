import type { Logger } from 'pino';
import { withDeadline } from '../async/deadline.ts';

/**
 * How long a stop may take in all. The programs that start processes (npm, systemd, a container runtime) wait for at least ten
 * seconds; a second of these is left to a machine that is busy.
 */
const stopLimitMs = 9_000;
/** Time that each stage leaves to each of the stages behind it. */
const leftToOthersMs = 700;
/** Limit of the start's current step: the parts that it uses keep running until then. */
const startStepLimitMs = 4_000;

interface Part {
  name: string;
  stop: () => Promise<unknown>;
}

/** The start was given up, because a stop has begun. */
class StartAbandoned extends Error {
  override readonly name = 'StartAbandoned';
}

/**
 * Stops everything that was started, in the reverse order. A server that does not answer can keep a part waiting for ever, so
 * each part has a limit, and all of them together have one. Parts that are left then end with the process.
 */
export class Shutdown {
  readonly #logger: Logger;
  /** The parts of a stage are stopped side by side. */
  readonly #stages: { name: string; parts: Part[] }[] = [];
  readonly #abandoning = new AbortController();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * @param stage parts that follow one another in the same stage are stopped side by side
   * @throws {StartAbandoned} while stopping: then the part is stopped too, and nothing more is to be started
   */
  add(name: string, stop: () => Promise<unknown>, stage = name): void {
    const last = this.#stages.at(-1);
    if (last?.name === stage) last.parts.push({ name, stop });
    else this.#stages.push({ name: stage, parts: [{ name, stop }] });
    if (this.abandoned.aborted) throw new StartAbandoned(`${name} is no longer needed`);
  }

  /** Aborted when the stop begins, for long steps of the start. */
  get abandoned(): AbortSignal {
    return this.#abandoning.signal;
  }

  /** @param starting the start, which ends at the next part that it adds */
  async stop(starting: Promise<unknown>): Promise<void> {
    this.#abandoning.abort();
    const deadlineMs = performance.now() + stopLimitMs;
    const started = starting.catch(() => undefined);
    await withDeadline(started, startStepLimitMs, () => undefined);
    for (let stage = this.#stages.pop(); stage; stage = this.#stages.pop()) {
      const limitMs = deadlineMs - performance.now() - this.#stages.length * leftToOthersMs;
      await Promise.all(stage.parts.map((part) => this.#stopInTime(part, Math.max(0, limitMs))));
    }
  }

  async #stopInTime({ name, stop }: Part, limitMs: number): Promise<void> {
    await withDeadline(stop(), limitMs, () => {
      throw new Error(`it took longer than ${String(Math.round(limitMs))} ms`);
    }).catch((error: unknown) => {
      this.#logger.error({ err: error, part: name }, 'a part did not stop in order');
    });
  }
}
