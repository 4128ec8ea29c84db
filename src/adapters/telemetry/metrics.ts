import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import type { Logger } from 'pino';

export interface Scrape {
  contentType: string;
  text: string;
}

/** A gauge that is asked for when somebody looks. */
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

interface Collector {
  name: string;
  collect: () => Promise<void>;
}

const defaultTimeLimitMs = 1_000;

/**
 * What a process tells Prometheus of itself. Counters are counted as things happen; gauges that need a question to an engine
 * are asked for at each scrape, side by side and within a time limit: one without an answer is left out, and counted.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #collectors: Collector[] = [];
  readonly #observers = new Map<unknown, unknown>();
  readonly #failures: Counter;
  readonly #logger: Logger;
  readonly #timeLimitMs: number;
  #scraping: Promise<Scrape> | undefined;

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

  /** Processor time, memory, event loop and garbage collection, from now on. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  /** What `create` makes, made once: the roles of one process count together. */
  observer<Observer>(create: (registers: Registry[]) => Observer): Observer {
    if (!this.#observers.has(create)) this.#observers.set(create, create([this.registry]));
    return this.#observers.get(create) as Observer;
  }

  /**
   * @param group names what is asked for together
   * @param read gives the samples of now; what it leaves out is left out of the scrape
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
        // A gauge without labels would start again from 0, which would be a statement.
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
    this.#collectors.push({ name: group, collect: this.#once(group, read, show) });
  }

  /** The text of now; whoever asks meanwhile gets the same. */
  scrape(): Promise<Scrape> {
    this.#scraping ??= this.#scrape().finally(() => (this.#scraping = undefined));
    return this.#scraping;
  }

  async #scrape(): Promise<Scrape> {
    await Promise.all(this.#collectors.map(({ collect }) => collect()));
    return { contentType: this.registry.contentType, text: await this.registry.metrics() };
  }

  /** A question that is still open at the next scrape is not asked a second time. */
  #once<Value>(group: string, read: () => Promise<Value[]> | Value[], show: (values: readonly Value[]) => void) {
    let asking: Promise<Value[]> | undefined;
    return async (): Promise<void> => {
      let timer: NodeJS.Timeout | undefined;
      try {
        if (asking) throw new Error('it is still being asked for since an earlier scrape');
        const late = new Promise<never>((_resolve, reject) => {
          timer = setTimeout(() => reject(new Error('it was not answered in time')), this.#timeLimitMs);
        });
        asking = Promise.resolve(read()).finally(() => (asking = undefined));
        asking.catch(() => undefined);
        show(await Promise.race([asking, late]));
      } catch (error) {
        show([]);
        this.#failures.inc({ group });
        this.#logger.debug({ err: error, group }, 'a group of metrics is left out of a scrape');
      } finally {
        clearTimeout(timer);
      }
    };
  }
}
