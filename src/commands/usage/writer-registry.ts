import { LRUCache } from 'lru-cache';
import type { UsageSnapshot } from '../../domain/usage-state.ts';
import { couldNotBeRead } from '../../ports/event-store.ts';
import type { Cause } from '../handler/event-metadata.ts';
import { AccountWriter, type WriterDependencies } from './account-writer.ts';
import type { UsageAnswer, WriterRequest } from './decide-batch.ts';
import { LogTail } from './log-tail.ts';
import { NewestUsage } from './newest-usage.ts';
import { type QueuedDownload, readOn } from './usage-cache.ts';

const maxIdleBytes = 64 * 1024 * 1024;

/** The account writers of this process: all that are serving, and as many idle ones as fit into the limit. */
export class WriterRegistry {
  readonly #dependencies: WriterDependencies;
  /** The newest usage that this process has answered from. */
  readonly newest = new NewestUsage();
  readonly #serving = new Map<string, AccountWriter>();
  readonly #idle = new LRUCache<string, AccountWriter>({
    maxSize: maxIdleBytes,
    sizeCalculation: ({ sizeBytes }) => sizeBytes,
  });

  constructor(dependencies: Omit<WriterDependencies, 'logTail' | 'newest'>) {
    this.#dependencies = { ...dependencies, logTail: new LogTail(dependencies.store), newest: this.newest };
  }

  /** @see AccountWriter.ask */
  ask(accountId: string, request: WriterRequest): Promise<UsageAnswer> {
    return this.#writerOf(accountId).ask(request);
  }

  /**
   * Looks in the log for a download of this account that the read model has no row for.
   *
   * @param request the read model's row that came with the miss, and the caller's budget
   * @returns undefined when the log holds no such download; `unavailable` when the log could not be read in time
   */
  async findQueued(
    accountId: string,
    token: string,
    request: { cause: Cause; snapshot: UsageSnapshot; deadlineMs: number },
  ): Promise<QueuedDownload | 'unavailable' | undefined> {
    const row = request.snapshot;
    const writer = this.#writerOf(accountId);
    const answer = await writer.ask({ ...request, command: { kind: 'query' } });
    if (answer.outcome !== 'accepted') return 'unavailable';
    const { cache } = writer;
    if (cache?.queued(token)) return cache.queued(token);
    if (cache?.coversAfter(row)) return undefined;
    // The cache began after the row of this request: the events between the two are read for this request alone.
    try {
      return (await readOn(this.#dependencies.store, row)).queued(token);
    } catch (error) {
      if (couldNotBeRead(error)) return 'unavailable';
      throw error;
    }
  }

  #writerOf(accountId: string): AccountWriter {
    const existing = this.#serving.get(accountId) ?? this.#idle.get(accountId);
    const writer = existing ?? new AccountWriter(this.#dependencies, (idle) => this.#setIdle(accountId, idle));
    this.#idle.delete(accountId);
    this.#serving.set(accountId, writer);
    return writer;
  }

  #setIdle(accountId: string, writer: AccountWriter): void {
    this.#serving.delete(accountId);
    this.#idle.set(accountId, writer);
  }
}
