import type { EventStore } from '../../src/ports/event-store.ts';

/** The same log, with other ways to do some things. */
export const changedLog = <Store extends EventStore>(store: Store, others: Partial<EventStore>): Store =>
  new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name in others ? others : target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

/** The same log, with another way to append. */
export const appendingBy = <Store extends EventStore>(store: Store, append: EventStore['append']): Store =>
  changedLog(store, { append });

/** A log that notes from where on streams are read. */
export function noteReads<Store extends EventStore>(
  store: Store,
): { store: Store; reads: (stream: string) => number[] } {
  const noted: { stream: string; fromRevision: number }[] = [];
  const read: EventStore['read'] = (stream, fromRevision, ...rest) => {
    noted.push({ stream, fromRevision });
    return store.read(stream, fromRevision, ...rest);
  };
  return {
    store: changedLog(store, { read }),
    reads: (stream) => noted.filter((each) => each.stream === stream).map(({ fromRevision }) => fromRevision),
  };
}
