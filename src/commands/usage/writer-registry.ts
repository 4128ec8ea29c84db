import { LRUCache } from 'lru-cache';
import type { UsageSnapshot } from '../../domain/usage-state.ts';
import { readOn } from './usage-cache.ts';
import type { QueuedDownload } from './usage-cache.ts';
import { EventStoreUnavailable } from '../../ports/event-store.ts';
import type { Cause } from '../event-metadata.ts';
import { UsageLane } from './account-writer.ts';
import type { LaneRequest, UsageAnswer } from './batch.ts';
import type { LaneDependencies } from './account-writer.ts';

const maxIdleBytes = 64 * 1024 * 1024;

/** The lanes of the accounts that this process serves: those at work, and the idle ones that fit into the cache. */
export class UsageLanes {
  readonly #dependencies: LaneDependencies;
  readonly #busy = new Map<string, UsageLane>();
  readonly #idle = new LRUCache<string, UsageLane>({
    maxSize: maxIdleBytes,
    sizeCalculation: ({ sizeBytes }) => sizeBytes,
  });

  constructor(dependencies: LaneDependencies) {
    this.#dependencies = dependencies;
  }

  /** @see UsageLane.ask */
  ask(accountId: string, request: LaneRequest): Promise<UsageAnswer> {
    return this.#lane(accountId).ask(request);
  }

  /**
   * Whether a download of this account is in the log although the read model has no row for it.
   *
   * @param request the read model's row that came with the miss, and the caller's budget
   * @returns undefined when the log holds no such download; `unavailable` when the log could not be asked
   */
  async findQueued(
    accountId: string,
    token: string,
    request: { cause: Cause; snapshot: UsageSnapshot; deadlineMs: number },
  ): Promise<QueuedDownload | 'unavailable' | undefined> {
    const row = request.snapshot;
    const lane = this.#lane(accountId);
    const answer = await lane.ask({ ...request, command: { kind: 'observe' } });
    if (answer.outcome !== 'accepted') return 'unavailable';
    const { known } = lane;
    if (known?.queued(token)) return known.queued(token);
    if (known?.coversAfter(row)) return undefined;
    // The lane started from a newer row than this request saw: what lies between is read for this request alone.
    try {
      return (await readOn(this.#dependencies.store, row)).queued(token);
    } catch (error) {
      if (error instanceof EventStoreUnavailable) return 'unavailable';
      throw error;
    }
  }

  #lane(accountId: string): UsageLane {
    const existing = this.#busy.get(accountId) ?? this.#idle.get(accountId);
    const lane = existing ?? new UsageLane(this.#dependencies, (idle) => this.#rest(accountId, idle));
    this.#idle.delete(accountId);
    this.#busy.set(accountId, lane);
    return lane;
  }

  #rest(accountId: string, lane: UsageLane): void {
    this.#busy.delete(accountId);
    this.#idle.set(accountId, lane);
  }
}
