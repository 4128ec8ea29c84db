import type { Logger } from 'pino';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { withDeadline } from '../../async/deadline.ts';

/** A gauge that is read at each scrape. */
interface GaugeDefinition {
  help: string;
  /** Name of its one label, if it has one. */
  label?: string;
}

export interface Sample<Name extends string> {
  name: Name;
  /** Value of the gauge's label, from a closed set. */
  of?: string;
  value: number;
}

const defaultTimeLimitMs = 1_000;

/**
 * The metrics of a process, for Prometheus. Counters are counted as things happen. Gauges that need a query to a server are read
 * at each scrape, side by side and within a time limit; a group that fails is left out, and counted.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #collectors: (() => Promise<void>)[] = [];
  readonly #observers = new Map<unknown, unknown>();
  readonly #failures: Counter;
  readonly #logger: Logger;
  readonly #timeLimitMs: number;
  #scraping: ReturnType<Metrics['scrape']> | undefined;

  constructor({ logger, timeLimitMs = defaultTimeLimitMs }: { logger: Logger; timeLimitMs?: number }) {
    this.#logger = logger;
    this.#timeLimitMs = timeLimitMs;
    this.#failures = new Counter({
      name: 'reeltally_scrape_failures_total',
      help: 'Scrapes that left out a group of gauges because it had no answer in time',
      labelNames: ['group'],
      registers: [this.registry],
    });
  }

  /** Collects processor time, memory, event loop and garbage collection from now on. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  /** A counter of what somebody else counts. */
  watchCount(name: string, help: string, read: () => number): void {
    const counter: Counter = new Counter({
      name,
      help,
      registers: [this.registry],
      collect: () => {
        counter.reset();
        counter.inc(read());
      },
    });
  }

  /** Calls `create` once for each name, so that the roles of one process count together. */
  observer<Observer>(create: (registers: Registry[]) => Observer): Observer {
    if (!this.#observers.has(create)) this.#observers.set(create, create([this.registry]));
    return this.#observers.get(create) as Observer;
  }

  /**
   * @param group names the gauges that are read together
   * @param read gives the current samples; samples that it omits are left out of the scrape
   */
  collect<Name extends string>(
    group: string,
    definitions: Readonly<Record<Name, GaugeDefinition>>,
    read: () => Promise<Sample<Name>[]> | Sample<Name>[],
  ): void {
    const gauges = new Map(
      Object.entries<GaugeDefinition>(definitions).map(([name, { help, label }]) => {
        const labelNames = label === undefined ? [] : [label];
        return [name, { label, gauge: new Gauge({ name, help, labelNames, registers: [this.registry] }) }];
      }),
    );
    const show = (samples: readonly Sample<Name>[]) => {
      for (const { gauge, label } of gauges.values()) {
        // A reset would set a gauge without labels to 0, which would be a false value.
        if (label === undefined) gauge.remove();
        else gauge.reset();
      }
      for (const { name, of, value } of samples) {
        const { gauge, label } = gauges.get(name) ?? {};
        if (label !== undefined && of !== undefined) gauge?.set({ [label]: of }, value);
        else gauge?.set(value);
      }
    };
    show([]);
    this.#failures.inc({ group }, 0);
    this.#collectors.push(this.#once(group, read, show));
  }

  /** Gives the current metrics as text; concurrent scrapes share one result. */
  scrape(): Promise<{ contentType: string; text: string }> {
    this.#scraping ??= this.#scrape().finally(() => (this.#scraping = undefined));
    return this.#scraping;
  }

  async #scrape() {
    await Promise.all(this.#collectors.map((collect) => collect()));
    return { contentType: this.registry.contentType, text: await this.registry.metrics() };
  }

  /** A query that is still running at the next scrape is not sent a second time. */
  #once<Value>(group: string, read: () => Promise<Value[]> | Value[], show: (values: readonly Value[]) => void) {
    let asking: Promise<Value[]> | undefined;
    return async (): Promise<void> => {
      try {
        if (asking) throw new Error('it is still being asked for since an earlier scrape');
        asking = Promise.resolve(read()).finally(() => (asking = undefined));
        show(await withDeadline(asking, this.#timeLimitMs, notInTime));
      } catch (error) {
        show([]);
        this.#failures.inc({ group });
        this.#logger.debug({ err: error, group }, 'a group of metrics is left out of a scrape');
      }
    };
  }
}

function notInTime(): never {
  throw new Error('it was not answered in time');
}
