import type { EventStore } from '../../ports/event-store.ts';

/** What a command needs to read the log, decide, and append. */
export interface CommandDependencies {
  store: EventStore;
  /** Business time, UTC ISO-8601. */
  now: () => string;
  newUuid: () => string;
}
