import type { EventStore, WholeLog } from '../../src/ports/event-store.ts';

/** The same log, with another way to append. */
export const appendingBy = <Store extends EventStore>(store: Store, append: EventStore['append']): Store =>
  new Proxy(store, {
    get: (target, name) => {
      const value: unknown = name === 'append' ? append : Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

/** A log that notes from where on streams are read. @param append another way to append */
export function noteReads(
  store: EventStore & WholeLog,
  append: EventStore['append'] = (...appended) => store.append(...appended),
): { store: EventStore & WholeLog; reads: (stream: string) => number[] } {
  const noted: { stream: string; fromRevision: number }[] = [];
  return {
    store: {
      append,
      read: (stream, fromRevision, ...rest) => {
        noted.push({ stream, fromRevision });
        return store.read(stream, fromRevision, ...rest);
      },
      readAll: (...asked) => store.readAll(...asked),
      headPosition: () => store.headPosition(),
      newestPosition: (...asked) => store.newestPosition(...asked),
      subscribe: (options) => store.subscribe(options),
    },
    reads: (stream) => noted.filter((each) => each.stream === stream).map(({ fromRevision }) => fromRevision),
  };
}
