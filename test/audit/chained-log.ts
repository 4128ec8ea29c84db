import { addMetadata } from '../../src/commands/handler/event-metadata.ts';
import { firstPreviousHash } from '../../src/commands/handler/hash-chain.ts';
import type { Actor, DomainEvent } from '../../src/domain/parse-event.ts';
import type { EventStore, RecordedEvent } from '../../src/ports/event-store.ts';
import type { Random } from './random.ts';

/** Appends events as the service does, chained and at exact revisions, and remembers them. */
export class ChainedLog {
  readonly #store: Pick<EventStore, 'append'>;
  readonly #random: Random;
  readonly #streams = new Map<string, { recorded: RecordedEvent[]; hash: string; time: string }>();

  constructor(store: Pick<EventStore, 'append'>, random: Random) {
    this.#store = store;
    this.#random = random;
  }

  fold<State>(
    stream: string,
    initial: State,
    evolve: (state: State, event: never, at: { revision: number; id: string; time: string; actor: Actor }) => State,
  ): State {
    return this.read(stream).reduce((state, { type, data, revision, id, metadata }) => {
      const { time, actor } = metadata as { time: string; actor: Actor };
      return evolve(state, { type, data } as never, { revision, id, time, actor });
    }, initial);
  }

  read(stream: string): RecordedEvent[] {
    return this.#streams.get(stream)?.recorded ?? [];
  }

  /** The event that queued a download. */
  queued(stream: string, token: string): RecordedEvent | undefined {
    const isOfToken = ({ data }: RecordedEvent) => (data as { token?: string }).token === token;
    return this.read(stream).find((event) => event.type === 'DownloadQueued' && isOfToken(event));
  }

  async append(
    stream: string,
    events: readonly DomainEvent[],
    {
      actor,
      now,
      causationId,
      commandId: given,
    }: { actor: Actor; now: string; causationId?: string | undefined; commandId?: string | undefined },
  ): Promise<void> {
    if (events.length === 0) return;
    const known = this.#streams.get(stream) ?? { recorded: [], hash: firstPreviousHash(stream), time: '' };
    const commandId = given ?? this.#random.uuid();
    const cause = { commandId, correlationId: `req-${commandId}`, causationId: causationId ?? commandId, actor };
    const expected = known.recorded.length === 0 ? 'no_stream' : known.recorded.length - 1;
    const time = now > known.time ? now : known.time;
    const caused = events.map((event) => ({ event, cause }));
    const chained = addMetadata(caused, { stream, expected, previousHash: known.hash, time });
    if ((await this.#store.append(stream, expected, chained.events)) !== 'stored') throw new Error('not stored');
    const recorded = chained.events.map((event, index) => {
      const revision = known.recorded.length + index;
      return { ...event, stream, revision, position: -1n, created: new Date(0) };
    });
    this.#streams.set(stream, { recorded: [...known.recorded, ...recorded], hash: chained.lastHash, time });
  }
}
