import type { Pool } from 'pg';
import type { Background } from '../async/background.ts';
import type { EventStore } from '../ports/event-store.ts';
import { type InRound, type LoopDependencies, startLoop } from './repeat.ts';

/** A list in Postgres of what waits to be done. Its entries are only hints: the log decides what is still to be done. */
interface WaitingList<Entry extends object> {
  /** Name of the part of the service that works through it. */
  part: string;
  /** The entries that have waited longest. @param look except: ids to leave out for now */
  read: (look: { except: readonly string[]; limit: number }) => Promise<Entry[]>;
  idOf: (entry: Entry) => string;
  /** May be repeated, also by two at once. */
  work: (entry: Entry) => Promise<void>;
  /** The action that fails, as `ServicePart.failed` takes it. */
  what: string;
}

export interface ListDependencies extends LoopDependencies {
  store: EventStore;
  pool: Pool;
  /** Pause before an entry that still waits is looked at again. Default: 1 min. */
  setAsideMs?: number | undefined;
}

const defaultEveryMs = 2_000;
const defaultSetAsideMs = 60_000;
const maxEntries = 500;

/** Works through such a list again and again. An entry that fails, or stays in the list, does not keep the others waiting. */
export function workThroughList<Entry extends object>(
  list: WaitingList<Entry>,
  dependencies: ListDependencies,
): Background {
  /** Entries that are left alone until then, in milliseconds of `performance.now()`. */
  const setAside = new Map<string, number>();
  const round = async (
    { store, part, setAsideMs = defaultSetAsideMs }: InRound<ListDependencies>,
    stopping: AbortSignal,
  ): Promise<void> => {
    for (const [id, untilMs] of setAside) if (performance.now() >= untilMs) setAside.delete(id);
    const entries = await list.read({ except: [...setAside.keys()], limit: maxEntries });
    // With the log away each would wait for it in turn.
    if (entries.length > 0) await store.headPosition();
    for (const entry of entries) {
      if (stopping.aborted) return;
      await list.work(entry).catch((error: unknown) => {
        part.failed(list.what, error, entry);
      });
      // Also one that is done: it may leave the list later.
      setAside.set(list.idOf(entry), performance.now() + setAsideMs);
    }
  };
  return startLoop(list.part, dependencies, round, defaultEveryMs);
}
