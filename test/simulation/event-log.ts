import type { PreparedAppend } from '../../src/adapters/event-store/append.ts';
import type { RecordedEvent } from '../../src/ports/event-store.ts';

export interface StoredEvent extends RecordedEvent {
  /** From then on readers get it: a cluster shows an event once most of its nodes have it. */
  shownAtMs: number;
}

/**
 * The server's side of the event log: streams in memory, with the answers of an EventStoreDB to appends at an exact revision.
 * What gets lost or late between a process and this is the business of `event-log-client.ts`.
 */
export class EventLog {
  /** Of all streams, in the order of their positions. */
  readonly events: StoredEvent[] = [];
  /** Nobody reaches it until then. */
  awayUntilMs = 0;
  /** When appends to a stream arrive again, by its name. */
  readonly heldUntilMs = new Map<string, number>();
  /** Readers get an event at exactly the time that it names. */
  readonly shownWithinMs = 0;
  readonly #streams = new Map<string, StoredEvent[]>();
  #waiting: (() => void)[] = [];
  readonly #onStored: (events: readonly StoredEvent[]) => void;

  /** @param onStored told of each append, at once */
  constructor(onStored: (events: readonly StoredEvent[]) => void = () => undefined) {
    this.#onStored = onStored;
  }

  /**
   * Below the current revision, the ids from the expected revision on decide: all the same is an append that is sent again.
   *
   * @param hiddenMs for so long no reader gets the events
   * @returns the events as they are stored, or `conflict`
   */
  append({ stream, expected, events }: PreparedAppend, hiddenMs = 0): readonly StoredEvent[] | 'conflict' {
    const stored = this.#streams.get(stream) ?? [];
    const first = expected === 'no_stream' ? 0 : Number(expected) + 1;
    if (first > stored.length) return 'conflict';
    if (first < stored.length) {
      const there = stored.slice(first, first + events.length);
      const isSame = there.length === events.length && there.every(({ id }, index) => id === events[index]?.id);
      return isSame ? there : 'conflict';
    }
    const shownAtMs = Math.max(performance.now() + hiddenMs, this.events.at(-1)?.shownAtMs ?? 0);
    const added = events.map(({ id, type, data, metadata }, index): StoredEvent => ({
      stream,
      revision: first + index,
      id,
      type,
      data: frozen(data),
      metadata: frozen(JSON.parse(new TextDecoder().decode(metadata as Uint8Array))),
      position: BigInt(this.events.length + index + 1),
      created: new Date(0),
      shownAtMs,
    }));
    this.#streams.set(stream, [...stored, ...added]);
    this.events.push(...added);
    this.#onStored(added);
    const tellAll = () => {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const tell of waiting) tell();
    };
    if (shownAtMs > performance.now()) setTimeout(tellAll, shownAtMs - performance.now());
    else tellAll();
    return added;
  }

  streamsWith(prefix: string): string[] {
    return [...this.#streams.keys()].filter((stream) => stream.startsWith(prefix));
  }

  /** What a reader gets of a stream. */
  read(stream: string): readonly StoredEvent[] {
    return shown(this.#streams.get(stream) ?? []);
  }

  /** What a reader gets of the whole log. */
  readAll(): readonly StoredEvent[] {
    return shown(this.events);
  }

  /** Resolves when there is more to read. */
  nextAppend(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}

function shown(events: readonly StoredEvent[]): readonly StoredEvent[] {
  const now = performance.now();
  const last = events.at(-1);
  return last === undefined || last.shownAtMs <= now ? events : events.filter(({ shownAtMs }) => shownAtMs <= now);
}

/** Processes share what they read, so nobody may change it. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
