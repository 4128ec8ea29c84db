import type { EventStore } from '../../ports/event-store.ts';

/** Dependencies of a command that reads the log, decides and appends. */
export interface CommandDependencies {
  store: EventStore;
  /** Business time, UTC ISO-8601. */
  now: () => string;
  newUuid: () => string;
}
