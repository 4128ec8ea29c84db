import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { runInBackground } from '../../src/async/background.ts';
import { sleep } from '../../src/async/sleep.ts';
import {
  type EventStore,
  type LogBatch,
  type LogPosition,
  ReaderRefused,
  type Subscription,
} from '../../src/ports/event-store.ts';
import { isAfter } from '../../src/ports/log-position.ts';
import type { ProjectionObserver } from '../../src/ports/observers.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import { applyBatch, type RunningProjection } from './apply-batch.ts';
import type { Projection } from './projection.ts';
import { resume } from './resume.ts';

export interface RunnerDependencies {
  store: EventStore;
  pool: Pool;
  macs: RowMacs;
  logger: Logger;
  observer?: ProjectionObserver;
}

/**
 * The least time between two small batches. A batch costs about the same whatever its size: under load this halves the cost of
 * the read models, and a row is late by no more than this time.
 */
const paceMs = 20;
/**
 * How long the first batch after a quiet time waits. Whoever appended gets the answer, and a worker the download, before the read
 * models take up the processor and the disk.
 */
const gatherMs = 10;
const fullBatchEvents = 100;

/** How often read models that read the log by themselves are asked if they have caught up. */
const returnMs = 1_000;

/**
 * Keeps read models up to date through one reader of the log, so that each event is fetched and parsed once. A read model that
 * fails, is held by its rebuild or begins behind the others leaves them, and reads the log by itself until it has caught up.
 */
export function runProjections(
  projections: readonly Projection[],
  dependencies: RunnerDependencies,
): Pick<Subscription, 'close'> {
  const apart = new Map<Projection, Subscription>();
  const leave = (projection: Projection) => void apart.set(projection, runProjection(projection, dependencies));
  const startCommon = ({ isFirst }: { isFirst: boolean }) => {
    const together = projections.filter((projection) => !apart.has(projection));
    return new ProjectionRunner(together, dependencies, { leave, laggardsLeave: isFirst }).subscribe();
  };
  let common = startCommon({ isFirst: true });
  const returning = runInBackground(async (stopping) => {
    while (!stopping.aborted) {
      await sleep(returnMs, stopping);
      const caughtUp = [...apart].filter(([, subscription]) => subscription.caughtUp);
      if (caughtUp.length === 0) continue;
      // First: the others go on while one of them ends its last batch.
      await Promise.all(caughtUp.map(([, subscription]) => subscription.close()));
      await common.close();
      for (const [projection] of caughtUp) apart.delete(projection);
      common = startCommon({ isFirst: false });
    }
  });
  return {
    close: async () => {
      await returning.stop();
      await common.close();
      await Promise.all([...apart.values()].map((subscription) => subscription.close()));
    },
  };
}

/**
 * Keeps one read model up to date: applies batches in order, each in one transaction with its checkpoint. The checkpoint is
 * compared and set, so two runners may overlap and every event is still applied exactly once.
 */
export const runProjection = (projection: Projection, dependencies: RunnerDependencies): Subscription =>
  new ProjectionRunner([projection], dependencies).subscribe();

interface Leaving {
  /** Takes over a read model that cannot go on with the others. The last one stays. */
  leave: (projection: Projection) => void;
  /** Whether those that begin behind the furthest leave; those that have just caught up are behind by a moment. */
  laggardsLeave: boolean;
}

/** Read models that follow the log together. */
class ProjectionRunner {
  readonly #dependencies: RunnerDependencies;
  readonly #leaving: Leaving;
  #projections: readonly RunningProjection[];
  #isFirst = true;

  constructor(
    projections: readonly Projection[],
    dependencies: RunnerDependencies,
    leaving: Leaving = { leave: () => undefined, laggardsLeave: false },
  ) {
    this.#dependencies = dependencies;
    this.#leaving = leaving;
    this.#projections = projections.map((projection) => ({
      projection,
      apply: projection.start(dependencies),
      checkpoint: undefined,
      position: undefined,
    }));
  }

  subscribe(): Subscription {
    const [one, ...others] = this.#projections.map(({ projection }) => projection);
    return this.#dependencies.store.subscribe({
      name: one && others.length === 0 ? one.name : 'read models',
      streamPrefixes: [...new Set(this.#projections.flatMap(({ projection }) => projection.streamPrefixes))],
      from: () => this.#open(),
      apply: (batch) => this.#apply(batch),
      gatherMs,
    });
  }

  /** @returns the position of the read model that is furthest behind */
  async #open(): Promise<LogPosition | undefined> {
    for (const running of this.#projections) {
      try {
        await this.#openOne(running);
      } catch (error) {
        if (!(error instanceof ReaderRefused) || this.#projections.length === 1) throw error;
        this.#setApart([running]);
      }
    }
    if (this.#isFirst && this.#leaving.laggardsLeave) {
      const isLaggard = (one: RunningProjection) => this.#projections.some((other) => isBehind(one, other));
      this.#setApart(this.#projections.filter(isLaggard));
    }
    this.#isFirst = false;
    return this.#projections.reduce((one, other) => (isBehind(one, other) ? one : other)).position;
  }

  async #openOne(running: RunningProjection): Promise<void> {
    const { logger } = this.#dependencies;
    const { name } = running.projection;
    // Creates the row before the first batch, so a batch only compares and sets it.
    Object.assign(running, await resume(this.#dependencies, name));
    const position = running.position?.commit.toString();
    logger[this.#isFirst ? 'info' : 'debug']({ projection: name, position }, 'projection starts');
  }

  async #apply(batch: LogBatch): Promise<void> {
    const startedMs = performance.now();
    const due = this.#projections.filter(({ position }) => isAfter(batch.position, position));
    // The one that was furthest behind may have left.
    if (due.length === 0) return;
    try {
      const taken = await this.#applyTo(due, batch);
      this.#setApart(due.filter((running) => !taken.has(running)));
    } catch (error) {
      if (this.#projections.length === 1) throw error;
      await this.#applyToEach(due, batch);
    }
    // The next one collects what follows.
    if (batch.events.length < fullBatchEvents) await sleep(Math.max(0, paceMs - (performance.now() - startedMs)));
  }

  async #applyTo(due: readonly RunningProjection[], batch: LogBatch): Promise<ReadonlyMap<RunningProjection, number>> {
    const { pool, observer } = this.#dependencies;
    const taken = await applyBatch(pool, due, batch);
    for (const [{ projection }, events] of taken) observer?.batchApplied(projection.name, events);
    return taken;
  }

  /** Finds out whose failure it was. @throws if all of them fail: then it is none of theirs */
  async #applyToEach(due: readonly RunningProjection[], batch: LogBatch): Promise<void> {
    const failed: RunningProjection[] = [];
    let failure: unknown;
    for (const running of due) {
      try {
        await this.#applyTo([running], batch);
      } catch (error) {
        failed.push(running);
        failure = error;
      }
    }
    if (failed.length === this.#projections.length) throw failure;
    this.#setApart(failed);
  }

  #setApart(left: readonly RunningProjection[]): void {
    this.#projections = this.#projections.filter((running) => !left.includes(running));
    for (const { projection } of left) this.#leaving.leave(projection);
  }
}

const isBehind = (one: RunningProjection, other: RunningProjection): boolean =>
  other.position !== undefined && isAfter(other.position, one.position);
