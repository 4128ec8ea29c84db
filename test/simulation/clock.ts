import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

/**
 * Virtual time: timers fire in their order without anybody waiting for them. `install` replaces Node's timers, clocks and chance
 * in this thread, for the modules that are loaded already and for those that come.
 *
 * Between two timers everything that can run without one runs to its end, so the order of all steps follows from the seed alone.
 */

/** The process that a timer belongs to. It decides whether and when the timer's callback runs. */
export interface TimerOwner {
  deliver: (run: () => void) => void;
}

const owners = new AsyncLocalStorage<TimerOwner | undefined>();

/** Runs something as a part of a process; undefined: of the world around the processes. What it leads to belongs there too. */
export const runAs = <Result>(owner: TimerOwner | undefined, work: () => Result): Result => owners.run(owner, work);

class Timer {
  isCleared = false;
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;

  constructor(atMs: number, order: number, run: () => void) {
    this.atMs = atMs;
    this.order = order;
    this.run = run;
  }

  ref = (): this => this;
  unref = (): this => this;

  isBefore(other: Timer): boolean {
    return this.atMs < other.atMs || (this.atMs === other.atMs && this.order < other.order);
  }
}

const never = 1e12;
/** More steps at one instant are an endless loop. */
const maxStepsAtOnce = 100_000;

let nowMs = 0;
let order = 0;
let timers: Timer[] = [];

/** The instant of virtual time, in milliseconds since the beginning of this run. */
export const virtualMs = (): number => nowMs;

/** Calls back after a time, as a part of what calls now. */
export function after(delayMs: number, callback: () => void): Timer {
  const owner = owners.getStore();
  const run = owner ? () => owner.deliver(() => owners.run(owner, callback)) : () => owners.run(undefined, callback);
  const delay = Number.isFinite(delayMs) ? Math.max(0, delayMs) : never;
  const timer = new Timer(nowMs + delay, order++, run);
  push(timer);
  return timer;
}

export const pause = (delayMs: number): Promise<void> =>
  new Promise((resolve) => {
    after(delayMs, resolve);
  });

/** Begins anew at 0 with no timer. */
export function reset(): void {
  nowMs = 0;
  order = 0;
  timers = [];
}

/**
 * Lets time pass until something holds.
 *
 * @returns false if it does not hold by `limitMs`
 */
export async function passUntil(holds: () => boolean, limitMs: number): Promise<boolean> {
  let steps = 0;
  for (;;) {
    // It comes once nothing is left that can run, and needs no turn of the real event loop.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    if (holds()) return true;
    const next = pop();
    if (!next || next.atMs > limitMs) {
      if (next) push(next);
      nowMs = Math.max(nowMs, Math.min(limitMs, never));
      return false;
    }
    steps = next.atMs > nowMs ? 0 : steps + 1;
    if (steps > maxStepsAtOnce) throw new Error(`time stands still at ${String(nowMs)} ms`);
    nowMs = Math.max(nowMs, next.atMs);
    next.run();
  }
}

/** Replaces time and chance in this thread, for good. */
export function install(): void {
  const clear = (timer?: Timer) => {
    if (timer) timer.isCleared = true;
  };
  const interval = (callback: (...of: unknown[]) => void, everyMs = 1, ...of: unknown[]): Timer => {
    const handle = after(never, () => undefined);
    const again = () => {
      if (handle.isCleared) return;
      callback(...of);
      after(Math.max(1, everyMs), again);
    };
    after(Math.max(1, everyMs), again);
    return handle;
  };
  Object.assign(globalThis, {
    setTimeout: (callback: (...of: unknown[]) => void, delayMs = 0, ...of: unknown[]) =>
      after(delayMs, () => callback(...of)),
    setImmediate: (callback: (...of: unknown[]) => void, ...of: unknown[]) => after(0, () => callback(...of)),
    setInterval: interval,
    clearTimeout: clear,
    clearImmediate: clear,
    clearInterval: clear,
  });
  performance.now = virtualMs;
  Date.now = virtualMs;
  Math.random = () => {
    throw new Error('a number was drawn that does not follow from the seed');
  };
  AbortSignal.timeout = (delayMs) => {
    const over = new AbortController();
    after(delayMs, () => over.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
    return over.signal;
  };
  Object.assign(timersPromises, { setTimeout: sleep });
  syncBuiltinESMExports();
}

function sleep<Value>(
  delayMs = 0,
  value?: Value,
  { signal }: { signal?: AbortSignal } = {},
): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const fail = () => {
      timer.isCleared = true;
      reject(new DOMException('The operation was aborted', 'AbortError'));
    };
    const timer = after(delayMs, () => {
      signal?.removeEventListener('abort', fail);
      resolve(value);
    });
    if (signal?.aborted) fail();
    else signal?.addEventListener('abort', fail, { once: true });
  });
}

/** A binary heap: the earliest timer is the first. */
function push(timer: Timer): void {
  let index = timers.push(timer) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (!timer.isBefore(timers[parent]!)) break;
    timers[index] = timers[parent]!;
    index = parent;
  }
  timers[index] = timer;
}

function pop(): Timer | undefined {
  for (;;) {
    const [first] = timers;
    const last = timers.pop();
    if (!first || !last) return undefined;
    if (timers.length > 0) sink(last);
    if (!first.isCleared) return first;
  }
}

function sink(timer: Timer): void {
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= timers.length) break;
    if (child + 1 < timers.length && timers[child + 1]!.isBefore(timers[child]!)) child += 1;
    if (!timers[child]!.isBefore(timer)) break;
    timers[index] = timers[child]!;
    index = child;
  }
  timers[index] = timer;
}
