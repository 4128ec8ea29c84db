import { after, runAs, type TimerOwner, virtualMs } from './clock.ts';

/**
 * One of several processes in this one. Everything that it waits for comes through `receive` or is a timer of its own, so it can
 * be ended or held at each of its awaits.
 *
 *     running ◀──resume── paused ◀──pause── running ──kill──▶ killed
 *
 * A paused process is a zombie: time goes on, its leases and deadlines pass, and then it continues where it was.
 */
export class SimulatedProcess implements TimerOwner {
  readonly name: string;
  state: 'running' | 'paused' | 'killed' = 'running';
  /** Resolves when the process is killed: its connections break. */
  readonly ended = Promise.withResolvers<undefined>();
  /** It was killed, or stood still. */
  wasDisturbed = false;
  #held: (() => void)[] = [];
  #stoodMs = 0;
  #pausedAtMs = 0;

  constructor(name: string) {
    this.name = name;
  }

  run<Result>(work: () => Result): Result {
    return runAs(this, work);
  }

  deliver = (run: () => void): void => {
    if (this.state === 'running') run();
    else if (this.state === 'paused') this.#held.push(run);
  };

  /** The result of something outside. It never comes if the process has ended by then. */
  receive<Value>(work: Promise<Value>, onArrival: () => void = () => undefined): Promise<Value> {
    return new Promise((resolve, reject) => {
      const arrive = (settle: () => void) => {
        onArrival();
        this.deliver(settle);
      };
      work.then(
        (value) => arrive(() => resolve(value)),
        (error: unknown) => arrive(() => reject(error instanceof Error ? error : new Error(String(error)))),
      );
    });
  }

  workedMs = (): number | undefined => {
    if (this.state === 'killed') return undefined;
    return (this.state === 'paused' ? this.#pausedAtMs : virtualMs()) - this.#stoodMs;
  };

  kill(): void {
    this.wasDisturbed = true;
    this.state = 'killed';
    this.#held = [];
    this.ended.resolve(undefined);
  }

  /** Stands still for a time, or until `resume`. */
  pause(forMs: number): void {
    if (this.state !== 'running') return;
    this.wasDisturbed = true;
    this.state = 'paused';
    this.#pausedAtMs = virtualMs();
    runAs(undefined, () => after(forMs, () => this.resume()));
  }

  resume(): void {
    if (this.state !== 'paused') return;
    this.state = 'running';
    this.#stoodMs += virtualMs() - this.#pausedAtMs;
    const held = this.#held;
    this.#held = [];
    for (const run of held) runAs(undefined, () => after(0, () => this.deliver(run)));
  }
}

/** Called at both ends of each call of a port: a process may end or be held there. */
export type AtCall = (process: SimulatedProcess, at: 'call' | 'reply', name: string) => void;

/**
 * A port as a process sees it: what is called works outside of the process, and goes on when the process has ended.
 *
 * @param port its functions may be methods
 */
export function portOf<Port extends object>(process: SimulatedProcess, port: Port, atCall: AtCall): Port {
  return new Proxy(port, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...of: unknown[]): unknown => {
        atCall(process, 'call', String(name));
        if (process.state === 'killed') return new Promise(() => undefined);
        const result = runAs(undefined, (): unknown => Reflect.apply(member, target, of));
        return result instanceof Promise
          ? process.receive(result, () => atCall(process, 'reply', String(name)))
          : result;
      };
    },
  });
}
